extension PersistentContainer {
  /// Returns an object's versions from one generation to another, oldest first.
  ///
  /// The first element is the version in `source`, if the object existed there. The other versions
  /// come from the history and from the readable generations in between. A generation is readable
  /// if it has a name or is held by a process. A version known only from the history has no values.
  /// Without the history, versions between two readable generations are missing.
  ///
  /// - Parameters:
  ///   - id: The ID of the object. The object may have been deleted since.
  ///   - source: The starting generation, which must be the older of the two.
  ///   - target: The final generation, or `.current` for the newest generation.
  /// - Throws: `generationExpired`, `foreignStore`, `removedStore`; `foreignObject` if the object
  ///   belongs to another store or was never saved; `unknownEntity` if the model has no class for
  ///   the object; `corrupt` or `io`.
  /// - Complexity: Reads one row in each readable generation from `source` to `target`, and all
  ///   database pages of the history.
  public func versions(
    of id: ManagedObjectID, from source: QueryGenerationToken,
    to target: QueryGenerationToken = .current
  ) throws -> [ObjectVersion] {
    let wanted = id.space.store
    guard !id.isTemporary, let attached = group.attachedStore(where: { $0.space.store == wanted })
    else {
      throw ObjectGraphError(
        .foreignObject,
        "\(id) does not identify a saved object in this container. Pass the ID of an object that "
          + "has been saved.",
        objectID: id)
    }
    let (store, model) = (attached.store, attached.model)
    guard !model.isRemoved else { throw group.removal(of: model) }
    guard let storage = model.storage(of: id.number) else {
      throw ObjectGraphError(
        .unknownEntity,
        "The object \(id) belongs to a class that is missing from the schema. Add the class to the "
          + "schema.",
        objectID: id)
    }
    let (first, last) = (try attached.snapshot(at: source), try attached.snapshot(at: target))
    var snapshots = [first]
    for live in try store.liveGenerations().map(\.generation)
    where first.generation < live && live < last.generation {
      do {
        snapshots.append(try store.snapshot(at: live))
      } catch let error as StorageError where error.kind == .generationExpired {
        // Skip the generation, because it was released after the list of generations was read.
        continue
      }
    }
    if first.generation < last.generation { snapshots.append(last) }
    let history = try HistoryReader(try store.snapshot(), model).transactions(after: nil)
    return try VersionReader(id, storage, model, snapshots, history).versions()
  }
}
