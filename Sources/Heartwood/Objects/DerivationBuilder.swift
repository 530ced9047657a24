/// A builder that resolves the sources of a schema's derived attributes.
struct DerivationBuilder {
  let content: Schema.Content

  /// Adds a derived attribute to an entity and its subentities.
  ///
  /// - Throws: `invalidModel` if the declaration is invalid. The message names the class and the
  ///   property.
  func derive(_ rule: Derived, of entity: EntityDescription) throws(ObjectGraphError) {
    let property = try content.property(rule.attribute, of: entity)
    guard property.isAttribute else {
      throw Self.refusal(
        entity, property,
        "The property is not a stored attribute. Declare the property with @Attribute.")
    }
    guard !entity.family.contains(where: { $0.derives(property.slot) }) else {
      throw Self.refusal(
        entity, property,
        "The attribute is already derived. Remove one of its Derived declarations.")
    }
    let derived = try source(of: property, rule.formula, entity)
    for member in entity.family { member.derived.append(derived) }
    guard let relationship = derived.relationship, let destination = derived.destination else {
      return
    }
    let dependency = Dependency(
      entity: entity, relationship: relationship, slot: derived.attribute?.slot)
    for member in destination.family { member.dependencies.append(dependency) }
  }

  private func source(
    of property: PropertyDescription, _ formula: DerivationFormula, _ entity: EntityDescription
  ) throws(ObjectGraphError) -> DerivedAttribute {
    var relationship: PropertyDescription?
    var destination: EntityDescription?
    if let keyPath = formula.relationship {
      let found = try named(keyPath, of: entity, for: property, of: entity)
      guard found.isRelationship, let type = found.storage.destination else {
        throw Self.refusal(
          entity, property,
          "\(found.name) is not a stored relationship. Use a relationship of \(entity.name).")
      }
      relationship = found
      destination = try content.requiredEntity(of: type)
    }
    let attribute = try formula.attribute.map { keyPath throws(ObjectGraphError) in
      try named(keyPath, of: destination ?? entity, for: property, of: entity)
    }
    if let attribute, !attribute.isAttribute {
      throw Self.refusal(
        entity, property,
        "\(attribute.name) is not a stored attribute. Use a stored attribute as the source.")
    }
    return DerivedAttribute(
      property: property, formula: formula, attribute: attribute, relationship: relationship,
      destination: destination)
  }

  /// Returns the relationship or source attribute to which a key path in a derivation refers.
  private func named(
    _ keyPath: AnyKeyPath, of source: EntityDescription, for property: PropertyDescription,
    of entity: EntityDescription
  ) throws(ObjectGraphError) -> PropertyDescription {
    do {
      return try content.property(keyPath, of: source)
    } catch {
      throw Self.refusal(entity, property, error.message)
    }
  }

  /// Returns an error for each attribute that is derived from another derived attribute.
  ///
  /// Such a derivation is not allowed, because the order in which the two attributes are computed
  /// would be undefined.
  func failures(of entity: EntityDescription) -> [ObjectGraphError] {
    entity.derived.filter { entity.declares($0.property) }.compactMap { derived in
      guard let attribute = derived.attribute,
        (derived.destination ?? entity).family.contains(where: { $0.derives(attribute.slot) })
      else { return nil }
      return Self.refusal(
        entity, derived.property,
        "\(attribute.name) is itself derived. Use a source attribute that is not derived.")
    }
  }

  private static func refusal(
    _ entity: EntityDescription, _ property: PropertyDescription, _ reason: String
  ) -> ObjectGraphError {
    ObjectGraphError(
      .invalidModel, "\(entity.name).\(property.name) cannot be derived: \(reason)")
  }

  /// Returns the slots of the to-one relationships for which the schema must add an index.
  ///
  /// A relationship needs an index if an attribute is derived from its target, unless an inverse
  /// relationship or a declared index already lists the objects that refer to the target.
  func unlistedReferences(of entity: EntityDescription) -> [Int] {
    var slots: [Int] = []
    for case let relationship? in entity.derived.map(\.relationship) {
      guard case .toOne = relationship.kind, !entity.isMemberReference(relationship),
        !slots.contains(relationship.slot),
        !entity.indexes.contains(where: { $0.slots == [relationship.slot] })
      else { continue }
      slots.append(relationship.slot)
    }
    return slots
  }
}

extension EntityDescription {
  /// Returns whether the attribute in the given slot is derived.
  fileprivate func derives(_ slot: Int) -> Bool { derived.contains { $0.slot == slot } }

  /// Returns whether this entity declares a derived attribute itself instead of inheriting it.
  fileprivate func declares(_ property: PropertyDescription) -> Bool {
    !(superentity?.derives(property.slot) ?? false)
  }
}
