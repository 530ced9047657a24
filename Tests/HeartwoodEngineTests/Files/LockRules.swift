import HeartwoodEngine
import Testing

/// Checks the guarantees of every file system about locks; the two are the same file, opened twice.
func expectLockRules(first: any File, second: any File) throws {
  let base: UInt64 = 1 << 40
  // Shared locks agree, an exclusive one does not.
  #expect(try first.lock(.shared, base..<base + 10))
  #expect(try second.lock(.shared, base..<base + 10))
  #expect(try first.lock(.exclusive, base..<base + 10) == false)
  #expect(try second.lockedByOthers(in: 0..<base + 5) == base..<base + 5)
  // The failed conversion has left the shared lock unchanged.
  #expect(try second.lock(.none, base..<base + 10))
  #expect(try second.lock(.exclusive, base + 3..<base + 4) == false)
  #expect(try second.lock(.exclusive, base + 10..<base + 12))
  // Conversion, up and down.
  #expect(try first.lock(.exclusive, base..<base + 10))
  #expect(try second.lock(.shared, base + 9..<base + 10) == false)
  #expect(try first.lock(.shared, base..<base + 10))
  #expect(try second.lock(.shared, base + 9..<base + 10))
  // Releasing the middle leaves both ends.
  #expect(try first.lock(.none, base + 2..<base + 8))
  #expect(try second.lockedByOthers(in: base + 2..<base + 8) == nil)
  #expect(try second.lockedByOthers(in: base + 1..<base + 8) == base + 1..<base + 2)
  #expect(try second.lockedByOthers(in: base + 2..<base + 100) == base + 8..<base + 10)
  // A process's own locks do not count as those of others, and an empty range is never locked.
  #expect(try first.lockedByOthers(in: base + 10..<base + 20) == base + 10..<base + 12)
  #expect(try second.lockedByOthers(in: base + 10..<base + 20) == nil)
  #expect(try first.lock(.exclusive, base + 11..<base + 11))
  #expect(try first.lockedByOthers(in: base + 11..<base + 11) == nil)
}
