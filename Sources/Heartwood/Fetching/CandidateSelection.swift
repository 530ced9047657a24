/// The objects that a fetch has found so far and may return.
struct CandidateSelection {
  typealias Candidate = ManagedObjectContext.Candidate

  private let plan: FetchPlan
  /// The number of leading objects that are skipped and therefore not added as candidates.
  let skippedCount: Int
  /// A Boolean value that indicates whether candidates arrive in the order of the plan.
  let areInOrder: Bool
  /// A Boolean value that indicates whether the sort keys of candidates must be computed.
  let needsKeys: Bool
  /// A Boolean value that indicates whether the requested content of rows is read immediately.
  ///
  /// Otherwise, the content is read at the end, when most candidates may already have been dropped.
  private let readsContentAtOnce: Bool
  private(set) var candidates: [Candidate] = []
  /// The number of leading sort terms whose values are equal within a group of candidates, or `nil`
  /// if candidates do not arrive in groups.
  private let leadingTermCount: Int?
  /// The sort keys of the last candidate, if candidates arrive in groups.
  private var lastKeys: FetchOrder.Keys?

  /// The sort keys of the last candidate within the limit, as of the most recent sort.
  ///
  /// A new candidate that sorts after these keys cannot belong to the result.
  private var lastWanted: FetchOrder.Keys?

  /// The number of candidates in excess of twice the limit that triggers sorting.
  private static let maxSpareCount = 256

  init(
    _ search: RowSearch, _ content: ManagedObjectContext.CandidateContent, keepsKeys: Bool
  ) {
    let (plan, path) = (search.plan, search.path)
    self.plan = plan
    skippedCount = search.skippedCount
    leadingTermCount = path.leadingTermCount
    areInOrder =
      plan.order != nil
      && (!plan.needsSorting || path.direction != nil && path.leadingTermCount == nil)
    needsKeys = plan.order != nil && (keepsKeys || !areInOrder)
    let needsNoContent = if case .number = content { true } else { false }
    readsContentAtOnce = needsNoContent || areInOrder || plan.order == nil || plan.limit == nil
  }

  /// A Boolean value that indicates whether the content of the next candidate is read immediately.
  ///
  /// The content is not read immediately if the offset will probably exclude the candidate.
  var completesAtOnce: Bool {
    readsContentAtOnce && (!areInOrder || skippedCount + candidates.count >= plan.offset)
  }

  /// Adds a candidate, unless the limit already excludes it.
  ///
  /// - Returns: `false` if no more candidates are needed.
  mutating func add(_ candidate: Candidate) -> Bool {
    if isBehindLimit(candidate) { return false }
    if let lastWanted, let keys = candidate.keys, plan.order?.areInOrder(keys, lastWanted) != true {
      return true
    }
    candidates.append(candidate)
    guard let limit = plan.limit, plan.order != nil else { return true }
    if areInOrder { return skippedCount + candidates.count < limit }
    // Sort only after many candidates have been added, so that the amortised cost per row is
    // constant.
    if candidates.count >= Self.maxSpareCount, (candidates.count - Self.maxSpareCount) / 2 >= limit
    {
      plan.sort(&candidates, areInOrder: false, keeping: 0..<limit)
      lastWanted = candidates.last?.keys
    }
    return true
  }
}

extension CandidateSelection {
  /// Returns whether the limit was reached in a group that precedes the candidate's group.
  ///
  /// If so, neither this candidate nor any later candidate belongs to the result.
  private mutating func isBehindLimit(_ candidate: Candidate) -> Bool {
    guard let leadingTermCount, let limit = plan.limit, let order = plan.order,
      let keys = candidate.keys
    else { return false }
    defer { lastKeys = keys }
    guard let lastKeys, candidates.count >= limit else { return false }
    return !order.areTogether(lastKeys, keys, termCount: leadingTermCount)
  }
}

extension FetchPlan {
  /// Sorts candidates in the plan's order, and removes those excluded by the plan's offset and
  /// limit.
  ///
  /// The method does nothing if sorting requires comparing objects.
  ///
  /// - Parameter skippedCount: The number of leading objects that are not among the candidates.
  func page(
    _ candidates: inout [ManagedObjectContext.Candidate], areInOrder: Bool, skippedCount: Int
  ) {
    let end = limit ?? .max
    let start = min(offset, end)
    sort(
      &candidates, areInOrder: areInOrder, keeping: start - skippedCount..<end - skippedCount)
  }

  /// Sorts candidates in the plan's order, and removes those whose positions are not in `range`.
  ///
  /// The method does nothing if sorting requires comparing objects.
  fileprivate func sort(
    _ candidates: inout [ManagedObjectContext.Candidate], areInOrder: Bool,
    keeping range: Range<Int>
  ) {
    guard let order else { return }
    let range = range.clamped(to: candidates.indices)
    if areInOrder {
      candidates.removeLast(candidates.count - range.upperBound)
      candidates.removeFirst(range.lowerBound)
      return
    }
    let keys = candidates.map { candidate in
      guard let keys = candidate.keys else {
        preconditionFailure("A row was selected for sorting without its sort keys.")
      }
      return keys
    }
    let positions = order.positions(of: keys)
    if range != candidates.indices {
      candidates = positions[range].map { candidates[$0] }
    } else {
      candidates.arrange(positions)
    }
  }
}
