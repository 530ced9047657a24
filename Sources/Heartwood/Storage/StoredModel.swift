import Foundation

/// The model as a store keeps it, so that it can be read without the program that made it.
///
/// The numbers of entities and properties are given once and stay; keyspaces are named after them.
/// A record says by which of its entity's layouts it was written.
struct StoredModel: Codable, Equatable {
  /// An entity in the store.
  struct StoredEntity: Codable, Equatable {
    var name: String
    var number: Int
    var properties: [StoredProperty] = []
    /// Every layout its records have had, the last one for new ones.
    var layouts: [[Column]] = []
    /// The keyspaces of the indexes it declares itself.
    var indexes: [String] = []
    /// How its attributes are derived; `nil` if none is, as in stores that know of none.
    var derived: [String]?
  }

  /// A property in the store.
  struct StoredProperty: Codable, Equatable {
    var name: String
    var number: UInt16
    var kind: String
  }

  /// A field of a record.
  struct Column: Codable, Equatable {
    var property: UInt16
    var form: StoredForm
  }

  static let keyspace = "heartwood.model"
  /// The number of the next row of each entity, by the entity's number.
  static let rowsKeyspace = "heartwood.rows"
  static let key = "model"

  var version: Int
  var entities: [StoredEntity] = []

  static func read(_ snapshot: Snapshot) throws -> StoredModel? {
    guard let bytes = try snapshot.keyspace(keyspace)?.get(key) else { return nil }
    return try decoded(bytes)
  }

  static func decoded(_ bytes: [UInt8]) throws -> StoredModel {
    do {
      return try JSONDecoder().decode(StoredModel.self, from: Data(bytes))
    } catch {
      throw StorageError(.corrupt, "The store's model cannot be read: \(error).")
    }
  }

  func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return [UInt8](try encoder.encode(self))
  }

  // MARK: Joining a schema

  /// The model with all that `schema` adds to it.
  ///
  /// - Throws: `incompatibleSchema`, naming what cannot be the same any more.
  func joined(_ schema: Schema) throws -> StoredModel {
    guard schema.version >= version else {
      throw ObjectGraphError(
        .incompatibleSchema,
        "The store has seen version \(version) of the model, and this program has version "
          + "\(schema.version). Open it with the newer program.")
    }
    var result = self
    result.version = schema.version
    for entity in schema.content.entities { try result.join(entity) }
    // Their sources may be in entities that join later.
    for entity in schema.content.entities { try result.joinDerived(entity) }
    return result
  }

  private mutating func join(_ entity: EntityDescription) throws {
    let position: Int
    if let known = entities.firstIndex(where: { $0.name == entity.name }) {
      position = known
    } else if let old = entities.firstIndex(where: { $0.name == entity.renamedFrom }) {
      position = old
      entities[old].name = entity.name
    } else {
      let number = (entities.map(\.number).max() ?? 0) + 1
      guard number <= ObjectNumber.maxEntity else {
        throw ObjectGraphError(.incompatibleSchema, "The store has too many entities.")
      }
      position = entities.count
      entities.append(StoredEntity(name: entity.name, number: number))
    }
    for property in entity.properties { try entities[position].join(property, entity) }
    let columns = try entity.columns.map { property in
      Column(
        property: try entities[position].number(of: property),
        form: try Self.form(of: property))
    }
    if entities[position].layouts.last != columns { entities[position].layouts.append(columns) }
    let own = entity.indexes.filter { $0.entity === entity }
    entities[position].indexes = try own.map { try $0.keyspace(entities[position]) }
  }

  private mutating func joinDerived(_ entity: EntityDescription) throws {
    guard let position = entities.firstIndex(where: { $0.name == entity.name }) else { return }
    let sentences = try entity.derived.map { try sentence($0, entities[position]) }
    entities[position].derived = sentences.isEmpty ? nil : sentences
  }

  /// How an attribute is derived, by numbers that stay when something is renamed.
  func sentence(_ derived: DerivedAttribute, _ own: StoredEntity) throws -> String {
    var words = ["\(try own.number(of: derived.property))", derived.formula.name]
    var source = own
    if let relationship = derived.relationship, let destination = derived.destination,
      let there = entities.first(where: { $0.name == destination.name })
    {
      words.append("\(try own.number(of: relationship))")
      words.append("\(there.number)")
      source = there
    }
    if let attribute = derived.attribute { words.append("\(try source.number(of: attribute))") }
    return words.joined(separator: " ")
  }

  private static func form(of property: PropertyDescription) throws -> StoredForm {
    guard let form = property.recordForm else { preconditionFailure("a column has a form") }
    return form
  }
}

extension StoredModel.StoredEntity {
  /// Takes a property up, or compares it with what the store knows of it.
  fileprivate mutating func join(
    _ property: PropertyDescription, _ entity: EntityDescription
  ) throws {
    guard let kind = property.storedKind else { return }
    if !properties.contains(where: { $0.name == property.storedName }),
      let old = properties.firstIndex(where: { $0.name == property.options.renamedFrom })
    {
      properties[old].name = property.storedName
    }
    guard let known = properties.first(where: { $0.name == property.storedName }) else {
      let number = (properties.map(\.number).max() ?? 0) + 1
      return properties.append(.init(name: property.storedName, number: number, kind: kind))
    }
    guard known.kind == kind else {
      throw ObjectGraphError(
        .incompatibleSchema,
        "\(entity.name).\(property.name) is \(kind) in the program and \(known.kind) in the store.")
    }
  }

  func number(of property: PropertyDescription) throws -> UInt16 {
    guard let found = properties.first(where: { $0.name == property.storedName }) else {
      throw ObjectGraphError(.incompatibleSchema, "The store has no \(name).\(property.name).")
    }
    return found.number
  }
}

extension PropertyDescription {
  /// What it is, in a sentence that must stay the same; `nil` if it is not stored.
  fileprivate var storedKind: String? {
    switch kind {
    case .attribute(let form, _): "\(form)"
    case .toOne: "toOne"
    case .toMany(let isOrdered): isOrdered ? "orderedToMany" : "toMany"
    case .transient: nil
    }
  }
}

extension IndexDescription {
  /// The keyspace of its entries, named after the numbers of the entity that declares it and of its
  /// attributes, which stay when they are renamed.
  func keyspace(_ stored: StoredModel.StoredEntity) throws -> String {
    let numbers = try slots.map { "\(try stored.number(of: entity.properties[$0]))" }
    let kind = isUnique ? "unique" : "index"
    return "\(kind).\(stored.number).\(numbers.joined(separator: "-"))"
  }
}
