/// A feed that updates the lists of a store context after objects have changed.
///
/// The feed records changes to the context's own objects as they happen. To find other changes, it
/// compares the generation that the lists show with the one that the context reads now. Each
/// changed object is examined once, and only for the lists to which the object may belong.
final class ResultsFeed: ContextFollower {
  /// The lists' store context, which retains this object.
  unowned let storeContext: ManagedObjectContext
  /// The lists of the existing controllers.
  private(set) var lists: [LiveList] = []
  /// The directory of each entity's lists, keyed by entity number.
  ///
  /// The property is `nil` if the directories must be rebuilt, for example because a list was added
  /// or removed. Lists that are always refetched are not in any directory.
  private var directories: [Int: ListDirectory]?
  /// The token of the generation that the lists show.
  private(set) var generation: QueryGenerationToken?
  /// The view of the generation that the lists show, without the context's unsaved changes.
  private(set) var shownView: StoreView?
  /// The view to which the current update advances the lists, or `nil` if no update is in progress.
  private var nextView: StoreView?
  /// The values that the lists show for objects with unsaved changes.
  ///
  /// The value is `nil` for a deleted object.
  private var shown: [ObjectNumber: [StoredValue]?] = [:]
  /// The unchanged objects whose shown relationships omit objects that the context has deleted.
  private var hidingNumbers: Set<ObjectNumber> = []
  /// The objects that changed since the last update.
  private var changed: Set<ManagedObject> = []
  /// A Boolean value that indicates whether every object shown with unsaved changes must be
  /// examined.
  private var mustExamineAll = false
  /// A Boolean value that indicates whether a parent context has changed.
  private var didParentChange = false
  /// The new numbers of objects that were renumbered since the last update, keyed by old number.
  private var renumbered: [ObjectNumber: ObjectNumber] = [:]
  /// The last numbers of the objects that were replaced since the last update.
  private var replaced: Set<ObjectNumber> = []
  private var isUpdating = false
  /// The number of rows and objects examined so far, for use in measurements.
  private(set) var examinedCount = 0
  /// The number of times that a list has evaluated an object, for use in measurements.
  private(set) var evaluationCount = 0

  init(_ storeContext: ManagedObjectContext) { self.storeContext = storeContext }

  // MARK: Lists

  /// Creates a list that this feed keeps up to date.
  ///
  /// - Throws: Any error from reading rows.
  func makeList(_ query: LiveQuery) throws -> LiveList {
    // Update the other lists first, so that all lists show the same state.
    try update()
    let view = try viewOfNewList()
    if shownView == nil { try recordExistingChanges() }
    let list = try storeContext.reading(view) { try newList(query, view) }
    if lists.isEmpty {
      shownView = view
      setGeneration(of: view)
    }
    hidingNumbers.formUnion(
      try storeContext.reading(view) { try objectsHidingDeletions(for: [query]).keys })
    lists.append(list)
    directories = nil
    storeContext.follow(self)
    return list
  }

  /// Returns the view from which to fetch a new list.
  ///
  /// This is the view that the existing lists show. If the new list showed a newer view, the next
  /// update would start there, and the existing lists would miss the changes in between.
  private func viewOfNewList() throws -> StoreView {
    // If that view can no longer be read, use a newer one, because the next update will refetch all
    // lists.
    if !lists.isEmpty, let view = nextView ?? shownView, view.isCurrent { return view }
    return try rootView()
  }

  /// Removes the list of a controller that no longer exists.
  func remove(_ list: LiveList) {
    lists.removeAll { $0 === list }
    directories = nil
    guard lists.isEmpty else { return }
    storeContext.follower = nil
    shownView = nil
    (shown, changed, hidingNumbers) = ([:], [], [])
  }

  /// Records the unsaved changes that were made before the first list was created.
  private func recordExistingChanges() throws {
    changed = []
    shown = [:]
    for object in storeContext.changedObjects {
      if let state = try state(of: object) { shown[state.number] = .some(state.values) }
    }
  }

