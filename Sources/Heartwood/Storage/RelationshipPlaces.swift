extension StoredModel {
  /// What a relationship leads to, and where it is written down.
  ///
  /// A reference is a field of its record. In addition, `edges.N.P` has who refers to an object, if
  /// the other end is an unordered relationship: then that needs no list of its own. All other
  /// members are listed in `lists.N.P`, or `orders.N.P` if they have an order. What lies in a
  /// keyspace so never changes its form.
  func ends(
    of property: PropertyDescription, _ entity: EntityDescription,
    _ destination: EntityDescription?
  ) throws -> StoredEnds {
    let inverse = entity.inverses[property.slot]
    let targets = destination?.family ?? []
    return StoredEnds(
      declaration: try declaration(property, entity),
      inverse: try inverse.map { try declaration($0.property, $0.entity) },
      targets: targets.compactMap { self.entity(named: $0.name)?.number }.sorted(),
      place: try place(of: property, entity))
  }

  private func place(
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

  /// A relationship by the numbers of the entity that declares it and of its own there.
  private func declaration(
    _ property: PropertyDescription, _ entity: EntityDescription
  ) throws -> String {
    let declaring = entity.declaring(property)
    guard let stored = self.entity(named: declaring.name) else {
      throw ObjectGraphError(.incompatibleSchema, "The store has no entity \(declaring.name).")
    }
    return "\(stored.number).\(try stored.number(of: declaring.properties[property.slot]))"
  }
}

extension EntityDescription {
  /// The entity that declares a property, which this one may inherit.
  func declaring(_ property: PropertyDescription) -> EntityDescription {
    var entity = self
    while let above = entity.superentity, property.slot < above.properties.count { entity = above }
    return entity
  }

  /// Whether a to-many relationship has a list of its own.
  func listsMembers(_ property: PropertyDescription) -> Bool {
    guard case .toMany(let isOrdered) = property.kind else { return false }
    guard !isOrdered, let inverse = inverses[property.slot] else { return true }
    return !inverse.entity.isMemberReference(inverse.property)
  }
}
