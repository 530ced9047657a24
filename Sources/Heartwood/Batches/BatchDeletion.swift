extension BatchDeleteRequest: ExecutableBatch {
  var objectType: ManagedObject.Type { M.self }
  var phrase: String { "deleted rows of \(M.self)" }
  var changesRelationships: Bool { true }

  func execute(_ run: inout BatchRun) throws {
    if let objectIDs {
      for number in try numbers(objectIDs, run) { try run.changes.delete(number) }
    } else {
      var request = FetchRequest<M>()
      request.predicate = predicate
      request.includesSubentities = includesSubentities
      let plan = try FetchPlan(request, run.model, run.renumbered)
      for storage in plan.storages {
        try run.forEachRow(plan, storage) { run, number, values in
          let change = RowChange(number, storage, before: values, after: values)
          run.changes.delete(RowChanges.Deletion(change: change))
        }
      }
    }
    try run.flush()
  }

  /// Returns the object numbers of `ids`, in order.
  ///
  /// - Throws: `foreignObject` if an ID does not identify a saved object of this store;
  ///   `unknownEntity` if the IDs do not all belong to the same entity, which must be the entity of
  ///   `M` or one of its subentities.
  private func numbers(_ ids: [ManagedObjectID], _ run: BatchRun) throws -> [ObjectNumber] {
    let model = run.model
    let entity = try model.schema.requiredEntity(of: M.self)
    return try ids.map { id in
      let number = run.renumbered.resolved(id.number)
      guard id.space.store == model.space.store, !number.isTemporary else {
        throw ObjectGraphError(
          .foreignObject,
          "\(id) does not identify an object in this store. Pass only the IDs of objects that have "
            + "been saved in this store.",
          objectID: id)
      }
      guard let storage = model.storage(of: number), storage.entity.isKind(of: entity),
        id.number.entity == ids.first?.number.entity
      else {
        throw ObjectGraphError(
          .unknownEntity,
          "All objects in a batch deletion must belong to the same entity, which must be "
            + "\(entity.name) or one of its subentities. For each entity, create a separate "
            + "request with the entity's class.",
          objectID: id)
      }
      return number
    }
  }
}
