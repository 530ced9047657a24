/// A comparison of objects' values with the values that a feed's lists show.
///
/// The result for each object is cached.
final class ValueChanges {
  private let feed: ResultsFeed
  private let before: StoreView?
  private let after: StoreView
  /// A Boolean value that indicates whether the rows of the shown generation can be read.
  private let isReadable: Bool
  /// The cached results for lists that include unsaved changes, keyed by object number.
  private var known: [ObjectNumber: Bool] = [:]
  /// The cached results for lists that exclude unsaved changes, keyed by object number.
  private var knownOfRows: [ObjectNumber: Bool] = [:]

  init(_ feed: ResultsFeed, before: StoreView?, after: StoreView) {
    self.feed = feed
    self.before = before
    self.after = after
    isReadable = before?.snapshot != nil && before?.isCurrent == true
  }

  /// Returns whether the values of an object have changed.
  ///
  /// The result is meaningful only if the object existed before the change and still exists.
  ///
  /// - Complexity: Two row reads when an object is first examined.
  func isUpdated(_ number: ObjectNumber, _ query: LiveQuery) throws -> Bool {
    if query.includesPendingChanges {
      if let known = known[number] { return known }
      let result = try differs(number, query, feed.shownValues(number))
      known[number] = result
      return result
    }
    if let known = knownOfRows[number] { return known }
    let result = try differs(number, query, nil)
    knownOfRows[number] = result
    return result
  }

  /// Returns whether an object's values differ from the values that the lists show.
  ///
  /// - Parameter shown: The values shown by the lists, or `nil` if these are the values of the row.
  private func differs(
    _ number: ObjectNumber, _ query: LiveQuery, _ shown: [StoredValue]??
  ) throws -> Bool {
    guard let storage = feed.storeContext.model.storage(of: number) else { return false }
    let object = feed.changedObject(number, query)
    if shown == nil, !isReadable {
      // The lists show values from a version of the row that can no longer be read, so treat any
      // unsaved edit as a difference.
      let isEdited = object?.changes?.originals.isEmpty == false
      return try isEdited || wasWritten(number, storage)
    }
    let old = try shown ?? values(number, storage, before)
    let new =
      try object.map { $0.isDeleted ? nil : try $0.columnValues() }
      ?? values(number, storage, after)
    guard let old, let new else { return false }
    return feed.differ(old, new, number)
  }

  private func values(
    _ number: ObjectNumber, _ storage: EntityStorage, _ view: StoreView?
  ) throws -> [StoredValue]? {
    guard let view, !number.isTemporary else { return nil }
    return try view.withRecord(number, storage) { try storage.values($0) }
  }

  /// Returns whether a row may have been written since the shown generation.
  ///
  /// This method is used when the shown generation is no longer readable. The result is `true` if
  /// the row contains attributes that are derived from related objects, because recomputing such an
  /// attribute does not change the version of the row.
  private func wasWritten(_ number: ObjectNumber, _ storage: EntityStorage) throws -> Bool {
    guard let shown = before?.snapshot?.generation, !number.isTemporary else { return false }
    if storage.entity.derived.contains(where: \.isOverRelationship) { return true }
    return try after.withRecord(number, storage) { $0.version >= shown.frame } ?? false
  }
}
