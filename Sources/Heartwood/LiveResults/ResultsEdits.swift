/// What was taken out of a list and put into it, each with its place before or after.
///
/// An entry that was only put where it had been, among those that stayed, counts as one of these.
/// From this alone, places before and after can be told apart for all others.
struct ResultsEdits {
  typealias Entry = ResultsTree.Entry

  struct Placed {
    let position: Int
    let entry: Entry
  }

  /// By their places before.
  private(set) var removed: [Placed]
  /// By their places after.
  private(set) var inserted: [Placed]
  /// What was taken out and put back where it was.
  private(set) var returned: Set<ObjectNumber> = []

  /// - Parameter areTogether: Whether an entry is in the section that it was in.
  init(
    removed: [Placed], inserted: [Placed], areTogether: (Entry, Entry) -> Bool
  ) {
    self.removed = removed.sorted { $0.position < $1.position }
    self.inserted = inserted.sorted { $0.position < $1.position }
    // What is behind as many of those that stayed as before can be one of them.
    let before = Dictionary(
      uniqueKeysWithValues: self.removed.enumerated().map { index, placed in
        (placed.entry.number, (place: placed, gap: placed.position - index))
      })
    var candidates: [(number: ObjectNumber, position: Int)] = []
    for (index, placed) in self.inserted.enumerated() {
      guard let old = before[placed.entry.number], old.gap == placed.position - index,
        areTogether(old.place.entry, placed.entry)
      else { continue }
      candidates.append((placed.entry.number, old.place.position))
    }
    let kept = Self.longestRise(candidates.map(\.position))
    returned = Set(kept.map { candidates[$0].number })
    guard !returned.isEmpty else { return }
    self.removed.removeAll { returned.contains($0.entry.number) }
    self.inserted.removeAll { returned.contains($0.entry.number) }
  }

  /// What leads from one list to another, and who need not move.
  ///
  /// - Complexity: O(entries · log entries), less where most are in the same order.
  static func between(
    _ old: [Entry], _ new: [Entry], areTogether: (Entry, Entry) -> Bool
  ) -> (edits: ResultsEdits, stays: Set<ObjectNumber>) {
    let positions = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1.number, $0) })
    let common = new.compactMap { entry -> Int? in
      guard let position = positions[entry.number], areTogether(old[position], entry) else {
        return nil
      }
      return position
    }
    let stays = Set(longestRise(common).map { old[common[$0]].number })
    func moved(_ entries: [Entry]) -> [Placed] {
      entries.enumerated().filter { !stays.contains($1.number) }
        .map { Placed(position: $0, entry: $1) }
    }
    let edits = ResultsEdits(
      removed: moved(old), inserted: moved(new), areTogether: areTogether)
    return (edits, stays)
  }

  /// The indices of as many elements as can be that rise: those that need not move.
  ///
  /// Each pile ends with the least element that so many can rise to (C. Schensted, 1961).
  static func longestRise(_ elements: [Int]) -> [Int] {
    var piles: [Int] = []
    var previous: [Int?] = []
    for (index, element) in elements.enumerated() {
      var (lower, upper) = (0, piles.count)
      while lower < upper {
        let middle = (lower + upper) / 2
        if elements[piles[middle]] < element { lower = middle + 1 } else { upper = middle }
      }
      previous.append(lower > 0 ? piles[lower - 1] : nil)
      if lower == piles.count { piles.append(index) } else { piles[lower] = index }
    }
    var result: [Int] = []
    var next = piles.last
    while let index = next {
      result.append(index)
      next = previous[index]
    }
    return result.reversed()
  }

  // MARK: Places of those that stayed

  /// Where an entry is that was at a place and stayed; `nil` if that one was taken out.
  func positionAfter(_ position: Int) -> Int? {
    Self.position(removed, position).map { Self.position(of: $0, inserted) }
  }

  /// Where an entry was that is at a place; `nil` if that one was put in.
  func positionBefore(_ position: Int) -> Int? {
    Self.position(inserted, position).map { Self.position(of: $0, removed) }
  }

  /// How many of those that stayed are before a place; `nil` if what is there did not stay.
  private static func position(_ others: [Placed], _ position: Int) -> Int? {
    let index = firstIndex(others) { $0.position >= position }
    if index < others.count, others[index].position == position { return nil }
    return position - index
  }

  /// The place that has so many of those that stayed before it.
  private static func position(of stayed: Int, _ others: [Placed]) -> Int {
    var (lower, upper) = (0, others.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if others[middle].position - middle > stayed { upper = middle } else { lower = middle + 1 }
    }
    return stayed + lower
  }

  private static func firstIndex(_ all: [Placed], _ test: (Placed) -> Bool) -> Int {
    var (lower, upper) = (0, all.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if test(all[middle]) { upper = middle } else { lower = middle + 1 }
    }
    return lower
  }

  // MARK: A part of the list

  /// The same for a part of the list: what has left it and what has come into it, be it only that
  /// others before it were taken out or put in.
  ///
  /// - Parameters:
  ///   - window: The places of the part; its end may be behind that of the list.
  ///   - oldCount: How many entries there were.
  ///   - tree: The list as it is now.
  func within(
    _ window: Range<Int>, oldCount: Int, _ tree: ResultsTree
  ) -> (removed: [Placed], inserted: [Placed]) {
    var left = removed.filter { window.contains($0.position) }
    var came = inserted.filter { window.contains($0.position) }
    // Nobody has moved on further than that.
    let reach = max(removed.count, inserted.count)
    for position in Self.edges(of: window, reach, count: oldCount) {
      guard let after = positionAfter(position), !window.contains(after) else { continue }
      left.append(Placed(position: position, entry: tree.entry(at: after)))
    }
    for position in Self.edges(of: window, reach, count: tree.count) {
      guard let before = positionBefore(position), !window.contains(before) else { continue }
      came.append(Placed(position: position, entry: tree.entry(at: position)))
    }
    return (left.sorted { $0.position < $1.position }, came.sorted { $0.position < $1.position })
  }

  private static func edges(of window: Range<Int>, _ reach: Int, count: Int) -> [Int] {
    let end = min(window.upperBound, count)
    guard window.lowerBound < end else { return [] }
    // Nothing is before the first of all, nor behind the end of a list that is all there is.
    let head =
      window.lowerBound == 0 ? 0..<0 : window.lowerBound..<min(window.lowerBound + reach, end)
    let tail = max(end - reach, head.upperBound, window.lowerBound)..<end
    return Array(head) + Array(tail)
  }
}
