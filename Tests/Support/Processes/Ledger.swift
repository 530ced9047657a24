import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// An append-only file, outside the store, that records the actions of one process on the store.
///
/// Each record is one `write` of 128 bytes, so a process that is killed leaves the record either
/// complete or absent. Linux checks for a fatal signal only between the pages of a `write`, and no
/// record crosses a page boundary. (With records of 80 bytes, 4 of 600 kills left half a record,
/// and everything after it was misread.)
package final class Ledger {
  /// The kind of a record, which determines the meaning of `number`, `generation` and `lasts`.
  package enum Kind: UInt64 {
    /// The process has opened the store and begins a session.
    case opened = 1
    /// The process is about to commit its transaction `number`.
    case intent
    /// The process has committed its transaction `number`, as `generation`.
    case acknowledged
    /// A transaction was rejected because another process held the store.
    case busy
    /// The process has read a snapshot of the newest generation.
    ///
    /// `lasts` contains the number of each writer's last transaction, and `hash` is the hash of the
    /// accounts.
    case read
    /// The process has read a snapshot that it had held for some time, or that another process had
    /// offered.
    ///
    /// `lasts` and `hash` have the same meanings as in `read`.
    case readAgain
    /// A past generation, or one that was offered by another process, has expired and could not be
    /// read.
    case expired
    /// The process is about to name `generation` with `number` (`keepIntent`), or has done so
    /// (`kept`).
    ///
    /// The contents of the generation have the hash `hash`.
    case keepIntent, kept
    /// The process is about to release the name `number`.
    case releaseIntent
    /// A checkpoint has finished.
    case checkpointed
    /// A backup contains `generation`, whose accounts have the hash `hash`.
    case backedUp
    /// In this session, the process made `generation` commits and `number` syncs of the log.
    case counted
    /// The process's transaction `number` was rejected because the files of the store were
    /// replaced.
    case refused
  }

  package struct Record {
    package var kind: Kind
    package var number: UInt64 = 0
    package var generation: UInt64 = 0
    package var hash: UInt64 = 0
    package var lasts: [UInt64] = []
  }

  private static let wordCount = 16
  private let descriptor: Int32

  /// Opens a ledger to append records, creating the file if necessary.
  package init(at path: String) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    precondition(descriptor >= 0, "the ledger \(path) cannot be opened")
  }

  deinit { close(descriptor) }

  /// Appends a record, which survives the death of the process once this method has returned.
  package func record(
    _ kind: Kind, _ number: UInt64 = 0, generation: UInt64 = 0, hash: UInt64 = 0,
    lasts: [UInt64] = []
  ) {
    var counters = [kind.rawValue, number, generation, hash, UInt64(lasts.count)] + lasts
    counters += Array(repeating: 0, count: Self.wordCount - counters.count)
    let count = counters.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    precondition(count == Self.wordCount * 8, "a record was not written completely")
  }

  /// Returns all records of a ledger, oldest first, or an empty array if the file does not exist.
  package static func records(at path: String) -> [Record] {
    guard let bytes = FileManager.default.contents(atPath: path) else { return [] }
    precondition(bytes.count.isMultiple(of: wordCount * 8), "incomplete record in \(path)")
    let counters: [UInt64] = bytes.withUnsafeBytes { buffer in
      (0..<buffer.count / 8).map { buffer.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
    }
    var records: [Record] = []
    for start in stride(from: 0, to: counters.count - wordCount + 1, by: wordCount) {
      guard let kind = Kind(rawValue: counters[start]) else { continue }
      let lasts = counters[(start + 5)..<(start + 5 + Int(counters[start + 4]))]
      records.append(
        Record(
          kind: kind, number: counters[start + 1], generation: counters[start + 2],
          hash: counters[start + 3], lasts: Array(lasts)))
    }
    return records
  }
}
