import Foundation
import HeartwoodTestSupport
import Testing

/// What the libraries say about themselves: the comments of public symbols, and the landing pages.
@Suite(
  "The documentation of the API",
  .enabled(if: BuiltModules.folder != nil, "no built modules beside the tests"))
struct DocumentationTests {
  private static let modules = ["Heartwood", "HeartwoodEngine"]

  @Test(arguments: modules)
  func `says something about every public symbol`(module: String) throws {
    let graph = try SymbolGraph(of: module)
    #expect(graph.symbols.count > 100)
    for symbol in graph.symbols where symbol.location != nil {
      let lines = symbol.docComment?.lines ?? []
      #expect(
        lines.contains { !$0.text.isEmpty }, "\(symbol.pathComponents.joined(separator: "."))")
    }
  }

  @Test(arguments: modules)
  func `names every public type on its landing page, once`(module: String) throws {
    let page = try String(
      contentsOfFile: Self.catalog(of: module) + "/\(module).md", encoding: .utf8)
    let named = page.matches(of: /\n- ``(\w+)``/).map { String($0.output.1) }
    let types = try SymbolGraph(of: module).symbols.map(\.pathComponents).filter { $0.count == 1 }
    #expect(named.sorted() == types.map { $0[0] }.sorted())
  }

  @Test(arguments: modules)
  func `becomes pages without a warning`(module: String) throws {
    let graph = try SymbolGraph(of: module)
    let scratch = try ScratchDirectory()
    let (output, exitCode) = try BuiltModules.run(
      "docc",
      [
        "convert", Self.catalog(of: module), "--additional-symbol-graph-dir", graph.folder.path,
        "--output-path", scratch.path(of: "pages"), "--fallback-display-name", module,
        "--fallback-bundle-identifier", module, "--warnings-as-errors",
      ])
    #expect(exitCode == 0)
    #expect(!output.contains("warning:") && !output.contains("error:"), "\(output)")
  }

  private static func catalog(of module: String) -> String {
    DocumentProgram.package.appending(path: "Sources/\(module)/\(module).docc").path
  }
}

/// The public symbols of a module, as the compiler tells them.
private struct SymbolGraph {
  struct Symbol: Decodable {
    struct Comment: Decodable {
      struct Line: Decodable { let text: String }
      let lines: [Line]
    }
    struct Location: Decodable { let uri: String }
    let pathComponents: [String]
    let docComment: Comment?
    /// None for what the compiler makes by itself.
    let location: Location?
  }

  private struct File: Decodable { let symbols: [Symbol] }

  private struct Platform: Decodable {
    struct Target: Decodable { let triple: String }
    let target: Target
  }

  let folder: ScratchDirectory
  let symbols: [Symbol]

  init(of module: String) throws {
    let platform = try JSONDecoder().decode(
      Platform.self, from: Data(BuiltModules.run("swiftc", ["-print-target-info"]).output.utf8))
    let folder = try ScratchDirectory()
    let (output, exitCode) = try BuiltModules.run(
      "swift",
      [
        "symbolgraph-extract", "-module-name", module, "-I", #require(BuiltModules.folder),
        "-minimum-access-level", "public", "-skip-synthesized-members",
        "-target", platform.target.triple, "-output-dir", folder.path,
      ])
    try #require(exitCode == 0, "\(output)")
    // One file for the module, and one for each other module that it extends.
    symbols = try FileManager.default.contentsOfDirectory(atPath: folder.path).flatMap { name in
      let content = try Data(contentsOf: URL(filePath: folder.path(of: name)))
      return try JSONDecoder().decode(File.self, from: content).symbols
    }
    self.folder = folder
  }
}
