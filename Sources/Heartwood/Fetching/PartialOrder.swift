// Rows that an index has in the order of the first sort descriptors only: they come in groups, each
// of which has to be sorted, and those behind the limit are not read.

extension IndexUse {
  /// How many of the first terms of an order its entries follow, and whether backwards; `nil` if
  /// none.
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

  /// About how many rows are in the first group that a plan reads in this order; `nil` if nothing
  /// says where the rows begin, as the key of the last page does.
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
  /// Whether two objects are in one group, which has the same values for the first terms.
  func areTogether(_ first: Keys, _ second: Keys, termCount: Int) -> Bool {
    (0..<termCount).allSatisfy { terms[$0].order(first.values[$0], second.values[$0]) == 0 }
  }
}
