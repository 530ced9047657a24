// This extension finds and loads the objects of lists, and rereads loaded objects as a fetch does
// (F-09).
extension ResultsFeed {
  func registered(_ number: ObjectNumber) -> ManagedObject? {
    storeContext.registered[number]?.takeUnretainedValue()
  }

  /// Returns the object with the given number, or `nil` if the object has no unsaved changes or the
  /// query excludes such changes.
  func changedObject(_ number: ObjectNumber, _ query: LiveQuery) -> ManagedObject? {
    guard query.includesPendingChanges, let object = registered(number), object.hasChanges else {
      return nil
    }
    return object
  }

  /// Loads objects from the generation that the lists show, reading the rows of each entity in
  /// ascending order.
  ///
  /// - Returns: The loaded objects, in no particular order. The caller must retain them.
  func load(_ numbers: [ObjectNumber]) -> [ManagedObject] {
    guard storeContext.parent == nil, let shownView, shownView.isCurrent else { return [] }
    var loaded: [ManagedObject] = []
    do {
      for (_, some) in Dictionary(grouping: numbers.filter { !$0.isTemporary }, by: \.entity) {
        guard let storage = storeContext.model.storage(of: some[0]) else { continue }
        let sorted = some.sorted()
        try shownView.objects(storage)?.forEach(of: sorted.map(\.row)) { position, value in
          _ = try value?.withRecord(storage.layouts) { record in
            try storeContext.materialize(sorted[position], storage, record).map {
              loaded.append($0)
            }
          }
        }
      }
    } catch {
      storeContext.recordFaultError(error)
    }
    return loaded
  }

  /// The entities whose loaded objects affect the order of a list that sorts objects by their
  /// values in memory.
  var entitiesSortedInMemory: Set<Int> {
    lists.reduce(into: []) { entities, list in
      if list.query.sortsObjects { entities.formUnion(list.query.referencedEntities) }
    }
  }

  /// Rereads the loaded objects that determine which objects a list contains, and in which order.
  ///
  /// The feed calls this method when it refetches the lists instead of examining each changed
  /// object.
  ///
  /// - Parameter sorting: The entities whose objects are used to sort lists in memory.
  /// - Precondition: The store context has no parent.
  func rereadBeforeFetch(_ sorting: Set<Int>, _ view: StoreView) throws {
    let listed = lists.reduce(into: Set<Int>()) { $0.formUnion($1.query.entities) }
    let objects = storeContext.allRegistered().filter { object in
      guard !object.isFault || object.isInaccessible else { return false }
      let entity = object.number.entity
      return sorting.contains(entity) || object.hasChanges && listed.contains(entity)
    }
    try storeContext.reread(objects.map(\.number), in: view)
  }

  /// Creates a list, and rereads the loaded objects that it contains.
  func newList(_ query: LiveQuery, _ view: StoreView) throws -> LiveList {
    let list = try LiveList(query, self)
    if storeContext.parent == nil {
      // Iterate over the list or over the registered objects, whichever is the smaller collection.
      let candidates =
        list.count < storeContext.registered.count
        ? list.state.numbers.compactMap { registered($0) }
        : storeContext.allRegistered().filter { list.contains($0.number) }
      let loaded = candidates.filter { !$0.isFault && !$0.hasChanges }
      try storeContext.reread(loaded.map(\.number), in: view)
    }
    return list
  }

  /// Rereads the loaded objects that the lists will contain once the prepared changes are
  /// committed.
  ///
  /// - Parameter numbers: The objects that may have changed, or `nil` for all objects.
  func rereadMembers(among numbers: Set<ObjectNumber>?, _ view: StoreView) throws {
    guard storeContext.parent == nil else { return }
    var members: Set<ObjectNumber> = []
    // Consider only refetched and windowed lists, because all other lists have already reread their
    // objects.
    for list in lists where list.mustFetch || list.query.isWindowed {
      members.formUnion(
        list.preparedMembers(among: numbers).filter { number in
          registered(number).map { !$0.isFault && !$0.hasChanges } ?? false
        })
    }
    try storeContext.reread(Array(members), in: view)
  }
}
