// This file supports indexes that order rows only by the leading sort descriptors. Such an index
// yields rows in groups with equal leading values. The fetch sorts each group by the remaining
// descriptors, and stops reading groups when it reaches the limit.

extension IndexUse {
  /// Returns the number of leading sort terms satisfied by the index order, and whether the entries
  /// must be read backwards.
  ///
  /// Returns `nil` if the index does not order the entries by any leading term.
  func leadingTerms(of order: FetchOrder) -> (count: Int, isBackwards: Bool)? {
    var rest = orderedSlots[...]
    var count = 0
    var isBackwards: Bool?
    for term in order.terms {
      guard let slot = term.slot, term.hasFixedLength else { break }
      if !fixedSlots.contains(slot) {
        guard rest.first == slot, isBackwards == nil || isBackwards == term.isReversed else {
          break
        }
        rest = rest.dropFirst()
        isBackwards = term.isReversed
      }
      count += 1
    }
    return isBackwards.map { (count, $0) }
  }

  /// Returns the estimated number of rows in the first group that a plan reads through this index.
  ///
  /// The rows in a group have equal values for the leading sort terms. The result is `nil` unless a
  /// condition of the plan determines where the first group starts. Typically, such a condition
  /// excludes the pages of results that precede the fetched page.
  func firstGroupCount(
    _ plan: FetchPlan, isBackwards: Bool, _ view: StoreView
  ) throws -> Double? {
    let demands = plan.demandsBySlot
    guard let slot = orderedSlots.first, let demand = demands[slot],
      let bound = isBackwards ? demand.upper : demand.lower,
      let entries = try view.keyspace(keyspace)
    else { return nil }
    let fixed = fixedSlots.compactMap { demands[$0]?.values?.first }
    return Double(try entries.estimatedCount(EntryRange(fixed + [bound])))
  }
}

extension FetchOrder {
  /// Returns whether two objects are in the same group.
  ///
  /// The objects in a group have equal values for the first `termCount` terms.
  func areTogether(_ first: Keys, _ second: Keys, termCount: Int) -> Bool {
    (0..<termCount).allSatisfy { terms[$0].order(first.values[$0], second.values[$0]) == 0 }
  }
}
