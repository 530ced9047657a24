import Foundation
import Heartwood
import HeartwoodEngine

extension FuzzTarget {
  /// Events of a change feed.
  static let feed = FuzzTarget("feed", words: feedWords, seeds: feedInputs) { bytes in
    // Use a copy, so that later inputs do not see the event.
    var receiver = receiving
    try receiver.add(Data(bytes.buffer))
    return nil
  }

  private nonisolated(unsafe) static let receiving: FeedReceiver = {
    do {
      return FeedReceiver(try FuzzedObjects.empty())
    } catch {
      preconditionFailure("The objects cannot be created: \(error)")
    }
  }()

  private static let feedWords =
    [
      "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data",
      "operation", "entity", "key", "properties", "before", "after", "author", "transaction",
      "index", "last", "generation", "newestTransaction",
    ].map { "\"\($0)\":" } + [
      "\"existing\"", "\"complete\"", "\"inserted\"", "\"updated\"", "\"deleted\"", "\"Part\"",
      "\"Part/1\"", "\"Supplier/1\"",
    ] + FuzzedObjects.words

  /// Returns the events of a real feed, of all kinds.
  @Sendable private static func feedInputs() throws -> [[UInt8]] {
    let container = try FuzzedObjects.filled()
    let feed = try container.changeFeed(from: .existingObjects, values: .both)
    let context = container.newContext()
    for part in try context.fetch(FetchRequest<Part>()) {
      if part.serial == 2 { context.delete(part) } else { part.title = "changed" }
    }
    Supplier(context: context).name = "new"
    try context.save()
    var reader = try feed.reader()
    var inputs: [[UInt8]] = []
    while let event = try reader.next() { inputs.append(Array(try event.json())) }
    let older = try container.changeFeed(from: .oldestTransaction, values: .both)
    reader = try older.reader()
    while let event = try reader.next() { inputs.append(Array(try event.json())) }
    return inputs
  }
}
