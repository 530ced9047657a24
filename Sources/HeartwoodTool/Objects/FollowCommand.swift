import Foundation
import Heartwood
import HeartwoodEngine

/// `follow`: prints changes as they are committed, as events in JSON lines.
enum FollowCommand {
  /// The time between two looks at the store, in milliseconds.
  private static let interval: Int32 = 50

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let consumer = invocation[.consumer]
    let acknowledges = invocation.has(.acknowledge)
    guard consumer != nil || !acknowledges else {
      throw ToolFailure.usage("--acknowledge needs --consumer NAME.")
    }
    try StoreAccess.withStore(invocation.path, for: acknowledges ? .writing : .reading) { store in
      var objects = try StoredObjects(store, at: store.snapshot())
      var position = try start(objects, consumer, invocation, output)
      while true {
        for transaction in try objects.history(after: position) {
          for (index, change) in transaction.content.changes.enumerated() {
            let event = try objects.event(for: change, index, of: transaction)
            try output.line(try JSONText.line(of: event))
          }
          position = transaction.number
        }
        try output.flush()
        if acknowledges, let consumer { try objects.acknowledge(position, by: consumer) }
        if invocation.has(.once) { return }
        repeat {
          try output.wait(milliseconds: interval)
        } while try store.snapshot().generation == objects.snapshot.generation
        objects = try StoredObjects(store, at: store.snapshot())
      }
    }
  }

  /// Returns the transaction after which the changes begin.
  ///
  /// With `--snapshot`, prints the existing objects first, unless the consumer is known.
  private static func start(
    _ objects: StoredObjects, _ consumer: String?, _ invocation: Invocation, _ output: Output
  ) throws -> Int64 {
    if let known = try consumer.flatMap({ try objects.position(of: $0) }) { return known }
    let newest = try objects.newestTransactionNumber()
    guard invocation.has(.snapshot) else {
      let position = try invocation[.after].map { try HistoryCommand.number($0) } ?? newest
      guard position <= newest else {
        throw ToolFailure.refused(
          "The history ends with transaction \(newest), before \(position): the store was restored to "
            + "an earlier state, or is another one. Begin again with --snapshot.")
      }
      return position
    }
    try objects.forEachExistingObject(newest) { try output.line(try JSONText.line(of: $0)) }
    return newest
  }
}
