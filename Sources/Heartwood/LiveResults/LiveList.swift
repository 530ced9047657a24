/// The live result of a request, which always equals the result of a new fetch.
///
/// The list stores the order and the sort keys of objects. The list retains an object only after
/// the object has been accessed. The ``ResultsFeed`` of the store context first records the new
/// states of the objects that may have changed. The feed then calls ``prepare(isUpdated:)`` and
/// ``commit()`` to apply these states to the list.
final class LiveList {
  typealias Entry = ResultsTree.Entry

  /// The recorded new state of an object, which has not been applied to the list yet.
  private struct Edit {
    let keys: FetchOrder.Keys?
    let isUpdated: Bool
  }

  /// The changes that an update has prepared, but not applied to the list yet.
  private struct Update {
    var removed: [ResultsEdits.Placed] = []
    var inserted: [Entry] = []
    /// The objects whose values have changed.
    var updated: Set<ObjectNumber> = []
    /// Whether the tree contains the complete result after the update, or `nil` if the update
    /// fetches no additional entries.
    ///
    /// An update fetches entries if the list would otherwise become too short.
    var isComplete: Bool?
    /// The result that replaces the list, or `nil` if the list is not refetched.
    var refetch: Refetch?
  }

  private struct Refetch {
    let before: [Entry]
    let found: LiveQuery.Found
    let edits: ResultsEdits
  }

  let query: LiveQuery
  /// The store context of the objects.
  let storeContext: ManagedObjectContext
  /// The root context, which is retained because it owns the store context.
  private let rootContext: ManagedObjectContext
  let feed: ResultsFeed
  private(set) var tree: ResultsTree
  private var sectionCounts = SectionCounts()
  /// The list's current state, or `nil` if it has not been computed since the list last changed.
  private var knownState: ListState?
  /// A Boolean value that indicates whether the tree contains the complete result rather than only
  /// the beginning.
  private var isComplete = true
  /// The values of each object at the last fetch.
  ///
  /// Values are recorded only for a list in a child context, which is always refetched.
  private var shown: [ObjectNumber: [StoredValue]] = [:]
  private var edits: [ObjectNumber: Edit] = [:]
  private var prepared: Update?
  var mustFetch = false
  /// The closure that is called after each change.
  var didChange: (ResultsChange) -> Void = { _ in }

  /// Creates a list and fetches its entries.
  ///
  /// - Throws: Any error from reading rows.
  init(_ query: LiveQuery, _ feed: ResultsFeed) throws {
    self.query = query
    self.feed = feed
    storeContext = feed.storeContext
    rootContext = feed.storeContext.rootContext
    tree = ResultsTree(query.treeOrder)
    let found = try query.fetch(feed.storeContext)
    adopt(found)
    sectionCounts = SectionCounts(tree.entries(in: window), query.sectionTerm)
  }

  /// The number of objects in the list.
  var count: Int { window.count }

  /// The range of tree positions that the list covers.
  private var window: Range<Int> { fullWindow.clamped(to: 0..<tree.count) }

  /// The range of positions that the request asks for, which may extend beyond the tree.
  private var fullWindow: Range<Int> {
    query.offset..<(query.limit.map { query.offset + $0 } ?? .max)
  }

  private func adopt(_ found: LiveQuery.Found) {
    tree = ResultsTree(query.treeOrder, found.entries)
    isComplete = found.isComplete
    shown = found.values
  }

  // MARK: States

  /// The current state of the list.
  ///
  /// - Complexity: O(1), or O(objects) if objects were removed, inserted or moved since the last
  ///   use.
  var state: ListState {
    if let knownState { return knownState }
    let new = ListState(tree.numbers(in: window), sections)
    knownState = new
    return new
  }

  /// The sections in order, or one section with all objects if there is no section property.
  var sections: [SectionCounts.Section] {
    if query.sectionTerm != nil { return sectionCounts.sections }
    return count > 0 ? [SectionCounts.Section(value: .null, count: count)] : []
  }

