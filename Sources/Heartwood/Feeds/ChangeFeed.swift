import Foundation

/// A sequence of events that report the changes to a container's objects, in commit order.
///
/// The changes can come from any context or process.
///
/// ```swift
/// let feed = try container.changeFeed(from: .existingObjects, consumer: "search")
/// for try await event in feed {
///   try index.update(event)
///   try feed.acknowledge(event)
/// }
/// ```
///
/// The feed reads events when the loop requests them. Even if the loop is slow, the feed needs no
/// buffer and pins only the generation that it is reading. Each iterator reads the feed
/// independently.
///
/// A feed delivers each change at least once. A feed with a consumer begins after the transactions
/// that the consumer has acknowledged, and the history keeps all later transactions. A repeated
/// event has the same ``Event/id``, so you can detect duplicates.
///
/// The feed ends when the task is cancelled or the store is closed. While the store is suspended,
/// the feed waits. The feed throws `historyExpired` if the next transactions have been deleted, and
/// `incompatibleSchema` if another process has changed the model of the store.
///
/// The feed omits changes that are not in the history. See ``ContainerOptions/tracksHistory``.
public struct ChangeFeed: AsyncSequence, Sendable {
  /// A change to an object.
  public typealias Element = Event
  /// The type of errors that the iterator throws.
  public typealias Failure = any Error

  /// The position at which a feed begins.
  public enum Start: Sendable {
    /// The feed begins after the newest transaction.
    case now
    /// The feed begins with an event for each object of the newest generation, followed by the
    /// changes since then.
    case existingObjects
    /// The feed begins with the oldest transaction in the history.
    case oldestTransaction
    /// The feed begins after the positions recorded in a token.
    ///
    /// For a store that the token does not cover, the feed begins with the oldest transaction.
    case after(PersistentHistoryToken)
  }

  /// The values that events contain.
  public enum IncludedValues: Sendable {
    /// No values: each event contains only the object's key.
    case none
    /// The values before the changes, if they are known.
    case before
    /// The values after the changes.
    case after
    /// The values before and after the changes.
    case both

    var includesBefore: Bool { self == .before || self == .both }
    var includesAfter: Bool { self == .after || self == .both }
  }

  private let container: PersistentContainer
  private let consumer: String?
  private let values: IncludedValues
  /// The position at which the feed begins.
  ///
  /// The position is never `now`, because the initialiser replaces `now` with the newest position.
  private let start: Start

  /// Creates a feed for a container.
  ///
  /// - Throws: The same errors as ``PersistentContainer/changeFeed(from:consumer:values:)``.
  init(
    _ container: PersistentContainer, from start: Start, consumer: String?, values: IncludedValues
  ) throws {
    (self.container, self.consumer, self.values) = (container, consumer, values)
    let token: PersistentHistoryToken?
    switch start {
    case .existingObjects:
      self.start = start
      return
    case .now: token = PersistentHistoryToken(try container.newestHistoryPositions())
    case .oldestTransaction: token = nil
    case .after(let known):
      try container.requireOwn(known, container.group.attachedStores)
      token = known
    }
    self.start = token.map { .after($0) } ?? .oldestTransaction
    if let consumer, try container.historyConsumers[consumer] == nil {
      try container.registerHistoryConsumer(consumer, at: token)
    }
  }

  /// A Boolean value that indicates whether the feed has a consumer.
  var hasConsumer: Bool { consumer != nil }

  /// Records that the consumer has processed an event and all earlier events.
  ///
  /// If the event is the last of its transaction, the consumer's next feed begins after the event.
  /// Otherwise, the method does nothing.
  ///
  /// - Throws: `invalidArgument` if the feed has no consumer; `foreignStore` if the event comes
  ///   from another store; `historyExpired` if later transactions have been deleted, or if the
  ///   store was restored to a state before the event; any error from writing the store.
  /// - Complexity: The method runs one transaction, which writes one row. If the feed has many
  ///   small transactions, acknowledging only some of them saves time.
  public func acknowledge(_ event: Event) throws {
    let consumer = try requireConsumer()
    guard event.isLast, let token = event.token else { return }
    try container.advanceHistoryConsumer(consumer, to: token)
  }

  /// Records that the consumer has processed all events up to a position, such as the one in a
  /// ``FeedReport``.
  ///
  /// - Throws: The same errors as ``ChangeFeed/acknowledge(_:)-(ChangeFeed.Event)``.
  /// - Complexity: The same as ``ChangeFeed/acknowledge(_:)-(ChangeFeed.Event)``.
  public func acknowledge(_ position: PersistentHistoryToken) throws {
    try container.advanceHistoryConsumer(try requireConsumer(), to: position)
  }

  private func requireConsumer() throws -> String {
    if let consumer { return consumer }
    throw StorageError(
      .invalidArgument,
      "The feed has no consumer, so events cannot be acknowledged. Pass the name of a consumer to "
        + "`changeFeed`.")
  }

