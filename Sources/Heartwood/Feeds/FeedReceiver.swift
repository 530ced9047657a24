public import Foundation

/// A receiver that applies another store's events to a container as they arrive.
///
/// ```swift
/// var receiver = FeedReceiver(copy)
/// for try await message in socket {
///   try receiver.add(message)
///   if let position = try receiver.apply().token { try await socket.acknowledge(position) }
/// }
/// ```
///
/// The events come from a ``ChangeFeed`` or `heartwoodctl follow`, in their original order. The
/// receiving store records which of its objects correspond to objects of the other store. An
/// unknown object is matched by a unique attribute or, if there is no match, inserted. The
/// receiving store also records the last event of each source, and skips earlier events. A feed can
/// therefore be replayed from any earlier position.
///
/// The merge policy resolves conflicts between events and edits in this store. The event's values
/// are treated like the values of a context that is being saved. A `custom` policy merges like
/// ``MergePolicy/mergeByPropertyObjectTrump``. Relationships that the source changed always take
/// the source's values.
public struct FeedReceiver {
  private let container: PersistentContainer
  private let author: String?
  private let policy: MergePolicy.Kind
  private let decoder = JSONDecoder()
  /// The events that have not been applied yet.
  private var waiting: [FeedElement] = []
  private var addedCount = 0
  /// The number of waiting events at which ``isFull`` becomes `true`.
  private var limit = maxEventCount

  /// The maximum number of events in a transaction, unless further events are needed to resolve a
  /// conflict.
  private static let maxEventCount = 10_000

  /// Creates a receiver that applies events to the given container.
  ///
  /// - Parameters:
  ///   - container: The container to which the events are applied.
  ///   - author: The author of the transactions.
  ///   - mergePolicy: The policy for objects that were edited in this store. By default, all values
  ///     of an event are applied to such objects.
  public init(
    _ container: PersistentContainer, author: String? = nil, mergePolicy: MergePolicy = .overwrite
  ) {
    self.container = container
    self.author = author
    policy = mergePolicy.kind
    decoder.dateDecodingStrategy = ExactDates.decodingOfAnyForm
    decoder.nonConformingFloatDecodingStrategy = JSONCoding.decodedFloats
    decoder.userInfo[FeedPlans.key] = FeedPlans(
      container.group.attachedStores.map(\.model.schema))
  }

  /// A Boolean value that indicates whether enough events are waiting to fill a transaction.
  ///
  /// If you rarely call ``apply(isComplete:)``, check this property to limit the memory used by
  /// waiting events.
  public var isFull: Bool { waiting.count >= limit }

  /// Adds an event, to be applied by ``apply(isComplete:)``.
  ///
  /// - Parameter event: A JSON document.
  /// - Throws: `invalidElement` if the event cannot be decoded.
  public mutating func add(_ event: Data) throws {
    addedCount += 1
    do {
      waiting.append(try decoder.decode(FeedElement.self, from: event))
    } catch {
      throw invalid(event, error)
    }
  }

  private func invalid(_ event: Data, _ error: any Error) -> ObjectGraphError {
    struct Name: Decodable {
      let id: String
      let subject: String?
    }
    let name = (try? decoder.decode(Name.self, from: event)).map { name in
      "\(name.id)" + (name.subject.map { " about \($0)" } ?? "")
    }
    let reason = ImportReport.reason(of: error)
    return ObjectGraphError(
      .invalidElement,
      "Event \(name ?? "number \(addedCount)") cannot be applied: \(reason)",
      underlyingError: error)
  }

