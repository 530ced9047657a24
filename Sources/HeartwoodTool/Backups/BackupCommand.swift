import Foundation
import HeartwoodEngine

/// The `backup` command, which adds the newest generation to a backup directory once or repeatedly.
enum BackupCommand {
  private struct Document: Encodable {
    let generation: UInt64
    let files: [String]
    let byteCount: Int
    let removedRestorePointCount: Int
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let directory = invocation.required(.backup)
    guard !CopyCommand.isDirectory(directory, within: invocation.path) else {
      throw ToolFailure.refused(
        "\(directory) is inside the store's directory, which must contain only the store's own "
          + "files. Use a path outside that directory.")
    }
    let interval = try invocation[.every].map { try DurationText.seconds($0, for: .every) }
    let retention = try invocation[.keep].map { try BackupRetention($0) }
    try StoreAccess.withStore(invocation.path, for: .writing) { store in
      while true {
        let start = ContinuousClock.now
        do {
          try show(backUp(store, to: directory, retention), invocation, output)
        } catch let error as StorageError where interval != nil && error.isTemporary {
          Output.warn("\(error.description) The command will try again at the next interval.")
        }
        guard let interval else { return }
        let rest = start.advanced(by: .seconds(interval)) - .now
        try output.pause(
          milliseconds: Int32(min(max(rest / .milliseconds(1), 0), 1e9)), before: "backups")
      }
    }
  }

  private static func backUp(
    _ store: Store, to directory: String, _ retention: BackupRetention?
  ) throws -> Document {
    let progress = TerminalProgress()
    let report = try store.backup(to: directory) { progress.show("backing up", $0) }
    progress.clear()
    let backup = Backup(at: directory)
    let removed = try retention.map { try $0.apply(to: backup) } ?? 0
    return Document(
      generation: report.generation.frame, files: report.files, byteCount: report.byteCount,
      removedRestorePointCount: removed)
  }

  private static func show(
    _ document: Document, _ invocation: Invocation, _ output: Output
  ) throws {
    if invocation.wantsJSON {
      // If the command makes backups repeatedly, print one line for each backup.
      guard invocation.has(.every) else { return try output.json(document) }
      return try output.line(try JSONText.line(of: document))
    }
    let files = document.files.joined(separator: ", ")
    let content =
      document.files.isEmpty
      ? "nothing has changed" : "\(HumanText.size(document.byteCount)), \(files)"
    let removed = document.removedRestorePointCount
    try output.line(
      "generation \(document.generation): \(content)"
        + (removed == 0 ? "" : "; removed \(HumanText.count(removed, "restore point"))"))
  }
}

extension StorageError {
  /// A Boolean value that indicates whether a later attempt may succeed.
  fileprivate var isTemporary: Bool { [.io, .diskFull, .busy].contains(kind) }
}