  // MARK: Reports from the context

  func recordChange(of object: ManagedObject, isRefreshed: Bool) {
    // Skip a refreshed object unless a list shows its unsaved changes, because its other changes
    // are found by comparing the shown generation with the current one.
    if isRefreshed, shown[object.number] == nil { return }
    changed.insert(object)
  }

  func recordChangeOfAllObjects() { mustExamineAll = true }

  func recordParentChange() { didParentChange = true }

  func recordNumber(_ new: ObjectNumber, insteadOf old: ObjectNumber) { renumbered[old] = new }

  func recordReplacement(of number: ObjectNumber) { replaced.insert(number) }

  // MARK: Updating

  /// Updates every list to match what a fetch would return now.
  ///
  /// If rows cannot be read, the lists stay unchanged, and the context records the error as it does
  /// when a fault cannot be loaded.
  func updateLists() {
    do { try update() } catch { storeContext.recordFaultError(error) }
  }

  private func update() throws {
    guard !isUpdating, !lists.isEmpty else { return }
    isUpdating = true
    defer { isUpdating = false }
    // Loading objects during an update may change other objects, so repeat the update until nothing
    // has changed.
    for _ in 0..<Self.roundLimit {
      let view = try rootView()
      let isNews =
        !changed.isEmpty || !renumbered.isEmpty || mustExamineAll || didParentChange
      guard shownView !== view || isNews else { return }
      try storeContext.requireReadable()
      let notifications = try storeContext.reading(view) { try applyChanges(view) }
      for notify in notifications { notify() }
    }
  }

  private static let roundLimit = 10

  /// Returns the current view of the root context, or an empty view if the store was removed.
  private func rootView() throws -> StoreView {
    var top = storeContext
    while let parent = top.parent { top = parent }
    guard !storeContext.model.isRemoved else {
      if let shownView, shownView.isEmpty { return shownView }
      return StoreView(emptyOf: storeContext.model)
    }
    return try top.currentView()
  }

  /// Sets ``generation`` to the generation of the given view.
  private func setGeneration(of view: StoreView) {
    let snapshot = storeContext.parent == nil ? view.snapshot : nil
    generation = snapshot.map { storeContext.group.token($0, of: storeContext.model) }
  }

  /// The changes that an update has prepared, but not applied yet.
  private struct Update {
    let view: StoreView
    /// The changed objects that this update handles.
    let changed: Set<ManagedObject>
    /// The examined objects, or `nil` if all lists are refetched.
    let numbers: Set<ObjectNumber>?
    /// The objects with unsaved changes, and their values.
    let shown: [(number: ObjectNumber, values: [StoredValue]?)]
    let hidingNumbers: Set<ObjectNumber>
  }

  /// Determines the changes and applies them to the lists.
  ///
  /// - Returns: Closures that notify the observers of the changed lists. The caller must call them.
  /// - Throws: Any error from reading rows. If the method throws, no list has changed.
  private func applyChanges(_ view: StoreView) throws -> [() -> Void] {
    nextView = view
    defer { nextView = nil }
    let update: Update
    let recorded = changed
    do {
      update = try preparedUpdate(view)
      // Keep changes made during the update, because `awakeFromFetch` may change other objects.
      changed = changed.count == update.changed.count ? [] : changed.subtracting(update.changed)
      try rereadMembers(among: update.numbers, view)
      // If a fault could not be loaded, throw the error that was recorded.
      try storeContext.requireReadable()
    } catch {
      changed.formUnion(recorded)
      for list in lists { list.discardEdits() }
      throw error
    }
    return commit(update)
  }

