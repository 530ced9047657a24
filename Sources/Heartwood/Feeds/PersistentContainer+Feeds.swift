public import Foundation

extension PersistentContainer {
  /// Returns a feed of the changes to the objects of all stores.
  ///
  /// - Parameters:
  ///   - start: The position at which the feed begins, unless the consumer has a position.
  ///   - consumer: The name of a consumer of the history. The feed begins after the transactions
  ///     that it has acknowledged, and `deleteHistory` keeps the others. A new consumer is
  ///     registered at the start of the feed, or, if that is `existingObjects`, by the first
  ///     ``ChangeFeed/acknowledge(_:)`` after them.
  ///   - values: The values that the events contain.
  /// - Throws: `foreignStore` if a token belongs to other stores; `historyExpired` if the
  ///   transactions after it have been deleted, and there is a new consumer; errors of writing.
  /// - Complexity: Each event takes one lookup of the object in each generation whose values it
  ///   contains, and one of each related object that it names. At most about 1,000 changes are in
  ///   memory, however many a transaction has.
  public func changeFeed(
    from start: ChangeFeed.Start = .now, consumer: String? = nil,
    values: ChangeFeed.IncludedValues = .after
  ) throws -> ChangeFeed {
    try ChangeFeed(self, from: start, consumer: consumer, values: values)
  }

  // MARK: Applying

  /// Applies the events of another container's ``ChangeFeed``, or of `heartwoodctl follow`, to
  /// objects of the same entities.
  ///
  /// ```swift
  /// for try await events in feed.batches(ofAtMost: 10_000) {
  ///   try copy.apply(events: events.map { try $0.json() })
  ///   try events.last.map { try feed.acknowledge($0) }
  /// }
  /// ```
  ///
  /// The store remembers which of its objects correspond to those of the other store. An object
  /// that is not known yet is found by a unique attribute, or inserted. The store also remembers the
  /// last event of each source, and skips earlier ones.
  ///
  /// The merge policy decides about objects that were edited in this store: the values of the event
  /// count as those of a context that is being saved. `custom` policies merge as
  /// ``MergePolicy/mergeByPropertyObjectTrump``. Relationships that the source has changed always
  /// get its objects.
  ///
  /// - Parameters:
  ///   - events: Events as JSON documents, in their order, with the values after the changes.
  ///   - author: The author of the transactions.
  ///   - mergePolicy: The policy for objects that were edited in this store. By default, they get
  ///     all values of the event.
  /// - Returns: The number of events, and the position in the history of the other store.
  /// - Throws: `invalidElement` if an event cannot be decoded; `mergeConflict` with the policy
  ///   ``MergePolicy/error``; `constraintConflict`, `deniedDelete`, `unknownEntity` or `validation`
  ///   if an event violates the model; `historyExpired` if the source was restored to an earlier
  ///   state; errors of writing. The message names the event. Transactions before the error have
  ///   been committed, and their events are skipped the next time.
  /// - Complexity: One lookup and one write for each event, in transactions of at most 10,000
  ///   events, or more if unique values move between objects.
  @discardableResult
  public func apply(
    events: some Sequence<Data>, author: String? = nil, mergePolicy: MergePolicy = .overwrite
  ) throws -> FeedReport {
    var application = FeedApplication(self, author: author, mergePolicy)
    var report = FeedReport()
    for event in events {
      try application.add(event)
      if application.isFull { report += try application.apply(isComplete: false) }
    }
    report += try application.apply(isComplete: true)
    return report
  }

  /// Applies events that arrive asynchronously.
  ///
  /// Events are applied when 10,000 have arrived, and at the end of the sequence. To apply those of
  /// a feed as they arrive, use arrays of them: ``ChangeFeed/batches(ofAtMost:)``. Everything else
  /// is the same as for events that exist already.
  ///
  /// - Throws: The same errors as for such events; errors of `events`.
  @discardableResult
  public nonisolated(nonsending) func apply<Events: AsyncSequence>(
    events: Events, author: String? = nil, mergePolicy: MergePolicy = .overwrite
  ) async throws -> FeedReport where Events.Element == Data {
    var application = FeedApplication(self, author: author, mergePolicy)
    var report = FeedReport()
    for try await event in events {
      try application.add(event)
      if application.isFull { report += try application.apply(isComplete: false) }
    }
    // A cancelled sequence may just end.
    try Task.checkCancellation()
    report += try application.apply(isComplete: true)
    return report
  }
}
