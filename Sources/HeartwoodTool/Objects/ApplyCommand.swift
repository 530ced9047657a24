import Foundation
import Heartwood
import HeartwoodEngine

/// `apply`: applies the events that `follow` prints for another store.
enum ApplyCommand {
  private struct Document: Encodable {
    let appliedCount: Int
    let repeatedCount: Int
  }

  private static let chunkByteCount = 1 << 20

  static func run(_ invocation: Invocation, _ output: Output) throws {
    guard invocation.has(.sourceStore) == invocation.has(.consumer) else {
      throw ToolFailure.usage("--source STORE and --consumer NAME belong together.")
    }
    let handle = try InputFile.handle(invocation.required(.file))
    var total = StoredObjects.FeedReport()
    var isComplete = true
    let progress = TerminalProgress()
    try ObjectAccess.withWritableObjects(invocation) { objects in
      var pending = Data()
      var events: [Data] = []
      var isAtEnd = false
      while !isAtEnd {
        let chunk = try read(handle)
        isAtEnd = chunk.isEmpty
        pending.append(chunk)
        // All events that have arrived form one transaction, which does not wait for more.
        var lines = pending.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        pending = Data(lines.removeLast())
        events += lines.filter { !$0.isEmpty }.map { Data($0) }
        if isAtEnd, !pending.isEmpty {
          isComplete = (try? JSONSerialization.jsonObject(with: pending)) != nil
          if isComplete { events.append(pending) }
        }
        guard !events.isEmpty else { continue }
        do {
          let part = try objects.applyEvents(
            events, author: invocation[.author] ?? ObjectAccess.author)
          total += part
          try acknowledge(part.lastTransaction, invocation)
          events = []
        } catch let error as ObjectGraphError where !isAtEnd && error.mayBeResolved {
          // The next events may free the unique value, or delete the related objects.
        }
        progress.show("applying", elementCount: total.appliedCount)
      }
    }
    progress.clear()
    guard isComplete else {
      throw ToolFailure.refused(
        "The last line is cut off. \(HumanText.count(total.appliedCount, "event")) before it were "
          + "applied; apply the feed again from there on.")
    }
    if invocation.wantsJSON {
      return try output.json(
        Document(
          appliedCount: total.appliedCount, repeatedCount: total.repeatedCount))
    }
    try output.line(
      "\(HumanText.count(total.appliedCount)) applied, "
        + "\(HumanText.count(total.repeatedCount)) applied before")
  }

  /// Records in the source store that its events have been applied.
  private static func acknowledge(_ transaction: Int64?, _ invocation: Invocation) throws {
    guard let transaction, let source = invocation[.sourceStore],
      let consumer = invocation[.consumer]
    else { return }
    try StoreAccess.withStore(source, for: .writing) { store in
      try StoredObjects(store, at: store.snapshot()).acknowledge(transaction, by: consumer)
    }
  }

  /// Returns the bytes that are available, or none at the end.
  private static func read(_ handle: FileHandle) throws -> Data {
    var bytes = [UInt8](repeating: 0, count: chunkByteCount)
    while true {
      let count = Foundation.read(handle.fileDescriptor, &bytes, bytes.count)
      if count >= 0 { return Data(bytes.prefix(count)) }
      guard errno == EINTR else {
        throw ToolFailure.refused(
          "The events could not be read (\(String(cString: strerror(errno)))). Try again.")
      }
    }
  }
}

extension ObjectGraphError {
  /// Whether events that cannot be applied alone may be applicable together with later ones.
  fileprivate var mayBeResolved: Bool {
    let kind = (underlyingError as? ObjectGraphError)?.kind ?? kind
    return kind == .constraintConflict || kind == .deniedDelete
  }
}
