import Heartwood
import HeartwoodEngine

/// The `follow` command, which prints newly committed changes as events, one JSON document per
/// line.
enum FollowCommand {
  /// The interval between checks of the store, in milliseconds.
  private static let interval: Int32 = 50

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let consumer = invocation[.consumer]
    let acknowledges = invocation.has(.acknowledge)
    guard consumer != nil || !acknowledges else {
      throw ToolFailure.usage("--acknowledge requires --consumer NAME. Add that option.")
    }
    guard !invocation.has(.after) || !invocation.has(.snapshot) else {
      throw ToolFailure.usage(
        "--after and --snapshot both select the first event. Use only one of them.")
    }
    try StoreAccess.withStore(invocation.path, for: acknowledges ? .writing : .reading) { store in
      var position: PersistentHistoryToken?
      while true {
        let container = try StoredObjects(store, at: store.snapshot()).container
        let start = try start(container, position, consumer, invocation)
        switch start {
        case .after(let token): position = token
        // Save the position of the history's start. If the model changed before the first event,
        // `start` would otherwise skip the transactions that were added in the meantime.
        case .oldestTransaction: position = container.historyToken(after: 0)
        case .now, .existingObjects: break
        }
        let feed = try container.changeFeed(
          from: start, values: invocation.has(.before) ? .both : .after)
        let isOver = try follow(feed, &position, once: invocation.has(.once), output) { position in
          guard acknowledges, let consumer else { return }
          try container.advanceHistoryConsumer(consumer, to: position)
        }
        if isOver { return }
      }
    }
  }

  /// Prints events until the store's model changes, and advances the position.
  ///
  /// - Parameter once: Whether to stop once all existing changes have been printed.
  /// - Returns: `true` if all existing changes have been printed, or `false` if the model has
  ///   changed.
  private static func follow(
    _ feed: ChangeFeed, _ position: inout PersistentHistoryToken?, once: Bool, _ output: Output,
    _ acknowledge: (PersistentHistoryToken) throws -> Void
  ) throws -> Bool {
    var reader = try feed.reader()
    while true {
      let generation = try feed.store.snapshot().generation
      do {
        while let event = try reader.next() {
          try output.write(event.json())
          try output.line()
          position = event.token ?? position
        }
      } catch let error as ObjectGraphError where error.kind == .incompatibleSchema {
        return false
      } catch let error as ObjectGraphError where error.kind == .historyExpired {
        throw ToolFailure.refused(
          "Transactions that have not been read yet have been deleted from the history. Start over "
            + "with --snapshot and a new consumer.")
      }
      try output.flush()
      if let position { try acknowledge(position) }
      if once { return true }
      repeat {
        try output.wait(milliseconds: interval)
      } while try feed.store.snapshot().generation == generation
    }
  }

  /// Returns the position at which the events begin.
  ///
  /// For a known consumer, the result is the consumer's own position, regardless of --after and
  /// --snapshot. A repeated command therefore continues where the previous one stopped.
  private static func start(
    _ container: PersistentContainer, _ position: PersistentHistoryToken?, _ consumer: String?,
    _ invocation: Invocation
  ) throws -> ChangeFeed.Start {
    if let position { return .after(position) }
    if let consumer, let known = try container.historyConsumers[consumer] { return .after(known) }
    if invocation.has(.snapshot) { return .existingObjects }
    if let after = try invocation[.after].map({ try HistoryCommand.number($0) }) {
      let newest = try container.newestTransactionNumber()
      guard after <= newest else {
        throw ToolFailure.refused(
          "The history ends with transaction \(newest), but --after specifies transaction "
            + "\(after). The store was restored to an earlier state, or the path refers to another "
            + "store. Start over with --snapshot.")
      }
      return .after(container.historyToken(after: after))
    }
    return try container.currentHistoryToken.map { .after($0) } ?? .oldestTransaction
  }
}
