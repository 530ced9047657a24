/// Finds what the derived attributes of a schema are computed from.
struct DerivationBuilder {
  let content: Schema.Content

  /// Takes up what an entity declares; its subentities have it too.
  ///
  /// - Throws: `invalidModel`, naming class and property.
  func derive(_ rule: Derived, of entity: EntityDescription) throws(ObjectGraphError) {
    let property = try content.property(rule.attribute, of: entity)
    guard property.isAttribute else {
      throw Self.refusal(entity, property, "it is no attribute that is stored")
    }
    guard !entity.family.contains(where: { $0.derives(property.slot) }) else {
      throw Self.refusal(entity, property, "it is derived already")
    }
    let derived = try source(of: property, rule.formula, entity)
    for member in entity.family { member.derived.append(derived) }
    guard let relationship = derived.relationship, let destination = derived.destination else {
      return
    }
    let dependence = Dependence(
      entity: entity, relationship: relationship, slot: derived.attribute?.slot)
    for member in destination.family { member.dependences.append(dependence) }
  }

  private func source(
    of property: PropertyDescription, _ formula: DerivationFormula, _ entity: EntityDescription
  ) throws(ObjectGraphError) -> DerivedAttribute {
    var relationship: PropertyDescription?
    var destination: EntityDescription?
    if let keyPath = formula.relationship {
      let found = try named(keyPath, of: entity, for: property, of: entity)
      guard found.isRelationship, let type = found.storage.destination else {
        throw Self.refusal(entity, property, "\(found.name) is no relationship that is stored")
      }
      relationship = found
      destination = try content.requiredEntity(of: type)
    }
    let attribute = try formula.attribute.map { keyPath throws(ObjectGraphError) in
      try named(keyPath, of: destination ?? entity, for: property, of: entity)
    }
    if let attribute, !attribute.isAttribute {
      throw Self.refusal(entity, property, "\(attribute.name) is no attribute that is stored")
    }
    return DerivedAttribute(
      property: property, formula: formula, attribute: attribute, relationship: relationship,
      destination: destination)
  }

  /// A property that an attribute is to be computed from.
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

  /// What is computed from something computed: in which order would not be known.
  func failures(of entity: EntityDescription) -> [ObjectGraphError] {
    entity.derived.filter { entity.declares($0.property) }.compactMap { derived in
      guard let attribute = derived.attribute,
        (derived.destination ?? entity).family.contains(where: { $0.derives(attribute.slot) })
      else { return nil }
      return Self.refusal(entity, derived.property, "\(attribute.name) is derived itself")
    }
  }

  private static func refusal(
    _ entity: EntityDescription, _ property: PropertyDescription, _ reason: String
  ) -> ObjectGraphError {
    ObjectGraphError(
      .invalidModel, "\(entity.name).\(property.name) cannot be derived: \(reason).")
  }

  /// The references that need an index, because the other end does not list who refers to it.
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
  /// Whether an attribute is computed.
  fileprivate func derives(_ slot: Int) -> Bool { derived.contains { $0.slot == slot } }

  /// Whether a derived attribute is not inherited as one.
  fileprivate func declares(_ property: PropertyDescription) -> Bool {
    !(superentity?.derives(property.slot) ?? false)
  }
}
