/// A way to find the rows that match a fetch plan.
struct AccessPath {
  enum Kind {
    /// A full scan of the rows of every entity in the plan.
    case everyRow
    /// Lookups of the rows with the given object numbers.
    case objects([ObjectNumber])
    /// Lookups of the rows to which the entries of an index refer.
    case index(IndexUse)
    /// Lookups of the rows that appear in every one of the given indexes.
    case all([IndexUse])
    /// Lookups of the rows that a text index finds for a search.
    case text(TextSearch)
  }

  let kind: Kind
  /// A Boolean value that indicates whether index entries are read backwards, or `nil` if rows are
  /// not read in index order.
  var direction: Bool?
  /// The number of leading sort terms that determine the order in which the path yields rows.
  ///
  /// The property is `nil` if the path orders rows by all of the terms or by none.
  var leadingTermCount: Int?
  /// The estimated number of rows to examine.
  let rowCount: Double
  /// The estimated cost, as a multiple of the cost of reading one row sequentially.
  let cost: Double
}

/// A planner that chooses the cheapest access path for a plan.
///
/// The planner uses the trees of the indexes to estimate how many rows each index yields. The store
/// therefore needs no statistics. The unit of cost is reading one row sequentially and checking it
/// against the conditions. The costs were measured once, and are accurate to within a factor of two
/// on the tested machines.
struct AccessPlanner {
  /// The cost of an index entry that is read sequentially.
  private static let entryCost = 0.3
  /// The cost of a row lookup by number.
  private static let lookupCost = 2.0
  /// The assumed selectivity of a condition for which no estimate is available.
  private static let unknownShare = 0.4
  /// The number of index entries whose rows can be looked up in less time than the planner needs to
  /// compare more access paths.
  private static let fewEntries = 8

  let plan: FetchPlan
  let view: StoreView
  let model: StoreModel

  func best() throws -> AccessPath {
    if let numbers = plan.namedNumbers {
      return AccessPath(
        kind: .objects(numbers), rowCount: Double(numbers.count), cost: Double(numbers.count))
    }
    let possible = plan.indexUses(model)
    // Choose a single unique lookup without estimating other paths, because no path is cheaper, and
    // the estimates would take longer than the lookup.
    if let use = possible.first(where: { $0.keys.count == 1 }) {
      return AccessPath(kind: .index(use), rowCount: 1, cost: 1)
    }
    if let search = plan.textSearch {
      // Choose the text index, because every other path would have to evaluate the search as well.
      return AccessPath(kind: .text(search), rowCount: 0, cost: 0)
    }
    let all = try plan.storages.reduce(0) { $0 + (try view.objects($1)?.count() ?? 0) }
    var uses: [Candidate] = []
    for use in possible {
      let count = try use.estimatedCount(view)
      if count <= Self.fewEntries, !use.slots.isEmpty, Self.cost(of: Double(count)) < Double(all) {
        return AccessPath(
          kind: .index(use), rowCount: Double(count), cost: Self.cost(of: Double(count)))
      }
      uses.append(Candidate(use: use, count: Double(count), groups: try groups(use)))
    }
    let search = Search(plan: plan, total: Double(all), candidates: uses)
    var best = AccessPath(
      kind: .everyRow, rowCount: Double(all),
      cost: Double(all) + search.sortingCost(of: Double(all) * search.share(besides: [])))
    for candidate in uses {
      for path in search.paths(candidate) where path.cost < best.cost { best = path }
    }
    if let path = search.intersection(), path.cost < best.cost { best = path }
    return best
  }

  /// Returns the cost of reading the given number of index entries and looking up their rows.
  private static func cost(of entryCount: Double) -> Double {
    1 + entryCount * (entryCost + lookupCost)
  }

  private struct Candidate {
    let use: IndexUse
    let count: Double
    /// A description of the groups in which the index yields rows, or `nil` if rows are not sorted
    /// in groups.
    ///
    /// All rows in a group have equal values for the first `termCount` sort terms. `isBackwards` is
    /// `true` if the index is read backwards, and `rowCount` is the estimated number of rows in a
    /// group.
    let groups: (termCount: Int, isBackwards: Bool, rowCount: Double)?
  }

