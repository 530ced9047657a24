import Foundation
import HeartwoodTestSupport
import Testing

/// A program whose parts a document shows: in `Programs`, named as the document, and `+` and
/// something more if that shows several.
struct DocumentProgram: CustomTestStringConvertible, Sendable {
  /// Without the ending.
  let name: String
  let text: String

  static let package = URL(filePath: #filePath).appending(path: "../../..").standardized
  private static let folder = package.appending(path: "Tests/DocumentTests/Programs")

  /// All of them, by name.
  static func all() throws -> [DocumentProgram] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".swift") }.sorted()
      .map { file in
        DocumentProgram(
          name: String(file.dropLast(6)),
          text: try String(contentsOf: folder.appending(path: file), encoding: .utf8))
      }
  }

  /// That of a name.
  static func named(_ name: String) throws -> DocumentProgram {
    try #require(try all().first { $0.name == name })
  }

  /// The document it belongs to, by its name without the ending.
  var document: Substring { name.prefix { $0 != "+" } }
  var path: String { Self.folder.appending(path: "\(name).swift").path }
  var testDescription: String { name }

  /// Whether some lines stand in it, further in if need be.
  func contains(_ lines: [Substring]) -> Bool {
    let ownText = "\n" + text
    return stride(from: 0, through: 8, by: 2).contains { indent in
      let margin = String(repeating: " ", count: indent)
      let moved = lines.map { $0.isEmpty ? "" : margin + $0 }.joined(separator: "\n")
      return ownText.contains("\n" + moved + "\n")
    }
  }

  /// What the compiler needs to know beyond the file.
  ///
  /// - Parameter folder: The folder with the modules of the package.
  func options(_ folder: String) throws -> [String] {
    guard text.hasPrefix("// swift-tools-version: ") else {
      return ["-swift-version", "6", "-parse-as-library", "-I", folder]
    }
    // The manifest of a package has a module of its own, which is with the compiler.
    let (path, _) = try BuiltModules.run("which", ["swiftc"])
    let compiler = URL(filePath: path.trimmingCharacters(in: .newlines)).resolvingSymlinksInPath()
    let interface = compiler.appending(path: "../../lib/swift/pm/ManifestAPI").standardized.path
    return ["-I", interface, "-package-description-version", "6.2"]
  }

  /// Builds it, and says where the program is.
  func build(in scratch: ScratchDirectory) throws -> String {
    let folder = try #require(BuiltModules.folder)
    let program = scratch.path(of: "program")
    let (output, exitCode) = try BuiltModules.run(
      "swiftc",
      ["-o", program, path] + options(folder) + BuiltModules.objects(in: folder))
    try #require(exitCode == 0, "\(output)")
    return program
  }
}
