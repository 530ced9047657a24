/// The edits that turn one version of a list into another version.
///
/// The edits consist of removed entries with their old positions, and inserted entries with their
/// new positions. An entry also counts as having stayed if it was removed and then reinserted
/// without moving past any entry that stayed. For an entry that stayed, the edits can convert its
/// old position to its new position, and vice versa.
struct ResultsEdits {
  typealias Entry = ResultsTree.Entry

  struct Placed {
    let position: Int
    let entry: Entry
  }

  /// The removed entries, in the order of their old positions.
  private(set) var removed: [Placed]
  /// The inserted entries, in the order of their new positions.
  private(set) var inserted: [Placed]
  /// The entries that were removed and reinserted at their old position.
  private(set) var returned: Set<ObjectNumber> = []

  /// Creates the edits, excluding entries that were removed and reinserted at the same position.
  ///
  /// - Parameter areTogether: A closure that returns whether two entries are in the same section.
  init(
    removed: [Placed], inserted: [Placed], areTogether: (Entry, Entry) -> Bool
  ) {
    self.removed = removed.sorted { $0.position < $1.position }
    self.inserted = inserted.sorted { $0.position < $1.position }
    // For each entry, compare how many unmoved entries precede it in the old list and in the new
    // list. The entry could have stayed in place only if these counts are equal.
    let before = Dictionary(
      uniqueKeysWithValues: self.removed.enumerated().map { index, placed in
        (placed.entry.number, (placed: placed, gap: placed.position - index))
      })
    var candidates: [(number: ObjectNumber, position: Int)] = []
    for (index, placed) in self.inserted.enumerated() {
      guard let old = before[placed.entry.number], old.gap == placed.position - index,
        areTogether(old.placed.entry, placed.entry)
      else { continue }
      candidates.append((placed.entry.number, old.placed.position))
    }
    let kept = Self.longestIncreasingSubsequence(candidates.map(\.position))
    returned = Set(kept.map { candidates[$0].number })
    guard !returned.isEmpty else { return }
    self.removed.removeAll { returned.contains($0.entry.number) }
    self.inserted.removeAll { returned.contains($0.entry.number) }
  }

  /// Returns the edits that turn `old` into `new`, and the numbers of the entries that do not move.
  ///
  /// - Parameter areTogether: A closure that returns whether two entries are in the same section.
  /// - Complexity: O(n log n) for lists of n entries.
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
    let stays = Set(longestIncreasingSubsequence(common).map { old[common[$0]].number })
    func moved(_ entries: [Entry]) -> [Placed] {
      entries.enumerated().filter { !stays.contains($1.number) }
        .map { Placed(position: $0, entry: $1) }
    }
    let edits = ResultsEdits(
      removed: moved(old), inserted: moved(new), areTogether: areTogether)
    return (edits, stays)
  }

  /// Returns the indices of the elements that form a longest increasing subsequence.
  ///
  /// If the elements are the old positions of entries in their new order, the entries at the
  /// returned indices need not move. For each length, the method keeps track of the smallest
  /// element that can end an increasing subsequence of that length (C. Schensted, 1961).
  static func longestIncreasingSubsequence(_ elements: [Int]) -> [Int] {
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

  // MARK: Positions of unmoved entries

  /// Converts an entry's old position to its new position, or returns `nil` if the entry was
  /// removed.
  func positionAfter(_ position: Int) -> Int? {
    Self.position(removed, position).map { Self.position(of: $0, inserted) }
  }

  /// Converts an entry's new position to its old position, or returns `nil` if the entry was
  /// inserted.
  func positionBefore(_ position: Int) -> Int? {
    Self.position(inserted, position).map { Self.position(of: $0, removed) }
  }

  /// Returns the number of entries before `position` that stayed in the list, or `nil` if the entry
  /// at `position` did not stay.
  ///
  /// - Parameter others: The entries that did not stay, sorted by position.
  private static func position(_ others: [Placed], _ position: Int) -> Int? {
    let index = firstIndex(others) { $0.position >= position }
    if index < others.count, others[index].position == position { return nil }
    return position - index
  }

  /// Returns the position of an entry that stayed in the list.
  ///
  /// - Parameters:
  ///   - stayed: The number of entries before this entry that also stayed.
  ///   - others: The entries that did not stay, sorted by position.
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

  // MARK: Windows

  /// Returns the edits within a window of the list.
  ///
  /// The result includes entries that moved into or out of the window because entries before the
  /// window were removed or inserted.
  ///
  /// - Parameters:
  ///   - window: The positions of the window, which may extend beyond the list.
  ///   - oldCount: The number of entries in the old list.
  ///   - tree: The new list.
  func within(
    _ window: Range<Int>, oldCount: Int, _ tree: ResultsTree
  ) -> (removed: [Placed], inserted: [Placed]) {
    var left = removed.filter { window.contains($0.position) }
    var entered = inserted.filter { window.contains($0.position) }
    // The maximum number of positions by which the insertions and removals can move another entry.
    let reach = max(removed.count, inserted.count)
    for position in Self.edges(of: window, reach, count: oldCount) {
      guard let after = positionAfter(position), !window.contains(after) else { continue }
      left.append(Placed(position: position, entry: tree.entry(at: after)))
    }
    for position in Self.edges(of: window, reach, count: tree.count) {
      guard let before = positionBefore(position), !window.contains(before) else { continue }
      entered.append(Placed(position: position, entry: tree.entry(at: position)))
    }
    return (left.sorted { $0.position < $1.position }, entered.sorted { $0.position < $1.position })
  }

  private static func edges(of window: Range<Int>, _ reach: Int, count: Int) -> [Int] {
    let end = min(window.upperBound, count)
    guard window.lowerBound < end else { return [] }
    // No entry can move across the start of the list, so skip that edge if the window begins there.
    let head =
      window.lowerBound == 0 ? 0..<0 : window.lowerBound..<min(window.lowerBound + reach, end)
    let tail = max(end - reach, head.upperBound, window.lowerBound)..<end
    return Array(head) + Array(tail)
  }
}
