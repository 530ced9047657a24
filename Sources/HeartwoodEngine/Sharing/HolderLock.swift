/// A lock byte that a process locks to show that it has the store open or holds a generation.
///
/// Locks do not identify their owner, so the offset of the byte encodes the PID. The kernel
/// releases the lock when the process ends, as it does for every lock. A read-only process can also
/// hold such a lock.
package struct HolderLock: Hashable, Sendable {
  /// The meaning of the lock, encoded as an offset in the process's byte range.
  private enum Subject {
    static let openForWriting: UInt64 = 0
    static let openForReading: UInt64 = 1
    static let firstGeneration: UInt64 = 2
    static let bitCount: UInt64 = 39
    static let count: UInt64 = 1 << bitCount
  }

  /// An upper bound on PIDs.
  ///
  /// The bound is small enough for all byte ranges to lie below offset 2^62.
  private static let processCount: Int32 = 1 << 22
  /// The range of bytes that contains the holder locks of all processes.
  static let bytes =
    LockByte.holderLock..<LockByte.holderLock + UInt64(processCount) << Subject.bitCount

  let process: Int32
  private let subject: UInt64

  private init(_ process: Int32, _ subject: UInt64) {
    self.process = process
    self.subject = subject
  }

  /// Creates the holder lock that a locked byte represents.
  ///
  /// The byte must be in the range ``bytes``.
  init(byte: UInt64) {
    let offset = byte - LockByte.holderLock
    self.init(Int32(truncatingIfNeeded: offset >> Subject.bitCount), offset & (Subject.count - 1))
  }

  /// Returns the lock that shows that a process has the store open.
  package static func open(_ process: Int32, isReadOnly: Bool) -> HolderLock {
    HolderLock(process, isReadOnly ? Subject.openForReading : Subject.openForWriting)
  }

  /// Returns the lock that shows that a process has held a generation for a while.
  ///
  /// Frame numbers wrap around at the length of a process's byte range, about 2^39. The offsets
  /// remain unique, because the frame numbers of generations that are live at the same time differ
  /// by less than that length.
  package static func holding(_ generation: FrameNumber, _ process: Int32) -> HolderLock {
    let count = Subject.count - Subject.firstGeneration
    return HolderLock(process, Subject.firstGeneration + generation % count)
  }

  /// The byte to lock, or `nil` if the PID is out of range.
  package var byte: UInt64? {
    guard 0..<Self.processCount ~= process else { return nil }
    return LockByte.holderLock + UInt64(process) << Subject.bitCount + subject
  }
}

extension StoreLocks {
  /// The maximum number of consecutive locked bytes that are treated as holder locks.
  ///
  /// A longer run of locked bytes must come from another program.
  private static let maxHolderLockRunByteCount = 1 << 12

  /// Sets a holder lock.
  ///
  /// A failure is harmless, because the lock only informs users.
  ///
  /// - Returns: `true` if the lock was set.
  package func set(_ holderLock: HolderLock) -> Bool {
    guard let byte = holderLock.byte, let isSet = try? tryLock(.shared, byte: byte) else {
      return false
    }
    return isSet
  }

  package func remove(_ holderLock: HolderLock) {
    guard let byte = holderLock.byte else { return }
    // Ignore a failure. The process may then still be listed as a holder, which is harmless.
    try? unlock(byte: byte)
  }

  package func isSetElsewhere(_ holderLock: HolderLock) -> Bool {
    guard let byte = holderLock.byte, let isSet = try? isLockedElsewhere(byte: byte) else {
      return false
    }
    return isSet
  }

  /// Returns the holder locks of all other owners, or an empty array if the locks cannot be read.
  package func holderLocksElsewhere() -> [HolderLock] {
    let runs = (try? lockedElsewhere(in: HolderLock.bytes)) ?? []
    return runs.filter { $0.count <= Self.maxHolderLockRunByteCount }
      .flatMap { $0.map(HolderLock.init(byte:)) }
  }
}