  // MARK: Objects

  /// Returns the position of an object, or `nil` if it is not in the list.
  func position(of number: ObjectNumber) -> Int? {
    guard let position = tree.position(of: number), window.contains(position) else { return nil }
    return position - window.lowerBound
  }

  func contains(_ number: ObjectNumber) -> Bool {
    query.isWindowed ? position(of: number) != nil : tree.contains(number)
  }

  /// Returns the current ID of an object that is or was in the list.
  func id(_ number: ObjectNumber) -> ManagedObjectID { feed.id(storeContext.resolved(number)) }

  /// Returns the objects in a range of positions, after loading those that are not in memory.
  func objects(in range: Range<Int>) -> [ManagedObject] {
    let start = window.lowerBound
    let entries = tree.entries(in: start + range.lowerBound..<start + range.upperBound)
    let missing = entries.filter { !isUsable($0) }.map(\.number)
    let loaded = feed.load(missing)
    defer { withExtendedLifetime(loaded) {} }
    return entries.compactMap { entry in
      if let object = entry.object, isUsable(entry) { return object }
      guard let object = storeContext.object(entry.number) else { return nil }
      tree.hold(object, entry.number)
      return object
    }
  }

  /// Returns an object that the list contains in the given state.
  ///
  /// If the object is not in memory, the method loads the object. If there is no row to load, the
  /// result is a fault.
  func object(_ number: ObjectNumber, of state: ListState) -> ManagedObject? {
    storeContext.confinement?.enter()
    defer { storeContext.confinement?.leave() }
    let number = storeContext.resolved(number)
    if let object = heldObject(number, of: state) { return object }
    let known = storeContext.registeredObject(number) ?? feed.load([number]).first
    guard let object = known ?? storeContext.object(number) else { return nil }
    if !tree.hold(object, number) { state.formerObjects[number] = object }
    return object
  }

  /// Returns objects that the list contains in the given state, after loading those that are not in
  /// memory.
  func objects(_ numbers: ArraySlice<ObjectNumber>, of state: ListState) -> [ManagedObject] {
    let missing = numbers.map { storeContext.resolved($0) }.filter {
      heldObject($0, of: state) == nil && storeContext.registeredObject($0) == nil
    }
    let loaded = feed.load(missing)
    defer { withExtendedLifetime(loaded) {} }
    return numbers.compactMap { object($0, of: state) }
  }

  static func reportMissing(_ position: Int) -> Never {
    // Use `fatalError`, because `precondition` would drop the message in a release build.
    fatalError("Position \(position) is not in the list. Pass a position from 0 to count - 1.")
  }

  private func heldObject(_ number: ObjectNumber, of state: ListState) -> ManagedObject? {
    guard let object = tree[number]?.object ?? state.formerObjects[number],
      isUsable(object, number)
    else { return nil }
    return object
  }

  private func isUsable(_ entry: Entry) -> Bool {
    entry.object.map { isUsable($0, entry.number) } ?? false
  }

  private func isUsable(_ object: ManagedObject, _ number: ObjectNumber) -> Bool {
    object.source === storeContext && object.number == number
  }

  // MARK: Updates

  /// Records the new state of an object.
  ///
  /// - Parameters:
  ///   - number: The number of the object.
  ///   - keys: The new sort keys of the object, or `nil` if the object does not match the request.
  ///   - isUpdated: A closure that returns whether a value of the object has changed. The list
  ///     calls the closure only for objects that it contains.
  func recordState(
    of number: ObjectNumber, _ keys: FetchOrder.Keys?, isUpdated: () throws -> Bool
  ) rethrows {
    let before = tree[number]
    guard before != nil || keys != nil else { return }
    if before?.keys.values == keys?.values, before != nil {
      if try isUpdated() { edits[number] = Edit(keys: keys, isUpdated: true) }
    } else {
      edits[number] = Edit(
        keys: keys, isUpdated: try before != nil && keys != nil && isUpdated())
    }
  }

