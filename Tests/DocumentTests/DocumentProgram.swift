import Foundation
import HeartwoodTestSupport
import Testing

/// A program in `Programs` that a document shows completely or in part.
///
/// The program is named after the document, with `+` and a suffix if the document shows several
/// programs.
struct DocumentProgram: CustomTestStringConvertible, Sendable {
  /// The file name without the extension.
  let name: String
  let text: String

  static let package = URL(filePath: #filePath).appending(path: "../../..").standardized
  private static let directory = package.appending(path: "Tests/DocumentTests/Programs")

  /// Returns all programs, sorted by name.
  static func all() throws -> [DocumentProgram] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path)
      .filter { $0.hasSuffix(".swift") }.sorted()
      .map { file in
        DocumentProgram(
          name: String(file.dropLast(6)),
          text: try String(contentsOf: directory.appending(path: file), encoding: .utf8))
      }
  }

  static func named(_ name: String) throws -> DocumentProgram {
    try #require(try all().first { $0.name == name })
  }

  /// The name of the document that shows the program, without the extension.
  var document: Substring { name.prefix { $0 != "+" } }
  var path: String { Self.directory.appending(path: "\(name).swift").path }
  var testDescription: String { name }

  /// Returns whether the program contains the given lines, possibly with more indentation.
  func contains(_ lines: [Substring]) -> Bool {
    let ownText = "\n" + text
    return stride(from: 0, through: 8, by: 2).contains { indent in
      let margin = String(repeating: " ", count: indent)
      let moved = lines.map { $0.isEmpty ? "" : margin + $0 }.joined(separator: "\n")
      return ownText.contains("\n" + moved + "\n")
    }
  }

  /// Returns the compiler options for the program, except its path.
  ///
  /// - Parameter modules: The directory that contains the modules of the package.
  func options(_ modules: String) throws -> [String] {
    guard text.hasPrefix("// swift-tools-version: ") else {
      var options = ["-swift-version", "6", "-parse-as-library"]
      #if !canImport(SwiftUI)
        if text.contains("import SwiftUI\n") {
          options += ["-I", try StandInModules.compiled.get().scratch.path]
        }
      #endif
      return options + ["-I", modules]
    }
    // A package manifest imports `PackageDescription`, which is installed with the compiler.
    let (path, _) = try BuiltModules.run("which", ["swiftc"])
    let compiler = URL(filePath: path.trimmingCharacters(in: .newlines)).resolvingSymlinksInPath()
    let interface = compiler.appending(path: "../../lib/swift/pm/ManifestAPI").standardized.path
    return ["-I", interface, "-package-description-version", "6.2"]
  }

  /// Builds the program, and returns the path of the executable.
  func build(in scratch: ScratchDirectory) throws -> String {
    let directory = try #require(BuiltModules.directory)
    let program = scratch.path(of: "program")
    let (output, exitCode) = try BuiltModules.run(
      "swiftc",
      ["-o", program, path] + options(directory) + BuiltModules.objects(in: directory))
    try #require(exitCode == 0, "\(output)")
    return program
  }
}