  private func preparedUpdate(_ view: StoreView) throws -> Update {
    var numbers: Set<ObjectNumber> = []
    for object in changed { numbers.insert(object.number) }
    for (old, new) in renumbered where shown[old] != nil { numbers.formUnion([old, new]) }
    if mustExamineAll { numbers.formUnion(shown.keys) }
    let difference = try rowDifference(to: view)
    if let difference { numbers.formUnion(difference) }
    // Discard edits that leave the stored value unchanged, as a fetch does (C-05).
    for number in numbers { _ = registered(number).map { storeContext.discardNoOpEdits(of: $0) } }
    let changed = changed
    let hiding = try objectsHidingDeletions(for: lists.map(\.query))
    numbers.formUnion(hidingNumbers.symmetricDifference(hiding.keys))
    let touched = Set(numbers.map(\.entity))
    numbers.formUnion(hiding.keys)
    for list in lists where try list.query.updateNames() { directories = nil }
    let changes = ValueChanges(self, before: shownView, after: view)
    let sorting = entitiesSortedInMemory
    if difference == nil {
      numbers = []
      try rereadBeforeFetch(sorting, view)
    }
    let directories = currentDirectories()
    for number in numbers {
      let rereads = sorting.contains(number.entity)
      try examine(
        number, hiding[number], directories[number.entity], rereads: rereads, view, changes)
    }
    for list in lists {
      list.mustFetch =
        difference == nil || list.query.hasNewNumbers
        || list.query.fetchesAgain
          && (storeContext.parent != nil
            || !list.query.referencedEntities.isDisjoint(with: touched))
    }
    for list in lists {
      try list.prepare { number in
        guard difference == nil || numbers.contains(number) else { return false }
        return try changes.isUpdated(number, list.query)
      }
    }
    let objects =
      difference == nil
      ? Array(storeContext.changedObjects) : numbers.compactMap { registered($0) }
    return Update(
      view: view, changed: changed, numbers: difference == nil ? nil : numbers,
      shown: try objects.compactMap { try state(of: $0) }, hidingNumbers: Set(hiding.keys))
  }

  /// Applies the prepared changes to the lists.
  ///
  /// - Returns: Closures that notify the observers of the changed lists.
  private func commit(_ update: Update) -> [() -> Void] {
    setGeneration(of: update.view)
    let notifications = lists.compactMap { $0.commit() }
    if let numbers = update.numbers {
      for number in numbers { shown[number] = nil }
    } else {
      shown = [:]
    }
    for state in update.shown { shown[state.number] = .some(state.values) }
    (renumbered, replaced, mustExamineAll, didParentChange) = ([:], [], false, false)
    (shownView, hidingNumbers) = (update.view, update.hidingNumbers)
    return notifications
  }

  /// Returns the unchanged objects whose relationships omit objects deleted in the context, or an
  /// empty dictionary if no query depends on such objects.
  private func objectsHidingDeletions(
    for queries: [LiveQuery]
  ) throws -> [ObjectNumber: ManagedObject] {
    guard queries.contains(where: \.showsDeletions), !storeContext.model.isRemoved else {
      return [:]
    }
    return try storeContext.objectsHidingDeletedObjects()
  }

  private func currentDirectories() -> [Int: ListDirectory] {
    if let directories { return directories }
    var lists: [Int: [LiveList]] = [:]
    for list in self.lists where !list.query.fetchesAgain {
      for entity in list.query.entities { lists[entity, default: []].append(list) }
    }
    let new = lists.mapValues { ListDirectory($0) }
    directories = new
    return new
  }

  /// Returns the lists that may contain an object now or may have contained it before the update.
  private func candidates(
    for number: ObjectNumber, isHiding: Bool, _ storage: EntityStorage,
    _ directory: ListDirectory, _ view: StoreView
  ) throws -> [LiveList] {
    // The shown values may be unknown while deleted objects are hidden, so check all lists.
    if directory.coversAll || isHiding || hidingNumbers.contains(number) { return directory.all }
    var search = ListDirectory.Search(directory)
    if let values = shown[number] ?? nil { search.add { values[$0] } }
    if !number.isTemporary {
      for view in [shownView, view] {
        _ = try view?.withRecord(number, storage) { record in
          try search.add { try storage.value($0, record) }
        }
      }
    }
    if let object = registered(number), object.hasChanges, !object.isDeleted {
      try search.add { try object.storedValue(storage.entity.properties[$0]) }
    }
    return search.lists
  }

