extension BatchRun {
  /// Adds a change that inserts a row with the default values that the entity declares.
  ///
  /// - Throws: `unknownEntity` if the entity is abstract; `tooLarge` if the entity has run out of
  ///   row IDs.
  func insert(_ entity: EntityDescription) throws -> RowChange {
    guard !entity.isAbstract else {
      throw ObjectGraphError(
        .unknownEntity,
        "\(entity.name) is abstract, so it cannot be instantiated. Insert an object of a subentity "
          + "instead.")
    }
    let storage = model.storage(of: entity)
    let change = RowChange(
      try rows.nextNumber(storage), storage, before: nil, after: try entity.declaredValues())
    change.isNew = true
    changes.add(change)
    return change
  }
}
