/// The way to the rows that a plan asks for.
struct AccessPath {
  enum Kind {
    /// All rows of the entities, one after the other.
    case everyRow
    /// Rows that are named by their numbers.
    case objects([ObjectNumber])
    /// Rows that the entries of an index name.
    case index(IndexUse)
    /// Rows that the entries of several indexes name.
    case all([IndexUse])
  }

  let kind: Kind
  /// Whether rows come in the order of the request, and then whether backwards.
  var direction: Bool?
  /// By how many of the first terms they are in order, if not by all.
  var leadingTermCount: Int?
  /// About how many rows are looked at.
  let rowCount: Double
  /// What it takes, in rows that are read one after the other.
  let cost: Double
}

/// Chooses the way to the rows of a plan that takes the least.
///
/// What indexes would give is estimated from their trees as they are at the moment, so nothing has
/// to be kept up. The costs are in rows that are read one after the other and asked the conditions;
/// they were measured once, and are right within a factor of two on the machines we have seen.
struct AccessPlanner {
  /// An entry of an index that is read among its neighbours.
  private static let entryCost = 0.3
  /// A row that is looked up by its number.
  private static let lookupCost = 2.0
  /// What a condition that nothing is known of leaves over.
  private static let unknownShare = 0.4

  let plan: FetchPlan
  let view: StoreView
  let model: StoreModel

  func best() throws -> AccessPath {
    if let numbers = plan.namedNumbers {
      return AccessPath(
        kind: .objects(numbers), rowCount: Double(numbers.count), cost: Double(numbers.count))
    }
    let possible = plan.indexUses(model)
    // Nothing takes less, and to find that out would take more than to do it.
    if let use = possible.first(where: { $0.keys.count == 1 }) {
      return AccessPath(kind: .index(use), rowCount: 1, cost: 1)
    }
    let all = try plan.storages.reduce(0) { $0 + (try view.objects($1)?.count() ?? 0) }
    let uses = try possible.map { use in
      Candidate(
        use: use, count: Double(try use.estimatedCount(view)), groups: try groups(use))
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

  private struct Candidate {
    let use: IndexUse
    let count: Double
    /// How its rows are grouped, if they are in order by some terms only.
    let groups: (termCount: Int, isBackwards: Bool, rowCount: Double)?
  }

  /// How the rows of an index come in groups, where the order of the plan goes on within them.
  private func groups(
    _ use: IndexUse
  ) throws -> (termCount: Int, isBackwards: Bool, rowCount: Double)? {
    guard plan.limit != nil, let order = plan.order, use.direction(of: order) == nil,
      let (count, isBackwards) = use.leadingTerms(of: order),
      let first = try use.firstGroupCount(plan, isBackwards: isBackwards, view)
    else { return nil }
    return (count, isBackwards, first)
  }

  /// What is known of a request while ways are compared.
  private struct Search {
    let plan: FetchPlan
    /// All rows of the entities.
    let total: Double
    let candidates: [Candidate]

    /// Which part of rows the conditions leave over that are not about some properties.
    func share(besides slots: [Int]) -> Double {
      var share = 1.0
      var known = Set(slots)
      // The narrowest first, each property once.
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

    /// The ways with one index: in the order of the numbers, and in that of the index if it helps.
    func paths(_ candidate: Candidate) -> [AccessPath] {
      let (use, count) = (candidate.use, candidate.count)
      let share = share(besides: use.slots)
      var paths: [AccessPath] = []
      if !use.slots.isEmpty {
        let perRow = AccessPlanner.entryCost + AccessPlanner.lookupCost
        paths.append(
          AccessPath(
            kind: .index(use), rowCount: count,
            cost: 1 + count * perRow + sortingCost(of: count * share)))
      }
      if plan.needsSorting, let order = plan.order, let direction = use.direction(of: order) {
        let needed = plan.limit.map { min(count, Double($0) / max(share, 1e-9)) } ?? count
        let cost = needed * (AccessPlanner.entryCost + AccessPlanner.lookupCost)
        paths.append(
          AccessPath(kind: .index(use), direction: direction, rowCount: needed, cost: 1 + cost))
      }
      if let groups = candidate.groups, let limit = plan.limit {
        // To the end of the group in which the limit is reached.
        let needed = min(count, Double(limit) / max(share, 1e-9) + 2 * groups.rowCount)
        let cost = needed * (AccessPlanner.entryCost + AccessPlanner.lookupCost)
        paths.append(
          AccessPath(
            kind: .index(use), direction: groups.isBackwards, leadingTermCount: groups.termCount,
            rowCount: needed, cost: 1 + cost + sortingCost(of: needed * share)))
      }
      return paths
    }

    /// The way with the two narrowest indexes that ask for different properties.
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