  /// Returns the groups in which an index yields rows, in the form of ``Candidate/groups``.
  ///
  /// Returns `nil` if sorting in groups is impossible or would not help.
  private func groups(
    _ use: IndexUse
  ) throws -> (termCount: Int, isBackwards: Bool, rowCount: Double)? {
    guard plan.limit != nil, let order = plan.order, use.direction(of: order) == nil,
      let (count, isBackwards) = use.leadingTerms(of: order),
      let first = try use.firstGroupCount(plan, isBackwards: isBackwards, view)
    else { return nil }
    return (count, isBackwards, first)
  }

  /// The information needed to compare access paths.
  private struct Search {
    let plan: FetchPlan
    /// The total number of rows in the entities that the plan examines.
    let total: Double
    let candidates: [Candidate]

    /// Returns the estimated share of rows that meet the conditions, ignoring conditions on the
    /// given properties.
    func share(besides slots: [Int]) -> Double {
      var share = 1.0
      var known = Set(slots)
      // Start with the most selective candidates. Count each property only once, because conditions
      // on the same property are not independent.
      for candidate in candidates.sorted(by: { $0.count < $1.count })
      where known.isDisjoint(with: candidate.use.slots) && !candidate.use.slots.isEmpty {
        known.formUnion(candidate.use.slots)
        share *= min(1, candidate.count / max(1, total))
      }
      let others = plan.conditionCount - plan.demandCount(of: known)
      for _ in 0..<max(0, others) { share *= AccessPlanner.unknownShare }
      return share
    }

    func sortingCost(of count: Double) -> Double {
      plan.needsSorting ? 0.5 * count : 0
    }

    /// Returns the paths that use only the candidate's index.
    ///
    /// If conditions restrict the index entries, the result contains a path that reads rows in
    /// ascending order of their numbers. If reading rows in index order avoids or reduces sorting,
    /// the result also contains a path that reads rows in index order.
    func paths(_ candidate: Candidate) -> [AccessPath] {
      let (use, count) = (candidate.use, candidate.count)
      let share = share(besides: use.slots)
      var paths: [AccessPath] = []
      if !use.slots.isEmpty {
        paths.append(
          AccessPath(
            kind: .index(use), rowCount: count,
            cost: AccessPlanner.cost(of: count) + sortingCost(of: count * share)))
      }
      if plan.needsSorting, let order = plan.order, let direction = use.direction(of: order) {
        let needed = plan.limit.map { min(count, Double($0) / max(share, 1e-9)) } ?? count
        // If the index entries alone determine which objects match, objects before the offset are
        // skipped without reading their rows.
        let rows = plan.isExpressed(by: use) ? max(0, needed - Double(plan.offset)) : needed
        let cost = needed * AccessPlanner.entryCost + rows * AccessPlanner.lookupCost
        paths.append(
          AccessPath(kind: .index(use), direction: direction, rowCount: rows, cost: 1 + cost))
      }
      if let groups = candidate.groups, let limit = plan.limit {
        // Add the rest of the group in which the limit is reached, because the fetch reads that
        // group to its end.
        let needed = min(count, Double(limit) / max(share, 1e-9) + 2 * groups.rowCount)
        paths.append(
          AccessPath(
            kind: .index(use), direction: groups.isBackwards, leadingTermCount: groups.termCount,
            rowCount: needed,
            cost: AccessPlanner.cost(of: needed) + sortingCost(of: needed * share)))
      }
      return paths
    }

    /// Returns the path that intersects the two most selective indexes on different properties, or
    /// `nil` if there are no two such indexes.
    func intersection() -> AccessPath? {
      let narrow = candidates.filter { !$0.use.slots.isEmpty && $0.use.keys.isEmpty }
        .sorted { $0.count < $1.count }
      guard let first = narrow.first,
        let second = narrow.dropFirst().first(where: {
          Set($0.use.slots).isDisjoint(with: first.use.slots)
        })
      else { return nil }
      let rows = first.count * second.count / max(1, total)
      let share = share(besides: first.use.slots + second.use.slots)
      let entries = (first.count + second.count) * AccessPlanner.entryCost
      return AccessPath(
        kind: .all([first.use, second.use]), rowCount: rows,
        cost: 2 + entries + rows * AccessPlanner.lookupCost + sortingCost(of: rows * share))
    }
  }
}