  /// The first store of the container.
  package var store: Store { container.store }

  /// Creates a reader that begins after the acknowledged transactions or, if there are none, at the
  /// start of the feed.
  package func reader() throws -> FeedReader {
    let known = try consumer.flatMap { try container.historyConsumers[$0] }
    let start = known.map { .after($0) } ?? start
    return try FeedReader(container.group, values) { attached in
      switch start {
      case .existingObjects: .existingObjects
      case .now, .oldestTransaction: .position(nil)
      case .after(let token): .position(token.position(in: attached.model.space.store))
      }
    }
  }

  /// Returns a sequence that delivers the feed's events in arrays.
  ///
  /// When the loop requests an array, the sequence waits for the first event, and adds the later
  /// events that are already available.
  ///
  /// - Parameter maxCount: The maximum number of events in an array.
  public func batches(ofAtMost maxCount: Int) -> Batches { Batches(feed: self, maxCount: maxCount) }

  /// Creates an iterator that begins after the acknowledged transactions or, if there are none, at
  /// the start of the feed.
  public func makeAsyncIterator() -> Iterator { Iterator(self, container.remoteChanges) }

  /// An iterator that waits for changes.
  public struct Iterator: AsyncIteratorProtocol {
    private let feed: ChangeFeed
    private var reader: FeedReader?
    private var commits: RemoteChanges.Iterator
    /// A Boolean value that indicates whether the iterator has received the last commit
    /// notification.
    private var hasAllCommits = false
    private var isEnded = false

    /// The time between two checks of a suspended store, in nanoseconds.
    private static let pollNanoseconds: UInt64 = 100_000_000

    fileprivate init(_ feed: ChangeFeed, _ commits: RemoteChanges) {
      self.feed = feed
      self.commits = commits.makeAsyncIterator()
    }

    /// Waits for the next event.
    ///
    /// - Returns: The event, or `nil` if the task is cancelled or the store is closed.
    /// - Throws: `historyExpired` if the next transactions have been deleted; `incompatibleSchema`
    ///   if a store's model has changed; `generationExpired` if the store was suspended while
    ///   existing objects were being read; any error from reading the store. An error ends the
    ///   iteration.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Event? {
      loop: while !isEnded, !Task.isCancelled {
        switch try available() {
        case .event(let event): return event
        case .nothing:
          // After the commit notifications have ended, read the stores once more before leaving the
          // loop. Otherwise, the events of the last commits could be missed.
          if hasAllCommits { break loop }
          hasAllCommits = await commits.next(isolation: actor) == nil
        case .suspended:
          try? await Task.sleep(nanoseconds: Self.pollNanoseconds)
        case .closed: break loop
        }
      }
      isEnded = true
      return nil
    }

    /// Waits for the next event, then returns it together with any later events that are already
    /// available.
    fileprivate mutating func nextBatch(
      _ maxCount: Int, isolation actor: isolated (any Actor)?
    ) async throws -> [Event] {
      guard let first = try await next(isolation: actor) else { return [] }
      var events = [first]
      while events.count < maxCount, case .event(let event) = try available() {
        events.append(event)
      }
      return events
    }

    private enum Available {
      case event(Event), nothing, suspended, closed
    }

    /// Returns the next event, or the reason why no event is available.
    private mutating func available() throws -> Available {
      do {
        if reader == nil { reader = try feed.reader() }
        return try reader?.next().map { .event($0) } ?? .nothing
      } catch let error as StorageError where error.kind == .closed {
        return .closed
      } catch let error as StorageError
        where error.kind == .suspended || error.kind == .generationExpired
      {
        do {
          try reader?.restart()
          return .suspended
        } catch {
          isEnded = true
          throw error
        }
      } catch {
        isEnded = true
        throw error
      }
    }
  }

  /// A sequence that delivers events in batches.
  public struct Batches: AsyncSequence, Sendable {
    /// A nonempty array of events.
    public typealias Element = [Event]
    /// The type of errors that the iterator throws.
    public typealias Failure = any Error

    fileprivate let feed: ChangeFeed
    fileprivate let maxCount: Int

    /// Creates an iterator that begins where the feed's own iterator would begin.
    public func makeAsyncIterator() -> Iterator {
      Iterator(events: feed.makeAsyncIterator(), maxCount: maxCount)
    }

    /// An iterator that waits for changes.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate var events: ChangeFeed.Iterator
      fileprivate let maxCount: Int

      /// Waits for the next events.
      ///
      /// - Returns: The events, or `nil` if the task is cancelled or the store is closed.
      /// - Throws: The same errors as ``ChangeFeed/Iterator/next(isolation:)``.
      public mutating func next(
        isolation actor: isolated (any Actor)? = #isolation
      ) async throws -> [Event]? {
        let batch = try await events.nextBatch(maxCount, isolation: actor)
        return batch.isEmpty ? nil : batch
      }
    }
  }
}
