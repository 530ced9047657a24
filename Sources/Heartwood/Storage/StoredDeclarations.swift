import Foundation

/// The declarations of the program that last opened a store, except those that affect stored rows.
///
/// Tools that do not contain the program's classes read these declarations instead. Unlike the
/// model, the declarations may differ between programs that have the store open.
package struct StoredDeclarations: Codable, Equatable {
  struct Declaration: Codable, Equatable {
    /// The number of the entity.
    let entity: Int
    /// The number of the entity from which this entity inherits.
    var superentity: Int?
    var isAbstract: Bool
    /// The properties, sorted by number.
    var properties: [Property]
  }

  struct Property: Codable, Equatable {
    let number: UInt16
    /// The property's name in its class, or `nil` if the property has the same name in the store.
    var name: String?
    /// The delete rule of a relationship.
    var deleteRule: DeleteRule?
    /// The property's initial value, or `nil` if the value is null or differs between
    /// objects.
    var initialValue: StoredValue?
    /// A Boolean value that indicates whether the history keeps the property's value when an object
    /// is deleted.
    var isPreservedOnDeletion: Bool?
    /// All values of the property's type, in stored form and in ascending order.
    ///
    /// The list is recorded only if the program defines the type and a minimum or maximum is
    /// derived from the property; otherwise, it is `nil`. The list is empty if the order is
    /// unknown.
    var valueOrder: [StoredValue]?
  }

  /// The key of the declarations in ``StoredModel/keyspace``.
  static let key: Key = "declarations"

  var declarations: [Declaration] = []

  /// Returns the declarations, or `nil` if the store has none.
  ///
  /// - Throws: `corrupt` if the declarations cannot be decoded.
  static func read(_ keyspace: RowsKeyspace?) throws -> StoredDeclarations? {
    try keyspace?.withValue(key) { try decoded($0.copy) }
  }

  package static func decoded(_ bytes: [UInt8]) throws -> StoredDeclarations {
    do {
      return try JSONDecoder().decode(StoredDeclarations.self, from: Data(bytes))
    } catch {
      throw StorageError(
        .corrupt,
        "The store's declarations cannot be decoded. To write them again, open the store with a "
          + "program that contains the store's classes. Underlying error: \(error)")
    }
  }

  package func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return [UInt8](try encoder.encode(self))
  }

  /// Returns the declarations, updated with the declarations of a schema's classes.
  ///
  /// The declarations of all other entities in the store are kept.
  func updated(for schema: Schema.Content, in model: StoredModel) throws -> StoredDeclarations {
    let new = try schema.entities.compactMap { entity in
      try model.entity(named: entity.name).map { try Declaration(entity, $0, model) }
    }
    let numbers = Set(new.map(\.entity))
    let kept = declarations.filter {
      !numbers.contains($0.entity) && model.entity($0.entity) != nil
    }
    return StoredDeclarations(declarations: (kept + new).sorted { $0.entity < $1.entity })
  }
}

extension StoredDeclarations.Declaration {
  fileprivate init(
    _ entity: EntityDescription, _ stored: StoredModel.StoredEntity, _ model: StoredModel
  ) throws {
    self.entity = stored.number
    superentity = entity.superentity.flatMap { model.entity(named: $0.name)?.number }
    isAbstract = entity.isAbstract
    let orderedSlots = entity.orderedSlots
    let properties = try entity.properties.compactMap { property in
      property.storedKind == nil
        ? nil
        : StoredDeclarations.Property(
          number: try stored.number(of: property),
          name: property.otherName == nil ? nil : property.name,
          deleteRule: property.options.deleteRule,
          initialValue:
            property.isVolatile || property.initialValue.isNull ? nil : property.initialValue,
          isPreservedOnDeletion: property.options.isPreservedOnDeletion ? true : nil,
          valueOrder: orderedSlots.contains(property.slot) ? property.storage.valueOrder : nil)
    }
    self.properties = properties.sorted { $0.number < $1.number }
  }
}

extension EntityDescription {
  /// The slots of the attributes from which a minimum or maximum is derived.
  fileprivate var orderedSlots: Set<Int> {
    let derived = dependencies.flatMap { dependency in
      dependency.entity.derived.filter { $0.relationship === dependency.relationship }
    }
    return Set(derived.filter { $0.formula.comparesValues }.compactMap { $0.attribute?.slot })
  }
}