  /// Evaluates an object against the conditions of the lists that it may belong to.
  ///
  /// - Parameters:
  ///   - hiding: The object if its relationships omit deleted objects, or `nil` otherwise.
  ///   - rereads: Whether to update the object from its row even if no list contains it.
  private func examine(
    _ number: ObjectNumber, _ hiding: ManagedObject?, _ directory: ListDirectory?, rereads: Bool,
    _ view: StoreView, _ changes: ValueChanges
  ) throws {
    examinedCount += 1
    guard let storage = storeContext.model.storage(of: number) else { return }
    let lists =
      try directory.map {
        try candidates(for: number, isHiding: hiding != nil, storage, $0, view)
      } ?? []
    evaluationCount += lists.count
    let isUpdated = { (list: LiveList) in try changes.isUpdated(number, list.query) }
    var isRow = false
    if !number.isTemporary, storeContext.parent == nil {
      _ = try view.withRecord(number, storage) { record in
        isRow = true
        // Look up the object only once, not once for each list.
        let object = registered(number)
        let isLoaded = object.map { !$0.isFault || $0.isInaccessible } ?? false
        // Update an object with unsaved changes from its row before evaluating it, as a fetch does.
        let rereads = rereads || !lists.isEmpty && object?.hasChanges == true
        if isLoaded, rereads { _ = try storeContext.materialize(number, storage, record) }
        let isChanged = object?.hasChanges == true
        var isMember = false
        for list in lists where !isChanged || !list.query.includesPendingChanges {
          let keys =
            if let hiding, list.query.includesPendingChanges {
              try list.query.keys(hiding)
            } else {
              try list.query.keys(number, storage, record)
            }
          try list.recordState(of: number, keys) { try isUpdated(list) }
          if keys != nil, !list.query.isWindowed { isMember = true }
        }
        // Update the object if it is loaded and a list contains it, as a fetch does.
        if isMember, isLoaded, !rereads {
          _ = try storeContext.materialize(number, storage, record)
        }
      }
    }
    if isRow, registered(number)?.hasChanges != true { return }
    for list in lists {
      if let object = changedObject(number, list.query) {
        let keys = object.isDeleted ? nil : try list.query.keys(object)
        try list.recordState(of: number, keys) { try isUpdated(list) }
      } else if !isRow {
        list.recordState(of: number, nil) { false }
      }
    }
  }

  // MARK: Objects

  /// Returns the values to show for an object, or `nil` if it has no unsaved changes.
  private func state(
    of object: ManagedObject
  ) throws -> (number: ObjectNumber, values: [StoredValue]?)? {
    guard object.hasChanges, object.source === storeContext else { return nil }
    return (object.number, object.isDeleted ? nil : try object.columnValues())
  }

  /// Returns the shown values of an object.
  ///
  /// Returns `.some(nil)` if the object is shown as deleted, and `nil` if it is shown without
  /// unsaved changes.
  func shownValues(_ number: ObjectNumber) -> [StoredValue]?? { shown[number] }

  /// Returns whether an attribute or a to-one relationship of an object has changed.
  ///
  /// A reference has changed if another object replaced its target (C-12), but not if the target
  /// was merely renumbered.
  func differ(_ old: [StoredValue], _ new: [StoredValue], _ number: ObjectNumber) -> Bool {
    guard let entity = storeContext.model.storage(of: number)?.entity else { return false }
    return entity.columns.contains { property in
      let slot = property.slot
      guard !old[slot].isIdentical(to: new[slot]) else { return false }
      guard case .toOne = property.kind, let target = old[slot].reference,
        !replaced.contains(target)
      else { return true }
      let current = renumbered[target] ?? target
      return new[slot].reference != storeContext.renumbered.resolved(current, unlessIn: replaced)
    }
  }

  func id(_ number: ObjectNumber) -> ManagedObjectID {
    ManagedObjectID(number, storeContext.model.space)
  }
}
