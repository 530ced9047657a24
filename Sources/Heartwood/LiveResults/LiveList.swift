/// What a request finds, kept as a fetch would find it now.
///
/// It holds the places of objects and what they are sorted by, and objects only after somebody has
/// asked for them. What has changed is told by the ``ResultsFeed`` of its part of the context:
/// first which objects may be in another place, then to take that over.
final class LiveList {
  typealias Entry = ResultsTree.Entry

  /// What is to become of an object.
  private struct Edit {
    let keys: FetchOrder.Keys?
    let isUpdated: Bool
  }

  let query: LiveQuery
  /// The part of the context that the objects are in.
  let part: ManagedObjectContext
  private let feed: ResultsFeed
  private(set) var tree: ResultsTree
  private(set) var sections = SectionCounts()
  /// Whether the tree has all that is found; if not, it is the beginning.
  private var isComplete = true
  /// What each object was when it was looked at, for a list that is always fetched again in a
  /// context below another.
  private var shown: [ObjectNumber: [StoredValue]] = [:]
  private var edits: [ObjectNumber: Edit] = [:]
  var mustFetch = false
  /// Told of each change.
  var didChange: (ResultsChange) -> Void = { _ in }

  /// - Throws: What kept rows from being read.
  init(_ query: LiveQuery, _ feed: ResultsFeed) throws {
    self.query = query
    self.feed = feed
    part = feed.part
    tree = ResultsTree(query.treeOrder)
    let found = try query.fetch(feed.part)
    take(found)
    sections = SectionCounts(tree.entries(in: window), query.sectionTerm)
  }

  /// How many objects the list has.
  var count: Int { window.count }

  /// The places of the tree that belong to the list.
  private var window: Range<Int> {
    let end = query.limit.map { min(query.offset + $0, tree.count) } ?? tree.count
    return min(query.offset, end)..<end
  }

  private func take(_ found: LiveQuery.Found) {
    tree = ResultsTree(query.treeOrder, found.entries)
    isComplete = found.isComplete
    shown = found.values
  }

  // MARK: Objects

  func number(at position: Int) -> ObjectNumber {
    tree.entry(at: window.lowerBound + position).number
  }

  /// The place of an object; `nil` if it is not in the list.
  func position(of number: ObjectNumber) -> Int? {
    guard let position = tree.position(of: number), window.contains(position) else { return nil }
    return position - window.lowerBound
  }

  func id(_ number: ObjectNumber) -> ManagedObjectID { feed.id(number) }

  func numbers() -> [ObjectNumber] { tree.entries(in: window).map(\.number) }

  /// The objects at some places, which are loaded if they were not here.
  func objects(in range: Range<Int>) -> [ManagedObject] {
    let start = window.lowerBound
    let entries = tree.entries(in: start + range.lowerBound..<start + range.upperBound)
    let missing = entries.filter { !isUsable($0) }.map(\.number)
    let loaded = feed.load(missing)
    defer { withExtendedLifetime(loaded) {} }
    return entries.compactMap { entry in
      if let object = entry.object, isUsable(entry) { return object }
      guard let object = feed.part.object(entry.number) else { return nil }
      tree.hold(object, entry.number)
      return object
    }
  }

  private func isUsable(_ entry: Entry) -> Bool {
    guard let object = entry.object else { return false }
    return object.source === feed.part && object.number == entry.number
  }

  // MARK: Changing

