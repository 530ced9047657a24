// This extension finds the changed rows, unless refetching the lists is cheaper.
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
  private func cheaperThanFetching(_ view: StoreView) -> (_ count: Int) throws -> Bool {
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

  /// Returns the objects whose rows or members differ between the shown generation and `view`.
  ///
  /// Returns `nil` if these objects cannot be determined, or if there are so many of them that
  /// refetching the lists is cheaper.
  func rowDifference(to view: StoreView) throws -> Set<ObjectNumber>? {
    guard storeContext.parent == nil else { return [] }
    guard let shownView, shownView !== view else { return shownView == nil ? nil : [] }
    guard let source = shownView.snapshot, let target = view.snapshot, shownView.isCurrent else {
      return nil
    }
    guard source.generation != target.generation else { return [] }
    var difference = RowDifference(storeContext.model)
    do {
      let isAll = try difference.recordChanges(
        in: storeContext.store, from: source, to: target, while: cheaperThanFetching(view))
      return isAll ? Set(difference.numbers) : nil
    } catch let error as StorageError where error.kind == .foreignStore {
      // A read-only store reopens its files when another process first opens the store for writing.
      // Return `nil`, because generations from before and after the reopening cannot be compared.
      return nil
    }
  }
}
