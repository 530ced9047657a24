/// An attribute that is computed when its object is saved, as the schema has found it.
struct DerivedAttribute {
  let property: PropertyDescription
  let formula: DerivationFormula
  /// What it is computed from; all `nil` if that is the time.
  let attribute: PropertyDescription?
  let relationship: PropertyDescription?
  /// The entity the relationship leads to.
  unowned let destination: EntityDescription?

  var slot: Int { property.slot }
  /// Whether it is computed from objects other than its own.
  var isOverRelationship: Bool { relationship != nil }
  /// Whether it is the time of the save.
  var isTime: Bool { relationship == nil && attribute == nil }

  /// The value, if what it is computed from has these values; `nil` if it does not fit.
  func value(_ sources: [StoredValue]) throws -> StoredValue? {
    let value = try formula.compute(sources.filter { !$0.isNull })
    guard value == .null, case .attribute(_, isOptional: false) = property.kind else {
      return value
    }
    return property.initialValue
  }
}

/// That an attribute elsewhere is computed from objects of an entity.
struct Dependence {
  /// The entity with the derived attribute, and its relationship to these objects.
  unowned let entity: EntityDescription
  let relationship: PropertyDescription
  /// Of the attribute it is computed from; `nil` if it counts the objects only.
  let slot: Int?
}
