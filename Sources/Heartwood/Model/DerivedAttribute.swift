/// A derived attribute of a schema, with its sources resolved.
struct DerivedAttribute {
  let property: PropertyDescription
  let formula: DerivationFormula
  /// The sources; both `nil` if the source is the time of the save.
  let attribute: PropertyDescription?
  let relationship: PropertyDescription?
  /// The entity that the relationship leads to.
  unowned let destination: EntityDescription?

  var slot: Int { property.slot }
  /// Whether the sources are other objects than the attribute's own.
  var isOverRelationship: Bool { relationship != nil }
  /// Whether the source is the time of the save.
  var isTime: Bool { relationship == nil && attribute == nil }

  /// Returns the value computed from the values of the sources; `nil` if it does not fit.
  func value(_ sources: [StoredValue]) throws -> StoredValue? {
    let value = try formula.compute(sources.filter { !$0.isNull })
    guard value == .null, case .attribute(_, isOptional: false) = property.kind else {
      return value
    }
    return property.initialValue
  }
}

/// An attribute of another entity that is computed from objects of this one.
struct Dependency {
  /// The entity with the derived attribute, and its relationship to these objects.
  unowned let entity: EntityDescription
  let relationship: PropertyDescription
  /// The slot of the source attribute; `nil` if the derivation only counts the objects.
  let slot: Int?
}
