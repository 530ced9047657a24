import Foundation

/// The model recorded in a store, which allows the store to be read without the program's classes.
///
/// The number of each entity and each property is assigned once and never reused. The names of
/// keyspaces contain these numbers. Each record contains the number of the layout that was used to
/// write it.
package struct StoredModel: Codable, Equatable {
  /// An entity in the store.
  package struct StoredEntity: Codable, Equatable {
    var name: String
    var number: Int
    /// The highest number ever assigned to a property of the entity.
    var lastProperty: UInt16 = 0
    var properties: [StoredProperty] = []
    /// All layouts of the entity's records.
    ///
    /// New records use the last layout.
    var layouts: [StoredLayout] = []
    /// The keyspaces of all indexes that contain the entity's objects.
    var indexes: [String] = []
    /// Descriptions of how the entity's derived attributes are computed, or `nil` if no attribute
    /// is derived.
    package var derived: [String]?
    var formerNames: [String]?
  }

  /// A property in the store.
  struct StoredProperty: Codable, Equatable {
    var name: String
    var number: UInt16
    var kind: StoredKind
    /// The ends of a relationship, or `nil` for an attribute.
    var ends: StoredEnds?
    var formerNames: [String]?
  }

  /// The kind of a property.
  enum StoredKind: Codable, Equatable {
    case attribute(storageType: StorageType, isOptional: Bool)
    case toOne
    case toMany(isOrdered: Bool)

    // Never change these keys, because they occur in stored JSON.
    private enum AttributeCodingKeys: String, CodingKey {
      case storageType = "form"
      case isOptional
    }
  }

  /// The identifier, inverse, destinations and keyspace of a relationship.
  struct StoredEnds: Codable, Equatable {
    /// The identifier of the relationship.
    ///
    /// The identifier consists of the number of the declaring entity and the number of the
    /// property, separated by a dot.
    var declaration: String
    /// The identifier of the inverse relationship, or `nil` if there is none.
    var inverse: String?
    /// The numbers of the possible destination entities.
    var targets: [Int]
    /// The keyspace that lists the members of each owner or, for a to-one relationship, the objects
    /// that refer to each destination.
    ///
    /// The value is `nil` if there is no such list.
    var keyspace: String?

    // Never change these keys, because they occur in stored JSON.
    private enum CodingKeys: String, CodingKey {
      case declaration, inverse, targets
      case keyspace = "place"
    }
  }

  /// A layout used to write records.
  struct StoredLayout: Codable, Equatable {
    var columns: [Column]
    /// The values to use for properties that have no value in a record of this layout.
    var constants: [Constant] = []
  }

  /// A field of a record.
  struct Column: Codable, Equatable {
    var property: UInt16
    var storageType: StorageType

    // Never change these keys, because they occur in stored JSON.
    private enum CodingKeys: String, CodingKey {
      case property
      case storageType = "form"
    }
  }

  /// The value to use for a property that has no value in a record.
  struct Constant: Codable, Equatable {
    var property: UInt16
    var value: StoredValue
  }

  static let keyspace = "heartwood.model"
  /// The keyspace that maps the number of each entity to its next row ID.
  static let rowsKeyspace = "heartwood.rows"
  static let key = "model"
  /// The key under which `keyspace` stores the number of times that the model has changed.
  static let changesKey: Key = "changes"

  var version: Int
  /// The highest number ever assigned to an entity.
  var lastEntity = 0
  package var entities: [StoredEntity] = []

  package static func decoded(_ bytes: [UInt8]) throws -> StoredModel {
    let model: StoredModel
    do {
      model = try JSONDecoder().decode(StoredModel.self, from: Data(bytes))
    } catch {
      throw StorageError(
        .corrupt,
        "The store is corrupt: its model cannot be decoded. Restore a backup. Underlying error: "
          + "\(error)")
    }
    try model.check()
    return model
  }

  package func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return [UInt8](try encoder.encode(self))
  }

  /// Checks the numbers and names in the model.
  ///
  /// - Throws: `corrupt` if numbers or names are duplicated or out of range.
  private func check() throws(StorageError) {
    let numbers = Set(entities.map(\.number))
    guard numbers.count == entities.count, Set(entities.map(\.name)).count == entities.count,
      numbers.allSatisfy({ (1...lastEntity.clamped).contains($0) })
    else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: its model contains a duplicate or invalid entity. Restore a backup.")
    }
    for entity in entities {
      let properties = Set(entity.properties.map(\.number))
      guard properties.count == entity.properties.count,
        Set(entity.properties.map(\.name)).count == properties.count,
        properties.allSatisfy({ $0 <= entity.lastProperty }),
        entity.layouts.count <= Int(UInt16.max)
      else {
        throw StorageError(
          .corrupt,
          "The store is corrupt: its model contains a duplicate or invalid property. Restore a "
            + "backup.")
      }
    }
  }

  /// Returns the entity with the given number, or `nil` if there is none.
  func entity(_ number: Int) -> StoredEntity? { entities.first { $0.number == number } }

  /// Returns the entity with the given name, or `nil` if there is none.
  func entity(named name: String) -> StoredEntity? { entities.first { $0.name == name } }

  /// The keyspaces of all relationships.
  var relationshipKeyspaces: Set<String> {
    Set(entities.flatMap { $0.properties.compactMap { $0.ends?.keyspace } })
  }
}

