import Foundation

/// A helper that computes derived attributes while a transaction writes rows.
struct DerivedValues {
  let rows: RowWriter
  let model: StoreModel
  /// The time of the save, which is the same for all saved objects.
  let time: StoredValue

  init(_ rows: RowWriter, _ model: StoreModel) {
    self.rows = rows
    self.model = model
    time = Date().storedValue
  }

  /// Returns the value of a derived attribute for an object with the given values.
  ///
  /// - Parameter row: A closure that returns the values that another object's row will have at
  ///   commit, or `nil` if that row will not exist.
  func value(
    of derived: DerivedAttribute, _ number: ObjectNumber, _ values: [StoredValue],
    _ storage: EntityStorage, row: (ObjectNumber, EntityStorage) throws -> [StoredValue]?
  ) throws -> StoredValue {
    guard let relationship = derived.relationship else {
      let source = derived.attribute.map { values[$0.slot] } ?? time
      return try result(derived, [source], number, storage)
    }
    let related = try related(by: relationship, number, values, storage)
    guard let attribute = derived.attribute else {
      return try result(derived, related.map { .integer($0.bits) }, number, storage)
    }
    let sources = try related.compactMap { other -> StoredValue? in
      // Skip a target that has no row or does not belong to the destination entity. The reference
      // may be dangling, because another context may have deleted its target.
      guard let there = model.storage(of: other), let destination = derived.destination,
        there.entity.isKind(of: destination)
      else { return nil }
      return try row(other, there)?[attribute.slot]
    }
    return try result(derived, sources, number, storage)
  }

  /// Returns the numbers of the objects to which a relationship refers.
  private func related(
    by relationship: PropertyDescription, _ number: ObjectNumber, _ values: [StoredValue],
    _ storage: EntityStorage
  ) throws -> [ObjectNumber] {
    guard case .toOne = relationship.kind else {
      return try rows.numbers(
        in: model.memberKeyspace(relationship, of: storage.entity), of: number)
    }
    guard case .integer(let bits) = values[relationship.slot] else { return [] }
    return [ObjectNumber(bits: bits)]
  }

  private func result(
    _ derived: DerivedAttribute, _ sources: [StoredValue], _ number: ObjectNumber,
    _ storage: EntityStorage
  ) throws -> StoredValue {
    if let value = try derived.value(sources) { return value }
    throw ObjectGraphError(
      .validation,
      "The \(derived.formula.name) does not fit in the type of \(storage.entity.name)."
        + "\(derived.property.name). Declare the attribute with a wider type.",
      objectID: ManagedObjectID(number, model.space))
  }
}
