import Foundation
import HeartwoodEngine

/// The `replica` command, which creates a replica of a backup directory or adds new generations to
/// the replica.
enum ReplicaCommand {
  private struct Document: Encodable {
    let generation: UInt64
    let time: String
    let byteCount: Int
    /// The time between the generation's commit and its arrival in the replica.
    let lagMilliseconds: UInt64

    init(_ point: Backup.RestorePoint) {
      generation = point.generation.frame
      time = TimeText.text(point.time)
      byteCount = point.byteCount
      let now = UInt64(max(Date.now.timeIntervalSince1970 * 1000, 0))
      lagMilliseconds = now > point.time ? now - point.time : 0
    }
  }

  /// The interval between checks of the directory, in milliseconds.
  private static let interval: Int32 = 200

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let (directory, path) = (invocation.required(.backup), invocation.required(.replica))
    guard !CopyCommand.isDirectory(path, within: directory) else {
      throw ToolFailure.refused(
        "\(path) is inside the backup directory. Use a path outside that directory.")
    }
    let progress = TerminalProgress()
    let replica = try Replica(at: path, following: Backup(at: directory)) {
      progress.show("creating the replica", $0)
    }
    progress.clear()
    let follows = invocation.has(.follow)
    var reported: StorageError?
    repeat {
      do {
        let added = try replica.advance { point in
          // Ignore write errors here, because the next pause throws an error if the output is
          // closed.
          try? show(Document(point), invocation, output)
        }
        if added.isEmpty, !follows { try showUnchanged(replica, invocation, output) }
        reported = nil
      } catch let error as StorageError where follows && error.mayPass {
        if error != reported { Output.warn("\(error.description) The command will try again.") }
        reported = error
      }
      if follows {
        try output.pause(milliseconds: interval, before: "replica updates")
      } else {
        try output.flush()
      }
    } while follows
    try replica.close()
  }

  private static func show(
    _ document: Document, _ invocation: Invocation, _ output: Output
  ) throws {
    if invocation.wantsJSON { return try output.line(try JSONText.line(of: document)) }
    let seconds = String(format: "%.1f", Double(document.lagMilliseconds) / 1000)
    try output.line(
      "generation \(document.generation): \(HumanText.size(document.byteCount)), committed "
        + "\(seconds) s ago")
  }

  private static func showUnchanged(
    _ replica: Replica, _ invocation: Invocation, _ output: Output
  ) throws {
    guard !invocation.wantsJSON else { return }
    try output.line(
      "generation \(try replica.generation.frame) is the newest generation in the backup")
  }
}

/// The `promote` command, which turns a replica into a writable store.
enum PromoteCommand {
  private struct Document: Encodable {
    let path: String
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let path = invocation.required(.replica)
    try Replica.promote(path)
    if invocation.wantsJSON { return try output.json(Document(path: path)) }
    try output.line("\(QuotedText.escaped(path)) is now a writable store.")
  }
}

extension StorageError {
  /// A Boolean value that indicates whether a later attempt may succeed, for example because the
  /// directory has changed or disk space has been freed.
  fileprivate var mayPass: Bool {
    [.corrupt, .notAStore, .io, .diskFull, .busy].contains(kind)
  }
}
