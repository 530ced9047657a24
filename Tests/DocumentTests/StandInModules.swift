import Foundation
import HeartwoodTestSupport
import Testing

/// `HeartwoodUI`, compiled against a stand-in for SwiftUI.
///
/// With the stand-in, the module and its guide can be checked on systems without SwiftUI.
struct StandInModules: Sendable {
  let scratch: ScratchDirectory

  /// The modules, which are compiled on first use.
  static let compiled = Result { try StandInModules() }

  private init() throws {
    scratch = try ScratchDirectory()
    let package = DocumentProgram.package
    try compile("SwiftUI", [package.appending(path: "Tests/DocumentTests/StandIns/SwiftUI.swift")])
    let directory = package.appending(path: "Sources/HeartwoodUI")
    let sources = try FileManager.default.contentsOfDirectory(
      at: directory, includingPropertiesForKeys: nil
    ).filter { $0.pathExtension == "swift" }
    try compile("HeartwoodUI", sources)
  }

  /// Compiles a module with the language features that the package enables.
  private func compile(_ module: String, _ sources: [URL]) throws {
    let features = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]
    let arguments =
      [
        "-emit-module", "-module-name", module, "-parse-as-library", "-swift-version", "6",
        "-emit-module-path", scratch.path(of: "\(module).swiftmodule"), "-package-name",
        DocumentProgram.package.lastPathComponent.lowercased(), "-I", scratch.path, "-I",
        try #require(BuiltModules.directory),
      ] + features.flatMap { ["-enable-upcoming-feature", $0] } + sources.map(\.path)
    let (output, exitCode) = try BuiltModules.run("swiftc", arguments)
    // Ignore the unused import of Foundation, which declares `UndoManager` on Apple platforms only.
    let warnings = output.split(separator: "\n").filter {
      $0.contains("warning:") && !$0.contains("public import of 'Foundation' was not used")
    }
    try #require(exitCode == 0 && warnings.isEmpty, "\(module): \(output)")
  }
}
