import Foundation

extension ChangeFeed {
  /// The values of an object in one generation.
  ///
  /// The values include all attributes that are not derived, all to-one relationships, and the
  /// changed to-many relationships that cannot be determined from their inverses. If the object was
  /// deleted and the generation before its deletion cannot be read, the values contain only the
  /// attributes preserved in the history.
  public struct Values: Sendable {
    let entity: FeedEntity
    /// The values of the attributes, in the order of the entity's properties.
    let attributes: [StoredValue?]
    /// The targets of the to-one relationships, in the order of the entity's properties.
    let references: [Reference?]
    /// The members of to-many relationships.
    let lists: [(property: FeedEntity.Property, members: [Reference])]

    /// The values of the attributes, keyed by name.
    ///
    /// - Complexity: O(n), where n is the number of attributes.
    public var attributeValues: [String: StoredValue] {
      var values: [String: StoredValue] = [:]
      for (field, value) in zip(entity.attributes, attributes) {
        values[field.description.name] = value
      }
      return values
    }

    /// The targets of the to-one relationships that are set, keyed by name.
    ///
    /// - Complexity: O(n), where n is the number of to-one relationships.
    public var referencedObjects: [String: ManagedObjectID] {
      var objects: [String: ManagedObjectID] = [:]
      for (field, target) in zip(entity.references, references) {
        objects[field.description.name] = target?.id
      }
      return objects
    }

    /// The members of the to-many relationships included in the event, keyed by name.
    ///
    /// - Complexity: O(n), where n is the number of members.
    public var members: [String: [ManagedObjectID]] {
      var members: [String: [ManagedObjectID]] = [:]
      for list in lists { members[list.property.description.name] = list.members.map(\.id) }
      return members
    }

    /// The value of the attribute with the given name, or `nil` if the values do not include the
    /// attribute.
    ///
    /// - Complexity: O(n), where n is the number of attributes.
    public subscript(name: String) -> StoredValue? {
      entity.attributes.firstIndex { $0.description.name == name }.flatMap { attributes[$0] }
    }
  }

  /// A unique attribute and its value, which together identify an object.
  public struct Key: Sendable {
    let property: PropertyDescription
    /// The value of the attribute.
    public let value: StoredValue

    /// The name of the attribute.
    public var name: String { property.name }
  }
}

/// An event's reference to another object.
struct Reference: Sendable {
  let id: ManagedObjectID
  let key: ChangeFeed.Key?
}

/// An entity whose objects occur in a feed's events.
final class FeedEntity: Sendable {
  /// A property with the JSON keys for its value.
  struct Property: Sendable {
    let description: PropertyDescription
    let keys: [ImportKey]

    fileprivate init(_ description: PropertyDescription) {
      self.description = description
      keys = description.importKeys
    }
  }

  let storage: EntityStorage
  /// The unique attribute that identifies the objects, or `nil` if there is none.
  let key: PropertyDescription?
  /// The attributes that are not derived.
  let attributes: [Property]
  let references: [Property]
  /// The to-many relationships whose members or order cannot be determined from their inverses,
  /// each with the keyspace that lists its members.
  let lists: [(property: Property, keyspace: String)]

  init(_ storage: EntityStorage, _ model: StoreModel) {
    self.storage = storage
    let entity = storage.entity
    key = entity.referringAttribute
    attributes = entity.properties.filter { $0.isAttribute && !entity.isDerived($0) }
      .map { Property($0) }
    references = entity.relationships.filter(\.isReference).map { Property($0) }
    lists = entity.relationships.filter { property in
      guard case .toMany(let isOrdered) = property.kind else { return false }
      return isOrdered || entity.inverses[property.slot]?.property.isReference != true
    }.map { (Property($0), model.memberKeyspace($0, of: entity)) }
  }
}
