import Testing

/// The order of a module's folders: a file names types of its own folder and of those below it.
@Suite("The layers")
struct LayeringTests {
  struct Module: Sendable, CustomTestStringConvertible {
    let path: String
    /// From the bottom up.
    let folders: [String]
    /// Files outside of them.
    var exceptions: Set<String> = []

    var testDescription: String { path }

    /// The position of a source's folder; `nil` if it lies in none of them.
    func layer(of source: SwiftSource) -> Int? {
      let folder = source.path.dropFirst(path.count).split(separator: "/").first
      return folder.flatMap { folders.firstIndex(of: String($0)) }
    }

    func sources() throws -> [SwiftSource] {
      try SwiftSource.all(under: path).filter { !exceptions.contains($0.path) }
    }
  }

  private static let modules = [
    Module(
      path: "Sources/HeartwoodEngine/",
      folders: [
        "Foundations", "Files", "Pages", "Log", "Sharing", "States", "Writing", "Maintenance",
        "Tree", "Keyspaces", "Transactions", "Store",
      ]),
    Module(
      path: "Sources/Heartwood/",
      folders: [
        "Values", "Model", "Records", "Objects", "Storage", "Saving", "Queries", "Fetching",
        "Contexts", "LiveResults", "Container",
      ],
      exceptions: ["Sources/Heartwood/Exports.swift"]),
  ]

  @Test(arguments: modules) func `hold every source of a module`(module: Module) throws {
    for source in try module.sources() {
      #expect(module.layer(of: source) != nil, "\(source.path)")
      // The folders are one level deep.
      #expect(source.path.split(separator: "/").count == 4, "\(source.path)")
    }
  }

  @Test(arguments: modules) func `name no type of a layer above`(module: Module) throws {
    let sources = try module.sources()
    var homes: [String: Int] = [:]
    for source in sources {
      guard let layer = module.layer(of: source) else { continue }
      for type in source.declarations where type.kind == .type && type.isTopLevel {
        homes[type.name] = layer
      }
    }
    for source in sources {
      guard let layer = module.layer(of: source) else { continue }
      let own = Set(source.declarations.filter { $0.kind == .type }.map(\.name))
      for (place, token) in source.tokens.enumerated() {
        guard let home = homes[token.text], home > layer, !own.contains(token.text)
        else { continue }
        // A member of the same name, such as a nested type, is something else.
        if place > 0, source.tokens[place - 1].text == "." { continue }
        let owner = module.folders[home]
        Issue.record("\(source.path):\(token.line) names \(token.text) of \(owner)")
      }
    }
  }
}
