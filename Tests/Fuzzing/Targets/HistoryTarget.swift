import Heartwood
import HeartwoodEngine

extension FuzzTarget {
  /// The rows of the history: the changes, the header of a transaction, and the bounds.
  static let history = FuzzTarget("history", seeds: historyInputs) { bytes in
    var input = FuzzInput(bytes)
    switch input.byte() % 3 {
    case 0: return try findingInChanges(input.rest.copied())
    case 1:
      let header = try HistoryHeader(input.rest.copied())
      let again = try HistoryHeader(header.encoded)
      return again.encoded == header.encoded ? nil : "The header differs after encoding it again."
    default:
      var bounds = try HistoryBounds(input.rest.copied().span.bytes)
      let again = try HistoryBounds(bounds.encoded.span.bytes)
      guard again.encoded == bounds.encoded else {
        return "The bounds differ after encoding them again."
      }
      // Increment the bound as the next transaction would.
      bounds.next += 1
      return nil
    }
  }

  /// Reads changes, and encodes them again.
  private static func findingInChanges(_ bytes: [UInt8]) throws -> String? {
    var again: [UInt8] = []
    try HistoryFormat.forEachChange(bytes) { number, change in
      HistoryFormat.append(change, number, to: &again)
    }
    var third: [UInt8] = []
    try HistoryFormat.forEachChange(again) { number, change in
      HistoryFormat.append(change, number, to: &third)
    }
    return again == third ? nil : "The changes differ after encoding them again."
  }

  /// Returns the rows of a real history.
  @Sendable private static func historyInputs() throws -> [[UInt8]] {
    let container = try FuzzedObjects.filled()
    let context = container.newContext()
    context.transactionAuthor = "Ada"
    context.name = "import"
    for part in try context.fetch(FetchRequest<Part>()) {
      if part.serial == 2 { context.delete(part) } else { part.title = "changed" }
    }
    try context.save()
    var inputs: [[UInt8]] = []
    try container.store.snapshot().keyspace(HistoryFormat.keyspace)?.forEach { key, value in
      let (transaction, chunk) = try Key.decode(key, as: Int64.self, Int64.self)
      let kind: UInt8 = transaction == 0 ? 2 : chunk == 0 ? 1 : 0
      inputs.append([kind] + value.withUnsafeBytes { Array($0) })
      return true
    }
    return inputs
  }
}
