import Foundation

/// The model as the store records it, so that the store can be read without its program.
///
/// The numbers of entities and properties are assigned once and never reused; keyspaces are named
/// after them. Each record contains the number of the layout with which it was written.
struct StoredModel: Codable, Equatable {
  /// An entity in the store.
  struct StoredEntity: Codable, Equatable {
    var name: String
    var number: Int
    /// The highest number that a property of it ever had.
    var lastProperty: UInt16 = 0
    var properties: [StoredProperty] = []
    /// All layouts of its records; new records use the last one.
    var layouts: [StoredLayout] = []
    /// The keyspaces of all indexes that contain its objects.
    var indexes: [String] = []
    /// The derivations of its attributes; `nil` if there are none.
    var derived: [String]?
  }

  /// A property in the store.
  struct StoredProperty: Codable, Equatable {
    var name: String
    var number: UInt16
    var kind: StoredKind
    /// The ends of a relationship; `nil` for an attribute.
    var ends: StoredEnds?
  }

  /// The kind of a property.
  enum StoredKind: Codable, Equatable {
    case attribute(storageType: StorageType, isOptional: Bool)
    case toOne
    case toMany(isOrdered: Bool)

    // The keys in stored JSON, which never change.
    private enum AttributeCodingKeys: String, CodingKey {
      case storageType = "form"
      case isOptional
    }
  }

  /// The destinations of a relationship, and its keyspace.
  struct StoredEnds: Codable, Equatable {
    /// The declaration of the relationship: the numbers of the declaring entity and of the
    /// property.
    var declaration: String
    /// The declaration of the inverse.
    var inverse: String?
    /// The numbers of the possible destination entities.
    var targets: [Int]
    /// The keyspace of its members, or of the objects that refer to an object through it.
    var keyspace: String?

    // The keys in stored JSON, which never change.
    private enum CodingKeys: String, CodingKey {
      case declaration, inverse, targets
      case keyspace = "place"
    }
  }

  /// A layout in which records were written.
  struct StoredLayout: Codable, Equatable {
    var columns: [Column]
    /// The values of properties for which such records have no value or no field.
    var constants: [Constant] = []
  }

  /// A field of a record.
  struct Column: Codable, Equatable {
    var property: UInt16
    var storageType: StorageType

    // The keys in stored JSON, which never change.
    private enum CodingKeys: String, CodingKey {
      case property
      case storageType = "form"
    }
  }

  /// The value of a property in records that were written before it needed one.
  struct Constant: Codable, Equatable {
    var property: UInt16
    var value: StoredValue
  }

  static let keyspace = "heartwood.model"
  /// The next row ID of each entity, by the entity's number.
  static let rowsKeyspace = "heartwood.rows"
  static let key = "model"
  /// The key, in the same keyspace, of the number of model changes.
  static let changesKey: Key = "changes"

  var version: Int
  /// The highest number that an entity ever had.
  var lastEntity = 0
  var entities: [StoredEntity] = []

  static func decoded(_ bytes: [UInt8]) throws -> StoredModel {
    let model: StoredModel
    do {
      model = try JSONDecoder().decode(StoredModel.self, from: Data(bytes))
    } catch {
      throw StorageError(.corrupt, "The store's model cannot be decoded: \(error).")
    }
    try model.check()
    return model
  }

  func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return [UInt8](try encoder.encode(self))
  }

  /// Throws `corrupt` if numbers or names are duplicated or out of range.
  private func check() throws(StorageError) {
    let numbers = Set(entities.map(\.number))
    guard numbers.count == entities.count, Set(entities.map(\.name)).count == entities.count,
      numbers.allSatisfy({ (1...lastEntity.clamped).contains($0) })
    else { throw StorageError(.corrupt, "The store's model has a duplicate entity.") }
    for entity in entities {
      let properties = Set(entity.properties.map(\.number))
      guard properties.count == entity.properties.count,
        Set(entity.properties.map(\.name)).count == properties.count,
        properties.allSatisfy({ $0 <= entity.lastProperty }),
        entity.layouts.count <= Int(UInt16.max)
      else { throw StorageError(.corrupt, "The store's model has a duplicate property.") }
    }
  }

  /// Returns the entity with a number.
  func entity(_ number: Int) -> StoredEntity? { entities.first { $0.number == number } }

  /// Returns the entity with a name.
  func entity(named name: String) -> StoredEntity? { entities.first { $0.name == name } }

  /// The keyspaces of all relationships.
  var relationshipKeyspaces: Set<String> {
    Set(entities.flatMap { $0.properties.compactMap { $0.ends?.keyspace } })
  }
}

extension Int {
  /// The value limited to the range of entity numbers: at least 1, and at most what an ID can hold.
  fileprivate var clamped: Int { Swift.max(1, Swift.min(self, ObjectNumber.maxEntity)) }
}

extension StoredModel.StoredEntity {
  func property(_ number: UInt16) -> StoredModel.StoredProperty? {
    properties.first { $0.number == number }
  }

  /// Returns the stored form of a property of the class.
  func stored(_ property: PropertyDescription) throws -> StoredModel.StoredProperty {
    guard let found = properties.first(where: { $0.name == property.storedName }) else {
      throw ObjectGraphError(.incompatibleSchema, "The store has no \(name).\(property.name).")
    }
    return found
  }

  func number(of property: PropertyDescription) throws -> UInt16 {
    try stored(property).number
  }
}

extension IndexDescription {
  /// Returns the keyspace of the index.
  ///
  /// Its name consists of the numbers of the declaring entity and of the attributes, which renaming
  /// does not change.
  func keyspace(_ stored: StoredModel.StoredEntity) throws -> String {
    let numbers = try slots.map { "\(try stored.number(of: entity.properties[$0]))" }
    let kind = isUnique ? "unique" : "index"
    return "\(kind).\(stored.number).\(numbers.joined(separator: "-"))"
  }
}
