import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Thinning of a backup")
struct BackupThinningTests {
  @Test(.evidence("A7")) func `keeps the names of restore points, whichever files are removed`()
    throws
  {
    let disk = MemoryFileSystem()
    let backup = Backup(at: "/backup", on: disk)
    try StoreFixture.on(disk).run { store in
      func backUp(_ number: UInt8) throws -> Generation {
        try store.write { try $0.keyspace("k").put(1, [number]) }
        return try store.backup(to: "/backup").generation
      }
      try store.keep(backUp(1), as: "spring")
      // This file records the name.
      _ = try backUp(2)
      // The next file contains all pages.
      for name in try store.namedGenerations().keys { try store.release(name) }
      _ = try backUp(3)
      for _ in 0..<2 { try backup.thin { !$0.names.isEmpty } }
      #expect(try backup.restorePoints().map(\.names) == [["spring"], []])
    }
  }

  @Test func `reads each file once, many pages at a time`() throws {
    let counting = CountingFileSystem(MemoryFileSystem())
    let backup = Backup(at: "/backup", on: counting)
    try StoreFixture.on(counting).run { store in
      var byteCount = 0
      for round in 1...4 {
        try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          for key in stride(from: 0, to: 20_000, by: round) {
            try keyspace.put(key, [UInt8](repeating: UInt8(round), count: 200))
          }
        }
        byteCount += try store.backup(to: "/backup").byteCount
      }
      let state = try BackedUpState(store.snapshot())
      let before = counting.counts
      #expect(try backup.thin { _ in false } == 3)
      let calls = counting.counts - before
      #expect(byteCount > 8_000_000 && calls.bytesRead < byteCount + 100_000)
      #expect(calls.opens < 200)
      try backup.restore(to: "/restored")
      try state.expectEqual(at: "/restored", on: counting)
    }
  }
}