extension Int {
  /// The value, clamped to the range of valid entity numbers: from 1 to the largest number that an
  /// object ID can contain.
  fileprivate var clamped: Int { Swift.max(1, Swift.min(self, ObjectNumber.maxEntity)) }
}

extension StoredModel.StoredEntity {
  /// The layouts of the entity's records, indexed by layout number.
  package var recordLayouts: [RecordLayout] {
    layouts.enumerated().map { number, layout in
      RecordLayout(number: UInt16(number), layout.columns.map { ($0.property, $0.storageType) })
    }
  }

  /// Returns whether this entity and `other` share an index or a relationship, or whether one of
  /// them refers to the other.
  func isRelated(to other: StoredModel.StoredEntity) -> Bool {
    let (ends, otherEnds) = (properties.compactMap(\.ends), other.properties.compactMap(\.ends))
    return ends.contains { $0.targets.contains(other.number) }
      || otherEnds.contains { $0.targets.contains(number) }
      || !Set(ends.map(\.declaration)).isDisjoint(with: otherEnds.map(\.declaration))
      || !Set(indexes).isDisjoint(with: other.indexes)
  }

  func property(_ number: UInt16) -> StoredModel.StoredProperty? {
    properties.first { $0.number == number }
  }

  /// Returns the stored description of a property.
  ///
  /// - Throws: `incompatibleSchema` if the store does not have the property.
  func stored(_ property: PropertyDescription) throws -> StoredModel.StoredProperty {
    guard let found = properties.first(where: { $0.name == property.storedName }) else {
      throw ObjectGraphError(
        .incompatibleSchema,
        "The store has no property \(name).\(property.name). To add it, open the store with a "
          + "container whose schema contains this property.")
    }
    return found
  }

  func number(of property: PropertyDescription) throws -> UInt16 {
    try stored(property).number
  }
}

extension TextIndexDescription {
  /// Returns the name of the index's keyspace.
  ///
  /// The name consists of the number of the declaring entity, the numbers of the attributes and the
  /// identifier of the tokenizer. When a program that does not declare the index opens the store,
  /// the index is removed. Therefore, no index can miss the changes that such a program makes.
  func keyspace(_ stored: StoredModel.StoredEntity) throws -> String {
    let numbers = try slots.map { "\(try stored.number(of: entity.properties[$0]))" }
    return "text.\(stored.number).\(numbers.joined(separator: "-")).\(tokenizer.identifier)"
  }
}

extension IndexDescription {
  /// Returns the name of the index's keyspace.
  ///
  /// The name consists of the number of the declaring entity and the numbers of the attributes, so
  /// it stays the same when the entity or an attribute is renamed.
  func keyspace(_ stored: StoredModel.StoredEntity) throws -> String {
    let numbers = try slots.map { "\(try stored.number(of: entity.properties[$0]))" }
    let kind = isUnique ? "unique" : "index"
    return "\(kind).\(stored.number).\(numbers.joined(separator: "-"))"
  }
}