  /// Takes down what has become of an object.
  ///
  /// - Parameter isUpdated: Whether a value of it is another; asked only of those in the list.
  func note(
    _ number: ObjectNumber, _ keys: FetchOrder.Keys?, isUpdated: () throws -> Bool
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

  /// Takes over what was taken down.
  ///
  /// - Parameter isUpdated: Whether a value of an object is another than before.
  /// - Returns: What tells of it; `nil` if nothing has changed.
  /// - Throws: What kept rows from being read; the list is as it was then.
  func update(isUpdated: (ObjectNumber) throws -> Bool) throws -> (() -> Void)? {
    defer {
      edits = [:]
      mustFetch = false
    }
    return mustFetch ? try fetchAgain(isUpdated) : try applyEdits()
  }

  private func applyEdits() throws -> (() -> Void)? {
    guard !edits.isEmpty else { return nil }
    let (oldWindow, oldCount) = (window, tree.count)
    var updated: Set<ObjectNumber> = []
    var removed: [ResultsEdits.Placed] = []
    var new: [Entry] = []
    for (number, edit) in edits {
      let before = tree[number]
      if edit.isUpdated { updated.insert(number) }
      if let before, let keys = edit.keys, before.keys.values == keys.values { continue }
      if let before, let position = tree.position(of: number) {
        removed.append(.init(position: position, entry: before))
      }
      if let keys = edit.keys { new.append(Entry(keys: keys, object: before?.object)) }
    }
    for placed in removed { tree.remove(placed.entry.number) }
    var inserted: [ObjectNumber] = []
    for entry in new where isComplete || tree.isBeforeLast(entry.keys) {
      tree.insert(entry)
      inserted.append(entry.number)
    }
    inserted += try refill()
    let edits = ResultsEdits(
      removed: removed, inserted: placed(inserted), areTogether: query.areTogether)
    return change(edits, updated, oldWindow, oldCount)
  }

  private func placed(_ numbers: [ObjectNumber]) -> [ResultsEdits.Placed] {
    numbers.compactMap { number in
      tree.position(of: number).map { .init(position: $0, entry: tree.entry(at: $0)) }
    }
  }

  /// Fetches what is missing at the end of a list with a limit.
  private func refill() throws -> [ObjectNumber] {
    guard !isComplete, let limit = query.limit, tree.count < query.offset + limit else { return [] }
    let found = try query.fetch(feed.part)
    isComplete = found.isComplete
    var new: [ObjectNumber] = []
    for entry in found.entries where tree[entry.number] == nil {
      tree.insert(entry)
      new.append(entry.number)
    }
    return new
  }

  private func fetchAgain(_ isUpdated: (ObjectNumber) throws -> Bool) throws -> (() -> Void)? {
    let found = try query.fetch(feed.part)
    let (oldWindow, before) = (window, shown)
    let entries = tree.entries(in: 0..<tree.count)
    let (edits, stays) = ResultsEdits.between(
      entries, found.entries, areTogether: query.areTogether)
    var updated: Set<ObjectNumber> = []
    for number in stays {
      let isOther =
        try before[number].map {
          !$0.isIdentical(to: found.values[number] ?? [])
        } ?? isUpdated(number)
      if isOther { updated.insert(number) }
    }
    take(found)
    query.noteFetch()
    for entry in entries { entry.object.map { tree.hold($0, entry.number) } }
    return change(edits, updated, oldWindow, entries.count)
  }

  /// How this list differs from an earlier one of the same objects; `nil` if it does not.
  func change(from other: LiveList) -> ResultsChange? {
    let (old, new) = (other.tree.entries(in: other.window), tree.entries(in: window))
    let (edits, _) = ResultsEdits.between(old, new, areTogether: query.areTogether)
    guard !edits.removed.isEmpty || !edits.inserted.isEmpty else { return nil }
    func names(_ list: LiveList) -> [String?] { list.sections.sections.map(\.value.text) }
    return ResultsChange(
      difference: difference(edits.removed, edits.inserted, start: 0), updated: [],
      sectionDifference: names(self).difference(from: names(other)), generation: feed.generation)
  }

  // MARK: Telling

  private func change(
    _ edits: ResultsEdits, _ updated: Set<ObjectNumber>, _ oldWindow: Range<Int>, _ oldCount: Int
  ) -> (() -> Void)? {
    let whole = query.offset..<(query.limit.map { query.offset + $0 } ?? .max)
    let isPart = query.offset > 0 || query.limit != nil
    let (removed, inserted) =
      isPart
      ? edits.within(whole, oldCount: oldCount, tree) : (edits.removed, edits.inserted)
    let stayed = updated.compactMap { number -> (position: Int, number: ObjectNumber)? in
      guard let position = tree.position(of: number), window.contains(position),
        let before = edits.positionBefore(position), oldWindow.contains(before)
      else { return nil }
      return (position, number)
    }
    let sectionChanges =
      query.sectionTerm.map {
        sections.update(removed: removed.map(\.entry), inserted: inserted.map(\.entry), $0)
      } ?? []
    trim()
    guard !removed.isEmpty || !inserted.isEmpty || !stayed.isEmpty else { return nil }
    let change = ResultsChange(
      difference: difference(removed, inserted, start: query.offset),
      updated: stayed.sorted { $0.position < $1.position }.map { feed.id($0.number) },
      sectionDifference: CollectionDifference(sectionChanges) ?? Self.none,
      generation: feed.generation)
    return { [didChange] in didChange(change) }
  }

  private static var none: CollectionDifference<String?> {
    [String?]().difference(from: [])
  }

  private func difference(
    _ removed: [ResultsEdits.Placed], _ inserted: [ResultsEdits.Placed], start: Int
  ) -> CollectionDifference<ManagedObjectID> {
    func offsets(_ all: [ResultsEdits.Placed]) -> [ObjectNumber: Int] {
      Dictionary(uniqueKeysWithValues: all.map { ($0.entry.number, $0.position - start) })
    }
    let (before, after) = (offsets(removed), offsets(inserted))
    let changes =
      removed.map { placed in
        CollectionDifference<ManagedObjectID>.Change.remove(
          offset: placed.position - start, element: feed.id(placed.entry.number),
          associatedWith: after[placed.entry.number])
      }
      + inserted.map { placed in
        .insert(
          offset: placed.position - start, element: feed.id(placed.entry.number),
          associatedWith: before[placed.entry.number])
      }
    guard let difference = CollectionDifference(changes) else {
      preconditionFailure("changes of a list that contradict each other")
    }
    return difference
  }

  /// Lets go of what is far behind the limit.
  private func trim() {
    guard let most = query.mostKept, tree.count > 2 * most else { return }
    isComplete = false
    for entry in tree.entries(in: most..<tree.count) { tree.remove(entry.number) }
  }
}
