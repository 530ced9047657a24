import Foundation
import HeartwoodTestSupport
import Testing

/// What the compiler says to programs that use the module: those in `Programs`.
///
/// One that begins with `// error: ` is wrong, and each error it gets has to hold what follows
/// there. They are compiled to the end: whether a value may go to another thread is found out
/// behind the type checker.
@Suite("A program", .enabled(if: BuiltModules.folder != nil, "no built modules beside the tests"))
struct ProgramTests {
  @Test(
    .evidence("T-01"), .evidence("T-06"),
    arguments: [
      "AttributeOfStruct", "CapturedObject", "ReturnedObject", "SentContext", "UnknownAttribute",
      "ViewContextElsewhere",
    ])
  func `that is wrong is told why`(name: String) throws {
    let compilation = try Compilation(of: name)
    let mistake = try #require(compilation.mistake)
    #expect(compilation.exitCode != 0)
    #expect(!compilation.errors.isEmpty, "\(compilation.output)")
    for error in compilation.errors { #expect(error.contains(mistake)) }
  }

  @Test(
    .evidence("T-06"), .evidence("T-07"),
    arguments: ["Notes"], [[], ["-default-isolation", "MainActor"]])
  func `that is right compiles, whatever the isolation of its classes`(
    name: String, options: [String]
  ) throws {
    let compilation = try Compilation(of: name, options)
    #expect(compilation.mistake == nil)
    #expect(compilation.output == "")
    #expect(compilation.exitCode == 0)
  }
}

/// A run of the compiler on one program.
private struct Compilation {
  /// What the program says is wrong with it.
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
      "-parse-as-library", "-diagnostic-style", "llvm", "-I", try #require(BuiltModules.folder),
    ]
    (output, exitCode) = try BuiltModules.run("swiftc", arguments + options)
  }

  var errors: [Substring] { output.split(separator: "\n").filter { $0.contains(": error: ") } }
}
