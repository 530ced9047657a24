/// A process's locks on one store, such as those on the generations that it holds.
///
/// These locks are open-file-description locks. The kernel releases such locks when the process
/// dies, but not when another descriptor for the file is closed. No process ever locks the byte of
/// a live generation exclusively, so pinning never waits.
package final class StoreLocks: Sendable {
  package let file: any File

  package init(file: any File) { self.file = file }

  package func tryLock(_ kind: LockKind, byte: UInt64) throws(StorageError) -> Bool {
    try file.lock(kind, byte..<(byte + 1))
  }

  package func waitForLock(_ kind: LockKind, byte: UInt64) throws(StorageError) {
    try file.waitForLock(kind, byte..<(byte + 1))
  }

  package func isLockedElsewhere(byte: UInt64) throws(StorageError) -> Bool {
    try file.lockedByOthers(in: byte..<(byte + 1)) != nil
  }

  package func unlock(byte: UInt64) throws(StorageError) {
    _ = try file.lock(.none, byte..<(byte + 1))
  }

  package func lockLive(_ generation: FrameNumber) throws(StorageError) {
    guard try tryLock(.shared, byte: LockByte.live + generation) else {
      throw StorageError(
        .io,
        "Another program holds an exclusive lock on a byte that Heartwood locks only in shared "
          + "mode. Find the program that has locked this file, and stop it.", file: file.path)
    }
  }

  package func unlockLive(_ generation: FrameNumber) throws(StorageError) {
    try unlock(byte: LockByte.live + generation)
  }

  /// Returns the generations in `range` that other owners have locked, in ascending order.
  package func liveElsewhere(in range: Range<FrameNumber>) throws(StorageError) -> [FrameNumber] {
    let bytes = (LockByte.live + range.lowerBound)..<(LockByte.live + range.upperBound)
    return try lockedElsewhere(in: bytes).flatMap { run in
      (run.lowerBound - LockByte.live)..<(run.upperBound - LockByte.live)
    }
  }

  /// Returns the runs of bytes in `range` that other owners have locked, in ascending order.
  ///
  /// Up to 2k + 1 queries are needed for k locks, because a query returns an arbitrary conflicting
  /// lock.
  package func lockedElsewhere(in range: Range<UInt64>) throws(StorageError) -> [Range<UInt64>] {
    var open = [range]
    var found: [Range<UInt64>] = []
    while let part = open.popLast() {
      guard !part.isEmpty else { continue }
      guard let hit = try file.lockedByOthers(in: part) else { continue }
      let (first, end) = (hit.lowerBound, hit.upperBound)
      found.append(hit)
      open.append(part.lowerBound..<first)
      open.append(end..<part.upperBound)
    }
    return found.sorted { $0.lowerBound < $1.lowerBound }
  }
}
