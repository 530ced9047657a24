import Foundation
import HeartwoodTestSupport
import Testing

@Suite(
  "API documentation",
  .enabled(if: BuiltModules.directory != nil, "no built modules beside the tests"))
struct DocumentationTests {
  private static let modules = ["Heartwood", "HeartwoodEngine"]

  @Test(arguments: modules)
  func `every public symbol is documented`(module: String) throws {
    let graph = try SymbolGraph(of: module)
    #expect(graph.symbols.count > 100)
    for symbol in graph.symbols where symbol.location != nil {
      let lines = symbol.docComment?.lines ?? []
      #expect(
        lines.contains { !$0.text.isEmpty }, "\(symbol.pathComponents.joined(separator: "."))")
    }
  }

  @Test(arguments: modules)
  func `the landing page names every public type once`(module: String) throws {
    let page = try String(
      contentsOfFile: Self.catalog(of: module) + "/\(module).md", encoding: .utf8)
    let named = page.matches(of: /\n- ``(\w+)``/).map { String($0.output.1) }
    let types = try SymbolGraph(of: module).symbols.map(\.pathComponents).filter { $0.count == 1 }
    #expect(named.sorted() == types.map { $0[0] }.sorted())
  }

  @Test(.enabled(if: TestScale.current >= .all), arguments: modules)
  func `the documentation builds without warnings`(module: String) throws {
    let graph = try SymbolGraph(of: module)
    let scratch = try ScratchDirectory()
    let (output, exitCode) = try BuiltModules.run(
      "docc",
      [
        "convert", Self.catalog(of: module), "--additional-symbol-graph-dir", graph.directory.path,
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

/// The public symbols of a module, as the compiler reports them.
private struct SymbolGraph {
  struct Symbol: Decodable {
    struct Comment: Decodable {
      struct Line: Decodable { let text: String }
      let lines: [Line]
    }
    struct Location: Decodable { let uri: String }
    let pathComponents: [String]
    let docComment: Comment?
    /// The location in the source code, or `nil` if the compiler synthesises the symbol.
    let location: Location?
  }

  private struct File: Decodable { let symbols: [Symbol] }

  private struct Platform: Decodable {
    struct Target: Decodable { let triple: String }
    let target: Target
  }

  let directory: ScratchDirectory
  let symbols: [Symbol]

  init(of module: String) throws {
    let platform = try JSONDecoder().decode(
      Platform.self, from: Data(BuiltModules.run("swiftc", ["-print-target-info"]).output.utf8))
    let directory = try ScratchDirectory()
    let (output, exitCode) = try BuiltModules.run(
      "swift",
      [
        "symbolgraph-extract", "-module-name", module, "-I", #require(BuiltModules.directory),
        "-minimum-access-level", "public", "-skip-synthesized-members",
        "-target", platform.target.triple, "-output-dir", directory.path,
      ])
    try #require(exitCode == 0, "\(output)")
    // The compiler writes one file for the module, and one for each module that the module extends.
    symbols = try FileManager.default.contentsOfDirectory(atPath: directory.path).flatMap { name in
      let content = try Data(contentsOf: URL(filePath: directory.path(of: name)))
      return try JSONDecoder().decode(File.self, from: content).symbols
    }
    self.directory = directory
  }
}
