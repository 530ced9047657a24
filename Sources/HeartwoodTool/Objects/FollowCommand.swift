import Foundation
import Heartwood
import HeartwoodEngine

/// `follow`: prints changes as they are committed, as JSON lines.
enum FollowCommand {
  private struct Line: Encodable {
    let transaction: Int64
    let time: String
    let author: String?
    let operation: String
    let id: String
    let properties: [String]?
    /// The values after the transaction, or `nil` if the object no longer exists.
    let values: [String: ObjectValue]?
  }

  /// The time between two looks at the store, in milliseconds.
  private static let interval: Int32 = 50

  static func run(_ invocation: Invocation, _ output: Output) throws {
    try StoreAccess.withStore(invocation.path, for: .reading) { store in
      var objects = try StoredObjects(store, at: store.snapshot())
      var position =
        try invocation[.after].map { try HistoryCommand.number($0) }
        ?? objects.newestTransactionNumber()
      while true {
        for transaction in try objects.history(after: position) {
          for change in transaction.content.changes {
            try output.line(try JSONText.line(of: line(transaction, change, objects)))
          }
          position = transaction.number
        }
        try output.flush()
        repeat {
          try output.wait(milliseconds: interval)
        } while try store.snapshot().generation
          == objects.snapshot.generation
        objects = try StoredObjects(store, at: store.snapshot())
      }
    }
  }

  private static func line(
    _ transaction: StoredObjects.Transaction, _ change: PersistentHistoryChange,
    _ objects: StoredObjects
  ) throws -> Line {
    var properties: [String]?
    if case .update(let names) = change.kind { properties = names.sorted() }
    let values = try objects.values(of: change.objectID)
    let content = transaction.content
    return Line(
      transaction: transaction.number,
      time: JSONText.time(UInt64(max(content.timestamp.timeIntervalSince1970 * 1000, 0))),
      author: content.author, operation: change.kind.operation, id: change.objectID.shortText,
      properties: properties,
      values: values.map { Dictionary($0.map { ($0.name, $0.value) }) { $1 } })
  }
}
