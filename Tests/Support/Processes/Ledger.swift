import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What one process did to a store, outside the store: an append-only file of records.
///
/// A record is one `write` of 128 bytes, so a process that is killed leaves it whole or not at all:
/// Linux looks for a deadly signal between the pages of one `write`, and no record is in two. (With
/// 80 bytes, 4 of 600 kills left half a record, and all behind it was read wrongly.)
package final class Ledger {
  /// What a record tells; `number`, `generation` and `lasts` mean what is said here.
  package enum Kind: UInt64 {
    /// A session begins: the store is open.
    case opened = 1
    /// Transaction `number` of this writer is about to be committed.
    case intent
    /// It has been, as `generation`.
    case acknowledged
    /// A transaction was refused because somebody held the store.
    case busy
    /// A snapshot of the newest generation showed `lasts` and accounts that hash to `hash`.
    case read
    /// The same of a snapshot that was held since, or of a generation named by somebody else.
    case readAgain
    /// A generation named by somebody else was refused.
    case expired
    /// Generation with content `hash` is about to be kept as `number`; then it is.
    case keepIntent, kept
    /// The name `number` is about to be released.
    case releaseIntent
    /// A checkpoint has ended.
    case checkpointed
    /// This session has made `generation` commits and `number` syncs of the log.
    case counted
    /// Transaction `number` of this process was refused because the store's files are others.
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

  /// Opens a ledger to go on with it.
  package init(at path: String) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    precondition(descriptor >= 0, "no ledger at \(path)")
  }

  deinit { close(descriptor) }

  /// Appends a record; it outlives the process from the moment this returns.
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
