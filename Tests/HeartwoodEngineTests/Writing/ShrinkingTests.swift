import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests page counts that decrease when the last pages become free, and later increase again.
@Suite("The end of the page file")
struct ShrinkingTests {
  private static func options(_ access: StoreOptions.Access = .mapped) -> StoreOptions {
    var options = StoreOptions()
    options.access = access
    options.durability = .normal
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 1 << 20
    return options
  }

  private static let large = [UInt8](repeating: 0x5A, count: 400_000)

  private func byteCount(_ fixture: StoreFixture) throws -> Int {
    Int(try #require(try fixture.fileSystem.open(fixture.path(of: "pages"), .read)).byteCount())
  }

  @Test func `moves with the pages that are freed there`() throws {
    try StoreFixture.inMemory(Self.options()).run { store in
      try store.write { try $0.keyspace("small").put(1, [1]) }
      let before = store.statistics.pageCount
      try store.write { try $0.keyspace("large").put(1, Self.large) }
      #expect(store.statistics.pageCount > before + 90)
      try store.write { try $0.keyspace("large").delete(1) }
      // The root of the keyspace `large` is still in use.
      #expect(store.statistics.pageCount == before + 1)
      try store.write { try $0.removeKeyspace("large") }
      #expect(store.statistics.pageCount == before)
      // A keyspace that is created and removed in the same transaction leaves no pages behind.
      try store.write { transaction in
        try transaction.keyspace("large").put(1, Self.large)
        try transaction.removeKeyspace("large")
      }
      #expect(store.statistics.pageCount == before)
      #expect(try store.verify().freePageCount == 0)
    }
  }

  /// The file is truncated only in steps, so it still contains the page that is read.
  @Test(.evidence("B3")) func `has no page after it that can be read`() throws {
    try StoreFixture.inMemory(Self.options()).run { store in
      let small = [UInt8](repeating: 1, count: 40_000)
      try store.write { try $0.keyspace("small").put(1, small) }
      let last = PageNumber(store.statistics.pageCount) - 1
      try store.checkpoint()
      try store.write { try $0.keyspace("small").delete(1) }
      try store.checkpoint()
      #expect(store.statistics.pageCount <= last)
      let snapshot = try store.snapshot()
      let error = #expect(throws: StorageError.self) { try snapshot.state.view.page(last) }
      #expect(error?.kind == .corrupt)
      #expect(error?.file != "pages")
      withExtendedLifetime(snapshot) {}
    }
  }

  @Test func `is examined only in transactions that free pages`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    for _ in 0..<10 { _ = try fixture.pages.allocate(.overflow, tree: 5, level: 0) }
    try fixture.pages.cutTail()
    #expect(fixture.pages.pageCount == 12)
    try fixture.pages.free(5)
    try fixture.pages.cutTail()
    #expect(fixture.pages.pageCount == 12)
    for page: PageNumber in 9...11 { try fixture.pages.free(page) }
    try fixture.pages.cutTail()
    #expect(fixture.pages.pageCount == 9)
    #expect(try fixture.pages.allocate(.overflow, tree: 5, level: 0) == 5)
    #expect(try fixture.pages.allocate(.overflow, tree: 5, level: 0) == 9)
  }

