/// A derived attribute in a schema, with the properties from which its value is computed.
struct DerivedAttribute {
  let property: PropertyDescription
  let formula: DerivationFormula
  /// The source attribute, or `nil` if the derived value is the number of related objects or the
  /// time of the save.
  let attribute: PropertyDescription?
  let relationship: PropertyDescription?
  /// The destination of the relationship, or `nil` if there is no relationship.
  unowned let destination: EntityDescription?

  var slot: Int { property.slot }
  /// A Boolean value that indicates whether the sources are related objects rather than the object
  /// itself.
  var isOverRelationship: Bool { relationship != nil }
  /// A Boolean value that indicates whether the source is the time of the save.
  var isTime: Bool { relationship == nil && attribute == nil }

  /// Returns the derived value for the given source values, or `nil` if the value does not fit in
  /// the type of the derived attribute.
  func value(_ sources: [StoredValue]) throws -> StoredValue? {
    let value = try formula.compute(sources.filter { !$0.isNull })
    guard value == .null, case .attribute(_, isOptional: false) = property.kind else {
      return value
    }
    return property.initialValue
  }
}

/// A derived attribute that is computed from the objects of another entity.
///
/// The dependency is stored in the description of the other entity, because a change to that
/// entity's objects requires the attribute to be recomputed.
struct Dependency {
  /// The entity with the derived attribute.
  unowned let entity: EntityDescription
  /// The relationship from `entity` to the source objects.
  let relationship: PropertyDescription
  /// The slot of the source attribute, or `nil` if the derivation only counts the objects.
  let slot: Int?
}
