import Heartwood
import HeartwoodEngine

/// The `entities` command, which shows the model of a store.
enum EntitiesCommand {
  private struct Document: Encodable {
    let generation: UInt64
    let entities: [Entity]
  }

  private struct Entity: Encodable {
    let name: String
    let superentity: String?
    let isAbstract: Bool
    let count: Int
    let rowByteCount: Int
    let indexByteCount: Int
    let attributes: [Attribute]
    let relationships: [Relationship]
    let indexes: [Index]
  }

  private struct Attribute: Encodable {
    let name: String
    let type: String
    let isOptional: Bool
    let derivation: String?
  }

  private struct Relationship: Encodable {
    let name: String
    let kind: String
    let destination: String
    let inverse: String?
    let deleteRule: String
  }

  private struct Index: Encodable {
    let attributes: [String]
    let isUnique: Bool
    /// The tokenizer of a text index, or `nil` for any other index.
    let tokenizer: String?
    let entryCount: Int
    let byteCount: Int
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let document = try ObjectAccess.withObjects(invocation) { objects, store in
      let sizes = try KeyspaceSizes(of: objects.snapshot, in: store)
      return Document(
        generation: objects.snapshot.generation.frame,
        entities: try objects.entities.map { try entity($0, objects, sizes) })
    }
    if invocation.wantsJSON { return try output.json(document) }
    for (position, entity) in document.entities.enumerated() {
      if position > 0 { try output.line() }
      try write(entity, output)
    }
    if document.entities.isEmpty { try output.line("no entities") }
  }

  private static func entity(
    _ facts: EntityFacts, _ objects: StoredObjects, _ sizes: KeyspaceSizes
  ) throws -> Entity {
    let indexes = try facts.indexes.map { index in
      Index(
        attributes: index.attributes, isUnique: index.isUnique, tokenizer: index.tokenizer,
        entryCount: try objects.snapshot.keyspace(index.keyspace)?.count() ?? 0,
        byteCount: sizes[index.keyspace])
    }
    let own = facts.indexes.filter(\.isOwn).map(\.keyspace)
    return Entity(
      name: facts.name, superentity: facts.superentity, isAbstract: facts.isAbstract,
      count: try objects.rowCount(of: facts), rowByteCount: sizes[facts.keyspace],
      indexByteCount: own.reduce(0) { $0 + sizes[$1] },
      attributes: facts.attributes.map {
        Attribute(
          name: $0.name, type: "\($0.type)", isOptional: $0.isOptional, derivation: $0.derivation)
      },
      relationships: facts.relationships.map {
        Relationship(
          name: $0.name,
          kind: $0.isToMany ? $0.isOrdered ? "ordered to-many" : "to-many" : "to-one",
          destination: $0.destination, inverse: $0.inverse, deleteRule: $0.deleteRule.rawValue)
      },
      indexes: indexes)
  }

  // MARK: Text output

  private static func write(_ entity: Entity, _ output: Output) throws {
    var title = QuotedText.escaped(entity.name)
    if let superentity = entity.superentity { title += ": \(QuotedText.escaped(superentity))" }
    if entity.isAbstract { title += " (abstract)" }
    let bold = output.hasColors ? ("\u{1B}[1m", "\u{1B}[0m") : ("", "")
    try output.line(
      "\(bold.0)\(title)\(bold.1)  \(HumanText.count(entity.count, "object")), rows "
        + "\(HumanText.size(entity.rowByteCount)), own indexes "
        + HumanText.size(entity.indexByteCount))
    var table = TextTable(untitled: [.left, .left, .left])
    for attribute in entity.attributes {
      table.append([
        QuotedText.escaped(attribute.name), attribute.type + (attribute.isOptional ? "?" : ""),
        attribute.derivation.map { "derived: \($0)" } ?? "",
      ])
    }
    for relationship in entity.relationships {
      let inverse = relationship.inverse.map { ", inverse \(QuotedText.escaped($0))" } ?? ""
      table.append([
        QuotedText.escaped(relationship.name),
        "\(relationship.kind) \(QuotedText.escaped(relationship.destination))",
        "delete rule \(relationship.deleteRule)\(inverse)",
      ])
    }
    if !entity.attributes.isEmpty || !entity.relationships.isEmpty {
      try output.line(table.text(indent: 2))
    }
    for index in entity.indexes {
      let names = index.attributes.map(QuotedText.escaped).joined(separator: ", ")
      let kind = index.isUnique ? "unique" : index.tokenizer == nil ? "index" : "text index"
      try output.line(
        "  \(kind) (\(names)): "
          + "\(HumanText.count(index.entryCount, "entry")), \(HumanText.size(index.byteCount))")
    }
  }
}