  /// Applies the added events, except those that may depend on later events.
  ///
  /// For example, a later event may move a unique value to another object, or delete a related
  /// object that denies a deletion. These later events belong to the same generation, because all
  /// events contain the values of their generation. Once the later events have been added, the
  /// method applies all events or throws an error.
  ///
  /// - Parameter isComplete: `true` if no more events will be added.
  /// - Returns: The number of events, and the position reached by the applied events in the other
  ///   store's history. If the store's commits are durable, the applied events are durable too.
  /// - Throws: `mergeConflict` if there is a conflict and the policy is ``MergePolicy/error``;
  ///   `constraintConflict`, `deniedDelete`, `unknownEntity`, `invalidElement` or `validation` if
  ///   an event violates the model; `historyExpired` if the source was restored to an earlier
  ///   state; any error from writing the store. The error message names the event. Transactions
  ///   applied before the error remain committed.
  /// - Complexity: One lookup and one write for each event. A transaction contains at most 10,000
  ///   events, or more if unique values move between objects.
  public mutating func apply(isComplete: Bool = false) throws -> FeedReport {
    var report = FeedReport()
    defer { limit = max(Self.maxEventCount, waiting.count * 2) }
    var (count, isReduced) = (Self.maxEventCount, false)
    while !waiting.isEmpty {
      count = min(count, waiting.count)
      do {
        report += try apply(waiting[..<count])
        waiting.removeFirst(count)
        (count, isReduced) = (Self.maxEventCount, false)
      } catch let failure as FeedFailure {
        let end = endOfGeneration(of: failure.source, from: count)
        guard failure.mayBeResolved, end != count else { throw failure.error }
        if !isReduced, count < end ?? waiting.count {
          count = min(count * 2, end ?? waiting.count)
        } else if !isReduced, let end = lastEndOfGeneration(of: failure.source, before: count) {
          (count, isReduced) = (end, true)
        } else if isComplete {
          throw failure.ofIncompleteFeed.error
        } else {
          return report
        }
      }
    }
    return report
  }

  /// Returns the first index, at or after `index`, at which a generation of the source ends.
  ///
  /// The result is `nil` if there is no such index.
  ///
  /// A program may filter out the last event of a generation. A generation therefore also ends
  /// before the first transaction that cannot belong to it. However, an interrupted generation does
  /// not end at the interruption, because its remaining transactions arrive as part of the next
  /// generation.
  private func endOfGeneration(of source: String?, from index: Int) -> Int? {
    func isOwn(_ event: FeedElement) -> Bool { source == nil || event.source == source }
    guard var last = waiting[..<index].last(where: isOwn), !last.isLastOfGeneration else {
      return index
    }
    for (position, event) in waiting[index...].enumerated() where isOwn(event) {
      if event.follows(last) { return index + position }
      if event.isLastOfGeneration { return index + position + 1 }
      last = event
    }
    return nil
  }

  /// Returns the last index before `index` at which a generation of the source ends.
  ///
  /// The result is `nil` if there is no such index.
  private func lastEndOfGeneration(of source: String?, before index: Int) -> Int? {
    var (last, next): (Int?, Int) = (nil, 1)
    while let end = endOfGeneration(of: source, from: next), end < index {
      (last, next) = (end, end + 1)
    }
    return last
  }

  /// Applies events, using one transaction for each store.
  ///
  /// - Throws: `unknownEntity` if an event belongs to a store that has been removed since this
  ///   receiver was created.
  private func apply(_ events: ArraySlice<FeedElement>) throws -> FeedReport {
    let attachedStores = container.group.attachedStores
    for event in events {
      guard let entity = event.entity,
        !attachedStores.contains(where: { $0.model.contains(entity) })
      else { continue }
      throw event.failure(
        .unknownEntity,
        "The store that contains \(entity.name) has been removed from the container. Create a new "
          + "receiver, and add the events after the last acknowledged position again.")
    }
    var report = FeedReport()
    for attached in attachedStores {
      let own = events.filter { $0.entity.map(attached.model.contains) ?? true }
      report += try apply(own[...], to: attached)
    }
    return report
  }

  private func apply(
    _ events: ArraySlice<FeedElement>, to attached: StoreGroup.AttachedStore
  ) throws -> FeedReport {
    var report = FeedReport()
    let context = ManagedObjectContext(StoreGroup(attached))
    context.transactionAuthor = author
    _ = try context.write { transaction in
      var batch = try FeedBatch(BatchRun(context, transaction), transaction, policy)
      report = try batch.apply(events)
    }
    return report
  }
}

extension FeedElement {
  /// Returns whether this event cannot belong to the same generation as another event.
  fileprivate func follows(_ other: FeedElement) -> Bool {
    switch (other.operation, operation) {
    case (_, .existing), (_, .complete): false
    case (.existing, _): true
    default: transaction > other.newestTransaction
    }
  }
}
