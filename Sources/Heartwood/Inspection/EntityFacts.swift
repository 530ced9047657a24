/// The description of an entity in the store's model.
package struct EntityFacts: Sendable {
  package struct Attribute: Sendable {
    package let name: String
    package let type: StorageType
    package let isOptional: Bool
    /// The formula of a derived attribute, such as `count`, or `nil` for other attributes.
    package let derivation: String?
  }

  package struct Relationship: Sendable {
    package let name: String
    package let isToMany: Bool
    package let isOrdered: Bool
    /// The name of the destination entity.
    package let destination: String
    /// The name of the inverse relationship, or `nil` if there is none.
    package let inverse: String?
    package let deleteRule: DeleteRule
    /// The keyspace that lists the relationship's members, or `nil` if there is no such list.
    package let keyspace: String?
  }

  package struct Index: Sendable {
    /// The names of the attributes, in order.
    package let attributes: [String]
    package let isUnique: Bool
    package let keyspace: String
    /// A Boolean value that indicates whether the entity itself declares the index, instead of
    /// inheriting it.
    package let isOwn: Bool
    /// The identifier of a text index's tokenizer, or `nil` for any other index.
    package var tokenizer: String?
  }

  package let name: String
  package let number: Int
  /// The name of the superentity, or `nil` if there is none.
  package let superentity: String?
  package let isAbstract: Bool
  package let attributes: [Attribute]
  package let relationships: [Relationship]
  package let indexes: [Index]
  /// The keyspace that contains the rows.
  package let keyspace: String

  init(_ storage: EntityStorage, _ stored: StoredModel.StoredEntity, _ schema: Schema.Content) {
    let entity = storage.entity
    name = entity.name
    number = storage.number
    superentity = entity.superentity?.name
    isAbstract = entity.isAbstract
    keyspace = storage.keyspace
    // The description of a derivation begins with the attribute's number and the formula.
    let derived = (stored.derived ?? []).map { $0.split(separator: " ") }.filter { $0.count > 1 }
    attributes = entity.properties.compactMap { property in
      guard case .attribute(let type, let isOptional) = property.kind else { return nil }
      let number = storage.propertyNumbers[property.slot]
      let formula = derived.first { UInt16($0[0].prefix { $0 != "?" }) == number }
        .map { String($0[1]) }
      return Attribute(
        name: property.name, type: type, isOptional: isOptional, derivation: formula)
    }
    relationships = entity.relationships.map { property in
      Relationship(
        name: property.name, isToMany: !property.isReference, isOrdered: property.isOrdered,
        destination: schema.destination(of: property)?.name ?? "?",
        inverse: entity.inverses[property.slot]?.property.name,
        deleteRule: property.options.deleteRule ?? .nullify,
        keyspace: storage.relationshipKeyspaces[property.slot])
    }
    // Append the text index last, because its keyspace follows the keyspaces of the other indexes.
    indexes =
      zip(entity.indexes, stored.indexes).map { index, keyspace in
        Index(
          attributes: index.slots.map { entity.properties[$0].name }, isUnique: index.isUnique,
          keyspace: keyspace, isOwn: index.entity === entity)
      } + Self.textIndex(entity, stored)
  }

  private static func textIndex(
    _ entity: EntityDescription, _ stored: StoredModel.StoredEntity
  ) -> [Index] {
    guard let index = entity.textIndex,
      let keyspace = stored.indexes.first(where: { $0.hasPrefix("text.") })
    else { return [] }
    return [
      Index(
        attributes: index.slots.map { entity.properties[$0].name }, isUnique: false,
        keyspace: keyspace, isOwn: index.entity === entity,
        tokenizer: index.tokenizer.identifier)
    ]
  }
}
