extension StoredModel {
  /// Returns the stored description of a relationship: its destinations, inverse and keyspace.
  ///
  /// The relationship is stored according to its kind:
  ///
  /// - A to-one relationship is a field of the record. If its inverse is an unordered to-many
  ///   relationship, the keyspace `edges.N.P` also lists the objects that refer to each object, so
  ///   the inverse needs no separate list.
  /// - The members of all other to-many relationships are in `lists.N.P`, or in `orders.N.P` if the
  ///   relationship is ordered.
  ///
  /// In these names, N and P are the numbers of the declaring entity and of the property. Because
  /// ordered and unordered relationships use different keyspaces, the format of the entries in a
  /// keyspace never changes.
  func ends(
    of property: PropertyDescription, _ entity: EntityDescription,
    _ destination: EntityDescription?
  ) throws -> StoredEnds {
    let inverse = entity.inverses[property.slot]
    let targets = [destination].compactMap(\.self).flatMap(\.family)
    return StoredEnds(
      declaration: try declaration(property, entity),
      inverse: try inverse.map { try declaration($0.property, $0.entity) },
      targets: targets.compactMap { self.entity(named: $0.name)?.number }.sorted(),
      keyspace: try keyspace(of: property, entity))
  }

  private func keyspace(
    of property: PropertyDescription, _ entity: EntityDescription
  ) throws -> String? {
    guard case .toMany(let isOrdered) = property.kind else {
      guard entity.isMemberReference(property) else { return nil }
      return "edges.\(try declaration(property, entity))"
    }
    if !entity.listsMembers(property), let inverse = entity.inverses[property.slot] {
      return "edges.\(try declaration(inverse.property, inverse.entity))"
    }
    return "\(isOrdered ? "orders" : "lists").\(try declaration(property, entity))"
  }

  /// Returns the identifier of a relationship.
  ///
  /// The identifier has the form `N.P`, where `N` is the number of the declaring entity, and `P` is
  /// the number of the property in that entity.
  private func declaration(
    _ property: PropertyDescription, _ entity: EntityDescription
  ) throws -> String {
    let declaring = entity.declaring(property)
    guard let stored = self.entity(named: declaring.name) else {
      throw ObjectGraphError(
        .incompatibleSchema,
        "The store has no entity named \(declaring.name). To add it, open the store with a "
          + "container whose schema contains the entity's class.")
    }
    return "\(stored.number).\(try stored.number(of: declaring.properties[property.slot]))"
  }
}

extension EntityDescription {
  /// Returns the entity that declares a property: this entity or one of its superentities.
  func declaring(_ property: PropertyDescription) -> EntityDescription {
    var entity = self
    while let superentity = entity.superentity, property.slot < superentity.properties.count {
      entity = superentity
    }
    return entity
  }

  /// Returns whether a to-many relationship has its own list of members.
  func listsMembers(_ property: PropertyDescription) -> Bool {
    guard case .toMany(let isOrdered) = property.kind else { return false }
    guard !isOrdered, let inverse = inverses[property.slot] else { return true }
    return !inverse.entity.isMemberReference(inverse.property)
  }
}
