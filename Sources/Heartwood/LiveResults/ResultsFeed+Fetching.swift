// Refetches lists if that is cheaper than examining the changes.
extension ResultsFeed {
  /// The minimum number of changed rows for which the feed considers refetching the lists.
  ///
  /// If fewer rows have changed, the feed examines each of them.
  private static let manyRows = 2000
  /// The cost of examining a changed object, or of comparing an object that stays in a list,
  /// relative to the cost of reading one row sequentially.
  private static let examinationCost = 8.0

  /// Returns a function that decides whether examining `count` changed rows is cheaper than
  /// refetching all lists.
  func cheaperThanFetching(_ view: StoreView) -> (_ count: Int) throws -> Bool {
    var next = Self.manyRows
    var cost: Double?
    return { [self] count in
      guard count >= next else { return true }
      next = 2 * count
      let needed = try cost ?? fetchCost(view)
      cost = needed
      return Double(count) * Self.examinationCost <= needed
    }
  }

  private func fetchCost(_ view: StoreView) throws -> Double {
    try lists.reduce(Self.examinationCost * Double(storeContext.registered.count)) { sum, list in
      try sum + Self.examinationCost * Double(list.tree.count)
        + list.query.fetchCost(view, storeContext.model)
    }
  }

  /// Updates all loaded objects from their rows, as a fetch would.
  ///
  /// The feed calls this method when it refetches the lists instead of examining each changed
  /// object.
  func refreshRegistered(_ view: StoreView) throws {
    guard storeContext.parent == nil else { return }
    let objects = storeContext.allRegistered().filter {
      !$0.number.isTemporary && (!$0.isFault || $0.isInaccessible)
    }
    try storeContext.reread(objects.map(\.number), in: view)
  }
}