  /// Discards the recorded states and the prepared changes.
  func discardEdits() { (edits, prepared, mustFetch) = ([:], nil, false) }

  /// Determines the changes that ``commit()`` applies to the list.
  ///
  /// This method does not change the list itself.
  ///
  /// - Parameter isUpdated: A closure that returns whether a value of an object has changed.
  /// - Throws: Any error from reading rows.
  func prepare(isUpdated: (ObjectNumber) throws -> Bool) throws {
    prepared = mustFetch ? try preparedRefetch(isUpdated) : try preparedEdits()
  }

  private func preparedEdits() throws -> Update? {
    guard !edits.isEmpty else { return nil }
    var update = Update()
    for (number, edit) in edits {
      let before = tree[number]
      if edit.isUpdated { update.updated.insert(number) }
      if let before, let keys = edit.keys, before.keys.values == keys.values { continue }
      if let before, let position = tree.position(of: number) {
        update.removed.append(.init(position: position, entry: before))
      }
      if let keys = edit.keys { update.inserted.append(Entry(keys: keys, object: before?.object)) }
    }
    guard !isComplete, let limit = query.limit else { return update }
    // Objects beyond the last entry of the list are not known, so drop new entries that belong
    // there.
    let last = lastEntry(without: update.removed)
    update.inserted.removeAll { entry in
      !(last.map { tree.areInOrder(entry.keys, $0.keys) } ?? false)
    }
    let count = tree.count - update.removed.count + update.inserted.count
    if count < query.offset + limit {
      let found = try query.fetch(feed.storeContext)
      let removed = Set(update.removed.map(\.entry.number))
      let inserted = Set(update.inserted.map(\.number))
      update.inserted += found.entries.filter { entry in
        !inserted.contains(entry.number)
          && (removed.contains(entry.number) || !tree.contains(entry.number))
      }
      update.isComplete = found.isComplete
    }
    return update
  }

  /// Returns the last entry of the tree that is not one of the given entries, or `nil` if there is
  /// none.
  private func lastEntry(without removed: [ResultsEdits.Placed]) -> Entry? {
    let positions = Set(removed.map(\.position))
    return (0..<tree.count).last { !positions.contains($0) }.map { tree.entry(at: $0) }
  }

  private func preparedRefetch(_ isUpdated: (ObjectNumber) throws -> Bool) throws -> Update {
    let found = try query.fetch(feed.storeContext)
    let entries = tree.entries(in: 0..<tree.count)
    let (edits, stays) = ResultsEdits.between(
      entries, found.entries, areTogether: query.areTogether)
    var update = Update()
    for number in stays {
      let isOther =
        if let before = shown[number], let after = found.values[number] {
          feed.differ(before, after, number)
        } else {
          try isUpdated(number)
        }
      if isOther { update.updated.insert(number) }
    }
    update.refetch = Refetch(before: entries, found: found, edits: edits)
    return update
  }

  /// Returns the objects that will be in the list after ``commit()``, limited to those that are new
  /// or may have changed.
  ///
  /// - Parameter numbers: The objects that may have changed, or `nil` for all objects.
  func preparedMembers(among numbers: Set<ObjectNumber>?) -> [ObjectNumber] {
    if let found = prepared?.refetch?.found.entries {
      return found[fullWindow.clamped(to: 0..<found.count)].map(\.number).filter { number in
        numbers?.contains(number) != false || !contains(number)
      }
    }
    var entering: [ObjectNumber] = []
    let (update, oldCount) = (prepared ?? Update(), tree.count)
    if !update.removed.isEmpty || !update.inserted.isEmpty {
      let edits = apply(update).within(fullWindow, oldCount: oldCount, tree)
      entering = edits.inserted.map(\.entry.number)
    }
    // The list must not change before `commit()`, so undo these changes before returning.
    defer {
      for entry in update.inserted { tree.remove(entry.number) }
      for placed in update.removed { tree.insert(placed.entry) }
    }
    return entering + (numbers ?? []).filter { contains($0) }
  }