  /// The first page in the range of the second bitmap is the bitmap itself.
  ///
  /// This bitmap is unnecessary if the range contains no other page.
  @Test func `removes a bitmap that covers no other page`() throws {
    let fixture = try TreeFixture(pageByteCount: 4096)
    let perBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: 4096)
    var last: PageNumber = 0
    while last < perBitmap + 2 {
      last = try fixture.pages.allocate(.overflow, tree: 5, level: 0)
      try fixture.pages.writable(last).store32(1, OverflowLayout.payloadCount.offset)
    }
    for _ in 0..<2 {
      #expect(last == perBitmap + 2)
      try fixture.pages.free(last)
      try fixture.pages.free(last - 1)
      try fixture.pages.cutTail()
      #expect(Int(fixture.pages.pageCount) == perBitmap)
      let before = fixture.pages.state.generation
      try fixture.beginTransaction()
      // No images were written for the pages beyond the page count.
      fixture.pages.state.index.forEach(newerThan: before) { page, _ in
        #expect(page < perBitmap)
      }
      #expect(Int(fixture.pages.pageCount) == perBitmap)
      // The index still lists the old bitmap, but a new one must be created.
      for expected in 1...2 {
        last = try fixture.pages.allocate(.overflow, tree: 5, level: 0)
        try fixture.pages.writable(last).store32(1, OverflowLayout.payloadCount.offset)
        #expect(Int(last) == perBitmap + expected)
      }
      try fixture.beginTransaction()
    }
    #expect(try fixture.livePages.count == perBitmap - 1 + 2)
  }

  @Test(.evidence("I1"), arguments: [StoreOptions.Access.mapped, .buffered], [false, true])
  func `moves while a snapshot still reads the pages there`(
    access: StoreOptions.Access, isCheckpointed: Bool
  ) throws {
    let fixture = try StoreFixture.onDisk(Self.options(access))
    try fixture.run { store in
      try store.write { transaction in
        try transaction.keyspace("small").put(1, [1])
        try transaction.keyspace("large").put(1, Self.large)
      }
      if isCheckpointed { try store.checkpoint() }
      var larger: Snapshot? = try store.snapshot()
      let largest = try byteCount(fixture)
      try store.write { try $0.removeKeyspace("large") }
      let least = store.statistics.pageCount
      try store.checkpoint()
      #expect(try byteCount(fixture) >= 400_000)
      #expect(try larger?.keyspace("large")?.get(1) == Self.large)
      // Let the store grow again, with different pages in the same locations.
      let other = [UInt8](repeating: 0xA5, count: 300_000)
      try store.write { try $0.keyspace("other").put(1, other) }
      let last = try store.snapshot()
      try store.checkpoint()
      #expect(try larger?.keyspace("large")?.get(1) == Self.large)
      #expect(try last.keyspace("other")?.get(1) == other)
      try store.write { try $0.removeKeyspace("other") }
      larger = nil
      try store.checkpoint()
      #expect(try last.keyspace("other")?.get(1) == other)
      #expect(try byteCount(fixture) <= largest)
      #expect(store.statistics.pageCount == least)
    }
    try fixture.run { store in
      try store.write { try $0.keyspace("small").put(2, [2]) }
      try store.checkpoint()
      #expect(try byteCount(fixture) == 2 << 17)
      #expect(try store.snapshot().keyspace("small")?.get(1) == [1])
    }
  }

  /// The page counts of successive commits decrease and increase, and only some of the commits are
  /// checkpointed.
  @Test(.evidence("D2"), arguments: TestScale.seeds(quick: 1, all: 8))
  func `is that of the newest commit after any opening`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try StoreFixture.onDisk(
      Self.options(seed % 2 == 0 ? .mapped : .buffered))
    var content: [Int: [UInt8]] = [:]
    var held: [(content: [Int: [UInt8]], snapshot: Snapshot)] = []
    for _ in 0..<6 {
      let store = try fixture.open()
      for _ in 0..<12 {
        try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          for _ in 0..<random.below(4) {
            let key = random.below(6)
            content[key] = random.isTrue(in256: 128) ? nil : random.bytes(random.below(90_000))
            if let value = content[key] {
              try keyspace.put(key, value)
            } else {
              try keyspace.delete(key)
            }
          }
        }
        if random.isTrue(in256: 80) { held.append((content, try store.snapshot())) }
        if random.isTrue(in256: 60), !held.isEmpty { held.removeFirst() }
        if random.isTrue(in256: 60) { try store.checkpoint() }
        for (content, snapshot) in held + [(content, try store.snapshot())] {
          for key in 0..<6 {
            #expect(try snapshot.keyspace("k")?.get(key) == content[key], "seed \(seed)")
          }
        }
        try StoreFixture.expectSound(store)
      }
      held = []
      // In about half of the rounds, leave the store open, so that the next opening runs recovery.
      if random.isTrue(in256: 128) { try store.close() }
    }
    try fixture.run { store in
      let snapshot = try store.snapshot()
      for key in 0..<6 {
        #expect(try snapshot.keyspace("k")?.get(key) == content[key], "seed \(seed)")
      }
    }
  }
}
