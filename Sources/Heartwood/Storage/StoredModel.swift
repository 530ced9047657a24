import Foundation

/// The model as a store keeps it, so that it can be read without the program that made it.
///
/// The numbers of entities and properties are given once, and never again to others; keyspaces are
/// named after them. A record says by which of its entity's layouts it was written.
struct StoredModel: Codable, Equatable {
  /// An entity in the store.
  struct StoredEntity: Codable, Equatable {
    var name: String
    var number: Int
    /// The highest number a property of it ever had.
    var lastProperty: UInt16 = 0
    var properties: [StoredProperty] = []
    /// Every layout its records have had, the last one for new ones.
    var layouts: [StoredLayout] = []
    /// The keyspaces of all indexes its objects are in.
    var indexes: [String] = []
    /// How its attributes are derived; `nil` if none is.
    var derived: [String]?
  }

  /// A property in the store.
  struct StoredProperty: Codable, Equatable {
    var name: String
    var number: UInt16
    var kind: StoredKind
    /// Of a relationship.
    var ends: StoredEnds?
  }

  /// What a property is.
  enum StoredKind: Codable, Equatable {
    case attribute(form: StoredForm, isOptional: Bool)
    case toOne
    case toMany(isOrdered: Bool)
  }

  /// What a relationship leads to, and where that is written down.
  struct StoredEnds: Codable, Equatable {
    /// The relationship as it is declared, by the numbers of the declaring entity and of its own.
    var declaration: String
    /// The declaration of the inverse.
    var inverse: String?
    /// The numbers of the entities it can lead to.
    var targets: [Int]
    /// The keyspace with its members, or with those who refer to an object by it.
    var place: String?
  }

  /// How records were written at a time.
  struct StoredLayout: Codable, Equatable {
    var columns: [Column]
    /// What such records hold where they have no value or no field.
    var constants: [Constant] = []
  }

  /// A field of a record.
  struct Column: Codable, Equatable {
    var property: UInt16
    var form: StoredForm
  }

  /// The value of a property in records that were written before it needed one.
  struct Constant: Codable, Equatable {
    var property: UInt16
    var value: StoredValue
  }

  static let keyspace = "heartwood.model"
  /// The number of the next row of each entity, by the entity's number.
  static let rowsKeyspace = "heartwood.rows"
  static let key = "model"
  /// Under this key of the same keyspace, how often the model was changed.
  static let changesKey: Key = "changes"

  var version: Int
  /// The highest number an entity ever had.
  var lastEntity = 0
  var entities: [StoredEntity] = []

  static func decoded(_ bytes: [UInt8]) throws -> StoredModel {
    let model: StoredModel
    do {
      model = try JSONDecoder().decode(StoredModel.self, from: Data(bytes))
    } catch {
      throw StorageError(.corrupt, "The store's model cannot be read: \(error).")
    }
    try model.check()
    return model
  }

  func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return [UInt8](try encoder.encode(self))
  }

  /// Throws `corrupt` if numbers are not as they were given.
  private func check() throws(StorageError) {
    let numbers = Set(entities.map(\.number))
    guard numbers.count == entities.count, Set(entities.map(\.name)).count == entities.count,
      numbers.allSatisfy({ (1...lastEntity.clamped).contains($0) })
    else { throw StorageError(.corrupt, "The store's model names an entity twice.") }
    for entity in entities {
      let properties = Set(entity.properties.map(\.number))
      guard properties.count == entity.properties.count,
        Set(entity.properties.map(\.name)).count == properties.count,
        properties.allSatisfy({ $0 <= entity.lastProperty }),
        entity.layouts.count <= Int(UInt16.max)
      else { throw StorageError(.corrupt, "The store's model names a property twice.") }
    }
  }

  /// The entity of a number.
  func entity(_ number: Int) -> StoredEntity? { entities.first { $0.number == number } }

  /// The entity of a name.
  func entity(named name: String) -> StoredEntity? { entities.first { $0.name == name } }

  /// The keyspaces of all relationships.
  var places: Set<String> {
    Set(entities.flatMap { $0.properties.compactMap { $0.ends?.place } })
  }
}

extension Int {
  /// As the last number of an entity: at least one, and no more than an ID has room for.
  fileprivate var clamped: Int { Swift.max(1, Swift.min(self, ObjectNumber.maxEntity)) }
}

extension StoredModel.StoredEntity {
  func property(_ number: UInt16) -> StoredModel.StoredProperty? {
    properties.first { $0.number == number }
  }

  /// What the store has of a property of a class.
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
  /// The keyspace of its entries, named after the numbers of the entity that declares it and of its
  /// attributes, which stay when they are renamed.
  func keyspace(_ stored: StoredModel.StoredEntity) throws -> String {
    let numbers = try slots.map { "\(try stored.number(of: entity.properties[$0]))" }
    let kind = isUnique ? "unique" : "index"
    return "\(kind).\(stored.number).\(numbers.joined(separator: "-"))"
  }
}
