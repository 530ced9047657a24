/// The offsets of the lock bytes in the `locks` file.
package enum LockByte {
  package static let presenceReadWrite: UInt64 = 0
  package static let presenceReadOnly: UInt64 = 1
  package static let maintenance: UInt64 = 2
  package static let writer: UInt64 = 3
  package static let sync: UInt64 = 4
  package static let keep: UInt64 = 5
  package static let doorbell: UInt64 = 6
  package static let probe: UInt64 = 7
  package static let allocator: UInt64 = 8
  package static let observing: UInt64 = 9
  package static let following: UInt64 = 10
  package static let creation: UInt64 = 11
  /// The offset of the first row lock.
  ///
  /// The process that owns row r of the `holders` file locks byte `holderRow` + r.
  package static let holderRow: UInt64 = 1 << 32
  /// The offset of the first generation lock.
  ///
  /// A process locks byte `live` + g in shared mode while generation g is live in that process.
  package static let live: UInt64 = 1 << 40
  /// The offset of the first holder lock.
  ///
  /// Holder locks show which generations a process holds; see `HolderLock`.
  package static let holderLock: UInt64 = 1 << 61
}
