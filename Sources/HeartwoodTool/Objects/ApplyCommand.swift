import Foundation
import Heartwood
import HeartwoodEngine

/// The `apply` command, which applies events printed by `follow` for another store.
enum ApplyCommand {
  private struct Document: Encodable {
    let appliedCount: Int
    let repeatedCount: Int
  }

  private static let chunkByteCount = 1 << 20
  private static let newline = UInt8(ascii: "\n")

  static func run(_ invocation: Invocation, _ output: Output) throws {
    guard invocation.has(.sourceStore) == invocation.has(.consumer) else {
      throw ToolFailure.usage(
        "--source STORE and --consumer NAME must be used together. Add the missing option.")
    }
    let handle = try InputFile.handle(invocation.required(.file))
    var total = FeedReport()
    var isComplete = true
    let progress = TerminalProgress()
    try ObjectAccess.withWritableObjects(invocation) { objects in
      var receiver = FeedReceiver(
        objects.container, author: invocation[.author] ?? ObjectAccess.author)
      // Use an array, because splitting an array is several times as fast as splitting `Data`.
      var pending: [UInt8] = []
      var isAtEnd = false
      while !isAtEnd {
        let chunk = try read(handle)
        isAtEnd = chunk.isEmpty
        pending += chunk
        // Search only the new chunk: searching a long line again with each chunk would take
        // quadratic time.
        guard isAtEnd || chunk.contains(newline) else { continue }
        var lines = pending.split(separator: newline, omittingEmptySubsequences: false)
        pending = Array(lines.removeLast())
        for line in lines where !line.isEmpty { try receiver.add(Data(line)) }
        if isAtEnd, !pending.isEmpty {
          isComplete = (try? JSONSerialization.jsonObject(with: Data(pending))) != nil
          if isComplete { try receiver.add(Data(pending)) }
        }
        // Keep collecting while more input is available. Otherwise, apply the events that have
        // arrived.
        guard isAtEnd || receiver.isFull || !hasMore(handle) else { continue }
        let part = try receiver.apply(isComplete: isAtEnd)
        total += part
        try acknowledge(part.token, invocation)
        progress.show("applying", elementCount: total.appliedCount)
      }
    }
    progress.clear()
    guard isComplete else {
      throw ToolFailure.refused(
        "The input ended in the middle of a line, after "
          + "\(HumanText.count(total.appliedCount, "event")) had been applied. Run the command "
          + "again with the complete feed. Events that have already been applied will be skipped.")
    }
    if invocation.wantsJSON {
      return try output.json(
        Document(
          appliedCount: total.appliedCount, repeatedCount: total.repeatedCount))
    }
    try output.line(
      "\(HumanText.count(total.appliedCount)) applied, \(HumanText.count(total.repeatedCount)) "
        + "skipped (already applied)")
  }

  /// Records in the source store that the consumer has applied the events.
  private static func acknowledge(
    _ position: PersistentHistoryToken?, _ invocation: Invocation
  ) throws {
    guard let position, let source = invocation[.sourceStore], let consumer = invocation[.consumer]
    else { return }
    try StoreAccess.withStore(source, for: .writing) { store in
      try StoredObjects(store, at: store.snapshot()).container
        .advanceHistoryConsumer(consumer, to: position)
    }
  }

  /// Returns whether a read would return immediately.
  private static func hasMore(_ handle: FileHandle) -> Bool {
    var input = pollfd(fd: handle.fileDescriptor, events: Int16(POLLIN), revents: 0)
    return poll(&input, 1, 0) > 0
  }

  /// Returns the available bytes, or an empty array at the end of the input.
  private static func read(_ handle: FileHandle) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: chunkByteCount)
    while true {
      let count = Foundation.read(handle.fileDescriptor, &bytes, bytes.count)
      if count >= 0 { return Array(bytes.prefix(count)) }
      guard errno == EINTR else {
        throw ToolFailure.refused(
          "The events could not be read (\(String(cString: strerror(errno)))). Try again.")
      }
    }
  }
}
