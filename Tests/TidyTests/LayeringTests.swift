import Testing

/// The order of the engine's folders: a file names types of its own folder and of those below it.
@Suite("The layers")
struct LayeringTests {
  private static let engine = "Sources/HeartwoodEngine/"
  /// From the bottom up.
  private static let folders = [
    "Foundations", "Files", "Pages", "Log", "Generations", "Tree", "Keyspaces", "Transactions",
    "Store",
  ]

  /// The position of a source's folder; `nil` if it lies in none of them.
  private static func layer(of source: SwiftSource) -> Int? {
    let folder = source.path.dropFirst(engine.count).split(separator: "/").first
    return folder.flatMap { folders.firstIndex(of: String($0)) }
  }

  @Test func `hold every source of the engine`() throws {
    for source in try SwiftSource.all(under: Self.engine) {
      #expect(Self.layer(of: source) != nil, "\(source.path)")
      // The folders are one level deep.
      #expect(source.path.split(separator: "/").count == 4, "\(source.path)")
    }
  }

  @Test func `name no type of a layer above`() throws {
    let sources = try SwiftSource.all(under: Self.engine)
    var homes: [String: Int] = [:]
    for source in sources {
      guard let layer = Self.layer(of: source) else { continue }
      for type in source.declarations where type.kind == .type && type.isTopLevel {
        homes[type.name] = layer
      }
    }
    for source in sources {
      guard let layer = Self.layer(of: source) else { continue }
      let own = Set(source.declarations.filter { $0.kind == .type }.map(\.name))
      for (place, token) in source.tokens.enumerated() {
        guard let home = homes[token.text], home > layer, !own.contains(token.text)
        else { continue }
        // A member of the same name, such as a nested type, is something else.
        if place > 0, source.tokens[place - 1].text == "." { continue }
        let owner = Self.folders[home]
        Issue.record("\(source.path):\(token.line) names \(token.text) of \(owner)")
      }
    }
  }
}
