extension PersistentContainer {
  /// What an object was from one generation to another, the oldest version first.
  ///
  /// The first is what it was at `source`, if it was there; then comes what each transaction in the
  /// history has left, and what the generations in between show that can be read: those that are
  /// kept by name or held by somebody. So a version may be known by the history only, and have no
  /// values; and without history, versions between two generations that can be read are not known.
  ///
  /// - Parameters:
  ///   - id: The object; it may be deleted since.
  ///   - source: Where to begin, the older of the two.
  ///   - target: Where to end; `.current` for the newest.
  /// - Throws: `generationExpired`, `foreignStore`, `removedStore`; `foreignObject` for an ID of
  ///   another store, or of an object that was never saved; `unknownEntity` if the model has no
  ///   class for it; `corrupt` or `io`.
  /// - Complexity: One row read in each of the generations, and each page of the history.
  public func versions(
    of id: ManagedObjectID, from source: QueryGenerationToken,
    to target: QueryGenerationToken = .current
  ) throws -> [ObjectVersion] {
    let wanted = id.space.store
    guard !id.isTemporary, let member = group.member(where: { $0.space.store == wanted }) else {
      throw ObjectGraphError(.foreignObject, "\(id) is no object of this store.", objectID: id)
    }
    let (store, model) = (member.store, member.model)
    guard !model.isRemoved else { throw group.removal(of: model) }
    guard let storage = model.storage(of: id.number) else {
      throw ObjectGraphError(
        .unknownEntity, "The model has no class for \(id).", objectID: id)
    }
    let (first, last) = (try member.snapshot(at: source), try member.snapshot(at: target))
    var snapshots = [first]
    for live in try store.liveGenerations().map(\.generation)
    where first.generation < live && live < last.generation {
      do {
        snapshots.append(try store.snapshot(at: live))
      } catch let error as StorageError where error.kind == .generationExpired {
        // Whoever held it has let go of it just now.
        continue
      }
    }
    if first.generation < last.generation { snapshots.append(last) }
    let history = try HistoryReader(try store.snapshot(), model).transactions(after: nil)
    return try VersionReader(id, storage, model, snapshots, history).versions()
  }
}
