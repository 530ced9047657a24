import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The record of what one process did to a store, outside the store: an append-only file.
///
/// A record is one `write` of 128 bytes, so a killed process leaves it complete or absent: Linux
/// checks for a deadly signal between the pages of one `write`, and no record spans two. (With 80
/// bytes, 4 of 600 kills left half a record, and everything after it was misread.)
package final class Ledger {
  /// The kind of a record; `number`, `generation` and `lasts` have the meaning given here.
  package enum Kind: UInt64 {
    /// A session begins: the store is open.
    case opened = 1
    /// Transaction `number` of this writer is about to be committed.
    case intent
    /// It was committed, as `generation`.
    case acknowledged
    /// A transaction was rejected because another process held the store.
    case busy
    /// A snapshot of the newest generation showed `lasts` and accounts that hash to `hash`.
    case read
    /// The same for a snapshot that was held since, or for a generation offered by another process.
    case readAgain
    /// A generation offered by another process was rejected.
    case expired
    /// The generation with content `hash` is about to be named `number`; then it is.
    case keepIntent, kept
    /// The name `number` is about to be released.
    case releaseIntent
    /// A checkpoint has ended.
    case checkpointed
    /// This session has made `generation` commits and `number` syncs of the log.
    case counted
    /// Transaction `number` of this process was rejected because the store's files were replaced.
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

  /// Opens a ledger to continue it.
  package init(at path: String) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    precondition(descriptor >= 0, "no ledger at \(path)")
  }

  deinit { close(descriptor) }

  /// Appends a record, which outlives the process once this returns.
  package func record(
    _ kind: Kind, _ number: UInt64 = 0, generation: UInt64 = 0, hash: UInt64 = 0,
    lasts: [UInt64] = []
  ) {
    var counters = [kind.rawValue, number, generation, hash, UInt64(lasts.count)] + lasts
    counters += Array(repeating: 0, count: Self.wordCount - counters.count)
    let count = counters.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    precondition(count == Self.wordCount * 8, "a record did not fit")
  }

  /// All records of a ledger, the oldest first; none if there is no such file.
  package static func records(at path: String) -> [Record] {
    guard let bytes = FileManager.default.contents(atPath: path) else { return [] }
    precondition(bytes.count.isMultiple(of: wordCount * 8), "half a record in \(path)")
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
