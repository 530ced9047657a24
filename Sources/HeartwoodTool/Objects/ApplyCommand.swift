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
    let path = invocation.required(.file)
    let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
    guard let handle else {
      throw ToolFailure.refused("\(path) cannot be read. Use the path of a readable file.")
    }
    var total = StoredObjects.FeedReport()
    let progress = TerminalProgress()
    try ObjectAccess.withWritableObjects(invocation) { objects in
      var pending = Data()
      var events: [Data] = []
      var isAtEnd = false
      while !isAtEnd {
        let chunk = try read(handle)
        isAtEnd = chunk.isEmpty
        pending.append(chunk)
        // What has arrived is one transaction, which does not wait for the sender.
        var lines = pending.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        pending = isAtEnd ? Data() : Data(lines.removeLast())
        events += lines.filter { !$0.isEmpty }.map { Data($0) }
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
    if invocation.wantsJSON {
      return try output.json(
        Document(
          appliedCount: total.appliedCount, repeatedCount: total.repeatedCount))
    }
    try output.line(
      "\(HumanText.count(total.appliedCount)) applied, "
        + "\(HumanText.count(total.repeatedCount)) applied before")
  }

  /// Records in the store from which the events come that they have been applied.
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
  /// Whether events can be applied together with later ones that cannot be applied alone.
  fileprivate var mayBeResolved: Bool {
    let kind = (underlyingError as? ObjectGraphError)?.kind ?? kind
    return kind == .constraintConflict || kind == .deniedDelete
  }
}
