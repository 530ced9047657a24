import Testing

/// Checks that the files of a module refer only to types of their own layer and of lower layers.
@Suite("The layers")
struct LayeringTests {
  struct Module: Sendable, CustomTestStringConvertible {
    let path: String
    /// The directories of each layer, beginning with the lowest layer.
    let layers: [[String]]
    /// The files that do not belong to a layer.
    var exceptions: Set<String> = []

    var testDescription: String { path }

    /// Returns the index of the layer of a source, or `nil` if its directory belongs to no layer.
    func layer(of source: SwiftSource) -> Int? {
      let directory = source.path.dropFirst(path.count).split(separator: "/").first
      return directory.flatMap { directory in
        layers.firstIndex { $0.contains(String(directory)) }
      }
    }

    func sources() throws -> [SwiftSource] {
      try SwiftSource.all(under: path).filter { !exceptions.contains($0.path) }
    }
  }

  private static let modules = [
    Module(
      path: "Sources/HeartwoodEngine/",
      layers: [
        ["Foundations"], ["Files"], ["Pages"], ["Log"], ["Sharing"], ["States"], ["Writing"],
        ["Maintenance"], ["Tree"], ["Keyspaces"], ["Transactions"], ["Store"], ["Backup"],
        ["Salvage"],
      ]),
    Module(
      path: "Sources/Heartwood/",
      layers: [
        ["Values"], ["Text"], ["Model"], ["Records"], ["Objects"], ["Storage"], ["Queries"],
        // The files in these directories extend one class, the context, and contain the types of
        // its properties.
        ["Contexts", "ChangeNotification", "Merging", "Undo"],
        ["Fetching"], ["Saving"], ["Batches"], ["Importing"], ["LiveResults"], ["Container"],
        ["Feeds"], ["Inspection"],
      ],
      exceptions: ["Sources/Heartwood/Exports.swift"]),
  ]

  @Test(arguments: modules) func `every source of a module belongs to a layer`(module: Module)
    throws
  {
    for source in try module.sources() {
      #expect(module.layer(of: source) != nil, "\(source.path)")
      // A directory may contain files, but no subdirectories.
      #expect(source.path.split(separator: "/").count == 4, "\(source.path)")
    }
  }

  @Test(arguments: modules) func `no source names a type of a higher layer`(module: Module) throws {
    let sources = try module.sources()
    var layers: [String: Int] = [:]
    for source in sources {
      guard let layer = module.layer(of: source) else { continue }
      for type in source.declarations where type.kind == .type && type.isTopLevel {
        layers[type.name] = layer
      }
    }
    for source in sources {
      guard let layer = module.layer(of: source) else { continue }
      let own = Set(source.declarations.filter { $0.kind == .type }.map(\.name))
      for (position, token) in source.tokens.enumerated() {
        guard let other = layers[token.text], other > layer, !own.contains(token.text)
        else { continue }
        // A member that has the same name, such as a nested type, is a different declaration.
        if position > 0, source.tokens[position - 1].text == "." { continue }
        let owner = module.layers[other].joined(separator: ", ")
        Issue.record("\(source.path):\(token.line) names \(token.text) of \(owner)")
      }
    }
  }
}
