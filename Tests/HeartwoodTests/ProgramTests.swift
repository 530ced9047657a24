import Foundation
import HeartwoodTestSupport
import Testing

/// Compiles the programs in `Programs`, which use the Heartwood module, and checks the diagnostics.
///
/// A program that begins with `// error: ` must not compile, and every error message must contain
/// the text after this prefix. The programs are compiled completely, because the compiler checks
/// isolation only after type checking.
@Suite(
  "Program checks", .enabled(if: BuiltModules.directory != nil, "no built modules beside the tests")
)
struct ProgramTests {
  @Test(
    .evidence("T-01"), .evidence("T-06"),
    arguments: TestScale.some([
      "AttributeOfStruct", "CapturedObject", "ReturnedObject", "SentContext", "UnknownAttribute",
      "ViewContextElsewhere",
    ]))
  func `an incorrect program fails to compile with the documented error`(name: String) throws {
    let compilation = try Compilation(of: name)
    let mistake = try #require(compilation.mistake)
    #expect(compilation.exitCode != 0)
    #expect(!compilation.errors.isEmpty, "\(compilation.output)")
    for error in compilation.errors { #expect(error.contains(mistake)) }
  }

  @Test(
    .evidence("T-06"), .evidence("T-07"),
    arguments: ["Notes"], [[], ["-default-isolation", "MainActor"]])
  func `a correct program compiles under either default isolation`(
    name: String, options: [String]
  ) throws {
    let compilation = try Compilation(of: name, options)
    #expect(compilation.mistake == nil)
    #expect(compilation.output == "")
    #expect(compilation.exitCode == 0)
  }
}

/// The result of compiling one program.
private struct Compilation {
  /// The expected error message, or `nil` for a correct program.
  let mistake: String?
  let output: String
  let exitCode: Int32

  init(of name: String, _ options: [String] = []) throws {
    let source = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Programs/\(name).swift")
    let first = try String(contentsOf: source, encoding: .utf8).split(separator: "\n").first ?? ""
    let mark = "// error: "
    mistake = first.hasPrefix(mark) ? String(first.dropFirst(mark.count)) : nil
    let scratch = try ScratchDirectory()
    let arguments = [
      "-c", source.path, "-o", scratch.path(of: "program.o"), "-swift-version", "6",
      "-parse-as-library", "-diagnostic-style", "llvm", "-I", try #require(BuiltModules.directory),
    ]
    (output, exitCode) = try BuiltModules.run("swiftc", arguments + options)
  }

  var errors: [Substring] { output.split(separator: "\n").filter { $0.contains(": error: ") } }
}