  /// Applies the prepared changes.
  ///
  /// - Returns: A function that notifies the observer, or `nil` if nothing has changed.
  func commit() -> (() -> Void)? {
    let update = prepared
    discardEdits()
    guard let update else { return nil }
    let (oldWindow, oldCount) = (window, tree.count)
    let edits = update.refetch.map { replace($0) } ?? apply(update)
    if let isComplete = update.isComplete { self.isComplete = isComplete }
    return change(edits, update.updated, oldWindow, oldCount)
  }

  private func apply(_ update: Update) -> ResultsEdits {
    for placed in update.removed { tree.remove(placed.entry.number) }
    for entry in update.inserted { tree.insert(entry) }
    return ResultsEdits(
      removed: update.removed, inserted: placed(update.inserted.map(\.number)),
      areTogether: query.areTogether)
  }

  private func placed(_ numbers: [ObjectNumber]) -> [ResultsEdits.Placed] {
    numbers.compactMap { number in
      tree.position(of: number).map { .init(position: $0, entry: tree.entry(at: $0)) }
    }
  }

  private func replace(_ refetch: Refetch) -> ResultsEdits {
    adopt(refetch.found)
    query.markFetched()
    for case (let object?, let number) in refetch.before.map({ ($0.object, $0.number) }) {
      tree.hold(object, number)
    }
    return refetch.edits
  }

  /// Returns the change from an earlier list to this list, or `nil` if no objects were removed,
  /// inserted or moved.
  func change(from other: LiveList) -> ResultsChange? {
    let (old, new) = (other.tree.entries(in: other.window), tree.entries(in: window))
    let (edits, _) = ResultsEdits.between(old, new, areTogether: query.areTogether)
    guard !edits.removed.isEmpty || !edits.inserted.isEmpty else { return nil }
    func names(_ list: LiveList) -> [String?] { list.sectionCounts.sections.map(\.value.text) }
    return ResultsChange(
      difference: difference(edits.removed, edits.inserted, start: 0), updated: [],
      sectionDifference: names(self).difference(from: names(other)), generation: feed.generation)
  }

  // MARK: Notifications

  private func change(
    _ edits: ResultsEdits, _ updated: Set<ObjectNumber>, _ oldWindow: Range<Int>, _ oldCount: Int
  ) -> (() -> Void)? {
    let (removed, inserted) =
      query.isWindowed
      ? edits.within(fullWindow, oldCount: oldCount, tree) : (edits.removed, edits.inserted)
    let stayed = updated.compactMap { number -> (position: Int, number: ObjectNumber)? in
      guard let position = tree.position(of: number), window.contains(position),
        let before = edits.positionBefore(position), oldWindow.contains(before)
      else { return nil }
      return (position, number)
    }
    let sectionChanges =
      query.sectionTerm.map {
        sectionCounts.update(removed: removed.map(\.entry), inserted: inserted.map(\.entry), $0)
      } ?? []
    trim()
    if !removed.isEmpty || !inserted.isEmpty { knownState = nil }
    guard !removed.isEmpty || !inserted.isEmpty || !stayed.isEmpty else { return nil }
    let change = ResultsChange(
      difference: difference(removed, inserted, start: query.offset),
      updated: stayed.sorted { $0.position < $1.position }.map { feed.id($0.number) },
      sectionDifference: CollectionDifference(sectionChanges) ?? Self.none,
      generation: feed.generation)
    return { [didChange] in didChange(change) }
  }

  /// Discards entries far beyond the limit.
  private func trim() {
    guard let most = query.maxKeptCount, tree.count > 2 * most else { return }
    isComplete = false
    for entry in tree.entries(in: most..<tree.count) { tree.remove(entry.number) }
  }
}
