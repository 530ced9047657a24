/// The locks a process holds on one store: its presence and its live generations.
///
/// Open-file-description locks: the kernel drops them when the process dies, and closing another
/// descriptor of the file does not. Nobody ever write-locks a live byte, so pinning never waits.
package final class StoreLocks: Sendable {
  package let file: any File

  package init(file: any File) { self.file = file }

  package func tryLock(_ kind: LockKind, byte: UInt64) throws(StorageError) -> Bool {
    try file.lock(kind, byte..<(byte + 1))
  }

  /// Locks a byte, after waiting for those in the way.
  package func waitForLock(_ kind: LockKind, byte: UInt64) throws(StorageError) {
    try file.waitForLock(kind, byte..<(byte + 1))
  }

  /// Whether another owner has any lock on this byte.
  package func isLockedElsewhere(byte: UInt64) throws(StorageError) -> Bool {
    try file.lockedByOthers(in: byte..<(byte + 1)) != nil
  }

  package func unlock(byte: UInt64) throws(StorageError) {
    _ = try file.lock(.none, byte..<(byte + 1))
  }

  package func lockLive(_ generation: FrameNumber) throws(StorageError) {
    guard try tryLock(.shared, byte: LockByte.live + generation) else {
      throw StorageError(
        .io, "Something holds an exclusive lock on a generation; no Heartwood store does that.",
        file: file.path)
    }
  }

  package func unlockLive(_ generation: FrameNumber) throws(StorageError) {
    try unlock(byte: LockByte.live + generation)
  }

  /// The generations in `range` that other owners have locked, ascending.
  package func liveElsewhere(
    in range: Range<FrameNumber>
  ) throws(StorageError) -> [FrameNumber] {
    let bytes = (LockByte.live + range.lowerBound)..<(LockByte.live + range.upperBound)
    return try lockedElsewhere(in: bytes).flatMap { run in
      (run.lowerBound - LockByte.live)..<(run.upperBound - LockByte.live)
    }
  }

  /// The bytes in a range that other owners have locked, ascending.
  ///
  /// One question answers with some conflicting lock, not the lowest, so the rest of the range
  /// stays open until a question about it finds nothing: at most 2k + 1 questions for k locks.
  package func lockedElsewhere(
    in range: Range<UInt64>
  ) throws(StorageError) -> [Range<UInt64>] {
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
