extension LiveList {
  /// An empty difference between two lists of section names.
  static var none: CollectionDifference<String?> {
    [String?]().difference(from: [])
  }

  /// Returns the difference that consists of the given edits.
  ///
  /// - Parameter start: The position in the tree at which the list begins.
  func difference(
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
      preconditionFailure("The recorded changes to a live list are inconsistent.")
    }
    return difference
  }
}
