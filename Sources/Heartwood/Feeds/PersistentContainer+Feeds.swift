public import Foundation

extension PersistentContainer {
  /// Returns a feed of changes to the objects in all stores.
  ///
  /// - Parameters:
  ///   - start: The position at which the feed begins, unless the consumer already has a position.
  ///   - consumer: The name of a history consumer. The feed begins after the transactions that the
  ///     consumer has acknowledged, and `deleteHistory` keeps all later transactions. A new
  ///     consumer is registered at the position where the feed begins. If the feed begins with
  ///     `existingObjects`, the consumer is registered by the first call to
  ///     ``ChangeFeed/acknowledge(_:)-(ChangeFeed.Event)`` after these objects.
  ///   - values: The values that the events contain.
  /// - Throws: `foreignStore` if a token belongs to other stores; `historyExpired` if transactions
  ///   after the token have been deleted and the consumer is new; any error from writing the store.
  /// - Complexity: For each event, the feed looks up the object once for the values before the
  ///   change and once for the values after it, if these values are included. It also looks up each
  ///   related object once. The feed keeps at most about 1,000 changes in memory, even if a
  ///   transaction has more changes.
  public func changeFeed(
    from start: ChangeFeed.Start = .now, consumer: String? = nil,
    values: ChangeFeed.IncludedValues = .after
  ) throws -> ChangeFeed {
    try ChangeFeed(self, from: start, consumer: consumer, values: values)
  }

  // MARK: Applying

  /// Applies a complete series of events from another container's feed to this container's objects
  /// of the same entities.
  ///
  /// The events can come from a file. For details, and for feeds that do not end, see
  /// ``FeedReceiver``.
  ///
  /// - Parameters:
  ///   - events: Events as JSON documents, in their original order, with the values after the
  ///     changes.
  ///   - author: The author of the transactions.
  ///   - mergePolicy: The policy for objects that were edited in this store. By default, all values
  ///     of an event are applied to such objects.
  /// - Returns: The number of events, and the position in the other store's history.
  /// - Throws: The same errors as ``FeedReceiver``.
  /// - Complexity: The same as for ``FeedReceiver``.
  @discardableResult
  public func apply(
    events: some Sequence<Data>, author: String? = nil, mergePolicy: MergePolicy = .overwrite
  ) throws -> FeedReport {
    var receiver = FeedReceiver(self, author: author, mergePolicy: mergePolicy)
    var report = FeedReport()
    for event in events {
      try receiver.add(event)
      if receiver.isFull { report += try receiver.apply() }
    }
    report += try receiver.apply(isComplete: true)
    return report
  }

  /// Applies a complete series of events that arrive asynchronously.
  ///
  /// The method applies events in groups of 10,000 as they arrive, and applies the remaining events
  /// at the end. Otherwise, the method works like the synchronous version.
  ///
  /// - Throws: The same errors as ``FeedReceiver``; any error from `events`; `CancellationError`.
  @discardableResult
  public nonisolated(nonsending) func apply<Events: AsyncSequence>(
    events: Events, author: String? = nil, mergePolicy: MergePolicy = .overwrite
  ) async throws -> FeedReport where Events.Element == Data {
    var receiver = FeedReceiver(self, author: author, mergePolicy: mergePolicy)
    var report = FeedReport()
    for try await event in events {
      try receiver.add(event)
      if receiver.isFull { report += try receiver.apply() }
    }
    // Check for cancellation, because a cancelled sequence may end without an error. Its events
    // must not be applied as if the series were complete.
    try Task.checkCancellation()
    report += try receiver.apply(isComplete: true)
    return report
  }

  /// Applies the events of another container's feed as they arrive, and acknowledges them if the
  /// feed has a consumer.
  ///
  /// ```swift
  /// let feed = try shop.changeFeed(from: .existingObjects, consumer: "copy")
  /// try await copy.follow(feed)
  /// ```
  ///
  /// The method returns when its task is cancelled, or when the other store is closed.
  ///
  /// - Throws: The same errors as ``FeedReceiver`` and the feed.
  public nonisolated(nonsending) func follow(
    _ feed: ChangeFeed, author: String? = nil, mergePolicy: MergePolicy = .overwrite
  ) async throws {
    var receiver = FeedReceiver(self, author: author, mergePolicy: mergePolicy)
    for try await events in feed.batches(ofAtMost: 10_000) {
      for event in events { try receiver.add(event.json()) }
      if let position = try receiver.apply().token, feed.hasConsumer {
        try feed.acknowledge(position)
      }
    }
  }
}
