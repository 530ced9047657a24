import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that a writer neither loses pages nor allocates a page twice.
@Suite("The free space")
struct FreeSpaceTests {
  private func allocate(_ fixture: TreeFixture) throws -> PageNumber {
    let page = try fixture.pages.allocate(.overflow, tree: TreeFixture.tree, level: 0)
    // Turn the page into an overflow page that is valid enough to be read again.
    try fixture.pages.writable(page).store32(1, OverflowLayout.payloadCount.offset)
    return page
  }

  @Test func `is allocated from the lowest page on`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    #expect(fixture.root.page == 1)
    #expect(try (0..<100).map { _ in try allocate(fixture) } == Array(2..<102))
    #expect(fixture.pages.pageCount == 102)
  }

  @Test func `is reused`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    for _ in 0..<50 { _ = try allocate(fixture) }
    for page: PageNumber in [30, 7, 12, 51] { try fixture.pages.free(page) }
    #expect(fixture.pages.lowestFree == 7)
    #expect(try (0..<5).map { _ in try allocate(fixture) } == [7, 12, 30, 51, 52])
    try fixture.pages.free(52)
    try fixture.beginTransaction()
    #expect(try allocate(fixture) == 52)
    #expect(try allocate(fixture) == 53)
  }

  @Test(arguments: TestScale.seeds(quick: 2, all: 8))
  func `yields the lowest free page, whichever pages were freed`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try TreeFixture(pageByteCount: seed % 2 == 0 ? 4096 : 65_536)
    var used: Set<PageNumber> = [0, 1]
    for step in 0..<1500 {
      if random.isTrue(in256: 150) || used.count < 3 {
        let page = try allocate(fixture)
        let lowest = (0...PageNumber(used.count)).first { !used.contains($0) }
        #expect(page == lowest, "seed \(seed), step \(step)")
        used.insert(page)
      } else {
        let candidates = used.filter { $0 > 1 }.sorted()
        let page = candidates[random.below(candidates.count)]
        try fixture.pages.free(page)
        used.remove(page)
      }
      if random.isTrue(in256: 3) { try fixture.beginTransaction() }
    }
    #expect(try fixture.livePages == used.subtracting([0]), "seed \(seed)")
  }

  @Test(.evidence("B3")) func `rejects freeing a page that is free, missing or a bitmap`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let page = try allocate(fixture)
    try fixture.pages.free(page)
    for wrong: PageNumber in [page, 0, 3, 4711, .max - 1, .max] {
      let error = #expect(throws: StorageError.self) { try fixture.pages.free(wrong) }
      #expect(error?.kind == .corrupt)
      #expect(error?.page == wrong)
    }
    #expect(try allocate(fixture) == page)
  }

  @Test(.evidence("B3")) func `rejects freeing a page whose bitmap is another page`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let page = try allocate(fixture)
    try fixture.pages.writable(0).store8(PageKind.overflow.rawValue, PageLayout.kind.offset)
    let error = #expect(throws: StorageError.self) { try fixture.pages.free(page) }
    #expect(error?.kind == .corrupt)
    #expect(error?.page == 0)
  }

  /// Expects that the pages freed in the ranges of both bitmaps, including pages of large values,
  /// are reported as replaced.
  private func expectFreed(_ before: Snapshot, _ after: Snapshot) throws {
    let difference = try PageDifference(from: before.state, to: after.state)
    let freed = difference.replaced.filter { !difference.written.contains($0) }
    #expect(freed.count { $0 < 32_512 } > 2000)
    #expect(freed.count { $0 > 32_512 } > 2000)
    #expect(!freed.contains(32_512))
  }

  /// A bitmap of 4,096 bytes covers 32,512 pages, one of which is the bitmap itself.
  @Test(.evidence("B5"), .enabled(if: TestScale.current >= .all))
  func `continues in a second bitmap`() throws {
    let perBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: 4096)
    #expect(perBitmap == 32_512)
    var options = StoreOptions()
    options.durability = .normal
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 32 << 20
    let fixture = try StoreFixture.onDisk(options)
    let value = [UInt8](repeating: 0x5A, count: 8 << 20)
    try fixture.run { store in
      for number in 0..<17 {
        try store.write { try $0.keyspace("large").put(number, value) }
      }
      let pageCount = store.statistics.pageCount
      #expect(pageCount > perBitmap + 1000)
      try StoreFixture.expectSound(store)
      try store.checkpoint()
      // Free pages in the ranges of both bitmaps. Those at the end are truncated, and the others
      // are reused from the lowest page up.
      let before = try store.snapshot()
      try store.write { transaction in
        for number in [2, 16] { try transaction.keyspace("large").delete(number) }
      }
      try expectFreed(before, try store.snapshot())
      #expect(try store.verify().freePageCount > 2000)
      #expect(store.statistics.pageCount < pageCount - 2000)
      try store.write { transaction in
        for number in [2, 16] { try transaction.keyspace("large").put(number, value) }
      }
      #expect(store.statistics.pageCount <= pageCount + 2)
    }
    try fixture.run { store in
      let large = try #require(try store.snapshot().keyspace("large"))
      for number in [0, 2, 15, 16] { #expect(try large.get(number) == value) }
    }
  }
}
