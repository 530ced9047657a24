import HeartwoodEngine
import Testing

/// Checks the locking rules of a file system with two openings of the same file.
func expectLockRules(first: any File, second: any File) throws {
  let base: UInt64 = 1 << 40
  // Shared locks are compatible with each other, but not with an exclusive lock.
  #expect(try first.lock(.shared, base..<base + 10))
  #expect(try second.lock(.shared, base..<base + 10))
  #expect(try first.lock(.exclusive, base..<base + 10) == false)
  #expect(try second.lockedByOthers(in: 0..<base + 5) == base..<base + 5)
  // The conversion failed, so the lock is still shared.
  #expect(try second.lock(.none, base..<base + 10))
  #expect(try second.lock(.exclusive, base + 3..<base + 4) == false)
  #expect(try second.lock(.exclusive, base + 10..<base + 12))
  // A lock can be converted from shared to exclusive and back.
  #expect(try first.lock(.exclusive, base..<base + 10))
  #expect(try second.lock(.shared, base + 9..<base + 10) == false)
  #expect(try first.lock(.shared, base..<base + 10))
  #expect(try second.lock(.shared, base + 9..<base + 10))
  // After the middle of a locked range is released, both ends remain locked.
  #expect(try first.lock(.none, base + 2..<base + 8))
  #expect(try second.lockedByOthers(in: base + 2..<base + 8) == nil)
  #expect(try second.lockedByOthers(in: base + 1..<base + 8) == base + 1..<base + 2)
  #expect(try second.lockedByOthers(in: base + 2..<base + 100) == base + 8..<base + 10)
  // A query does not report the caller's own locks, and an empty range is never locked.
  #expect(try first.lockedByOthers(in: base + 10..<base + 20) == base + 10..<base + 12)
  #expect(try second.lockedByOthers(in: base + 10..<base + 20) == nil)
  #expect(try first.lock(.exclusive, base + 11..<base + 11))
  #expect(try first.lockedByOthers(in: base + 11..<base + 11) == nil)
}
