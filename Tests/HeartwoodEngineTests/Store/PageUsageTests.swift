import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The page usage")
struct PageUsageTests {
  private func count(_ kind: PageUsage.Kind, in pages: [PageUsage]) -> Int {
    pages.count { $0.kind == kind }
  }

  @Test func `is empty for an empty store`() throws {
    try StoreFixture.inMemory().run { store throws in
      #expect(try store.pageUsage(of: store.snapshot()) == [])
    }
  }

  @Test func `describes each page of a known store`() throws {
    try StoreFixture.inMemory().run { store throws in
      try store.write { transaction in
        let numbers = try transaction.keyspace("numbers")
        for number in 0..<200 { try numbers.put(number, [UInt8](repeating: 7, count: 60)) }
        try transaction.keyspace("large").put(1, [UInt8](repeating: 3, count: 10_000))
      }
      let pages = try store.pageUsage(of: store.snapshot())
      #expect(pages.count == store.statistics.pageCount)
      #expect(pages.first == PageUsage(.bitmap, usedByteCount: 4096))
      // The only branch is the root of `numbers`. The catalog and `large` each consist of one leaf.
      #expect(count(.branch, in: pages) == 1)
      #expect(count(.leaf, in: pages) >= 2 + 200 * 60 / 4096)
      // An overflow page has a header of 32 bytes.
      #expect(count(.overflow, in: pages) == 3)
      #expect(count(.overflowIndex, in: pages) == 1)
      let overflow = pages.filter { $0.kind == .overflow }
      let overflowByteCount = overflow.reduce(0) { $0 + Int($1.usedByteCount) }
      #expect(overflowByteCount == 10_000 + 3 * 32)
      let index = try #require(pages.first { $0.kind == .overflowIndex })
      #expect(index.usedByteCount == 32 + 3 * 4)
      let free = try store.verify().freePageCount
      #expect(count(.free, in: pages) == free)
      #expect(count(.damaged, in: pages) == 0)
    }
  }

  @Test(arguments: [4096, 65_536]) func `shows how full nodes are`(pageByteCount: Int) throws {
    var options = StoreOptions()
    options.pageByteCount = pageByteCount
    options.segmentByteCount = max(options.segmentByteCount, pageByteCount * 16)
    try StoreFixture.inMemory(options).run { store throws in
      try store.write { transaction in
        let numbers = try transaction.keyspace("numbers")
        try numbers.load(sorted: (0..<20_000).map { (Key($0), [UInt8](repeating: 1, count: 50)) })
      }
      let before = try store.pageUsage(of: store.snapshot()).filter { $0.kind == .leaf }
      for page in before { #expect(page.usedByteCount <= pageByteCount) }
      // Loading sorted entries fills all leaves except the tree's last leaf and the catalog's leaf.
      #expect(before.count { Int($0.usedByteCount) * 10 > pageByteCount * 8 } >= before.count - 2)
      // Each entry uses space for its value, the lengths in its cell, the head of its key, and a
      // slot. Each leaf also has a header and a prefix common to its keys. The catalog is a leaf
      // too.
      let bytes = before.reduce(0) { $0 + Int($1.usedByteCount) }
      let entries = 20_000 * (50 + 4 + 8 + 2)
      #expect(entries + before.count * 40..<entries + before.count * 56 + 200 ~= bytes)
      try store.write { transaction in
        let numbers = try transaction.keyspace("numbers")
        for number in 0..<20_000 where number % 4 != 0 { try numbers.delete(number) }
      }
      let after = try store.pageUsage(of: store.snapshot()).filter { $0.kind == .leaf }
      #expect(after.reduce(0) { $0 + Int($1.usedByteCount) } < bytes / 2)
    }
  }

  @Test func `counts free pages as verification does`() throws {
    try StoreFixture.inMemory().run { store throws in
      try store.write { transaction in
        for name in ["a", "b", "c"] {
          let keyspace = try transaction.keyspace(name)
          for number in 0..<300 { try keyspace.put(number, [1, 2, 3]) }
        }
      }
      try store.write { try $0.removeKeyspace("b") }
      let free = try store.verify().freePageCount
      #expect(free > 0)
      let pages = try store.pageUsage(of: store.snapshot())
      #expect(count(.free, in: pages) == free)
      for page in pages where page.kind == .free { #expect(page.usedByteCount == 0) }
    }
  }

  @Test(arguments: [StoreOptions.Access.buffered, .mapped])
  func `shows a damaged page and continues`(access: StoreOptions.Access) throws {
    var damaged = try DamagedPages()
    let leaf = try damaged.page(.leaf) { $0.load32(PageLayout.tree.offset) != 0 }
    damaged.flip(leaf, 2000)
    let pages = try damaged.pageUsage(access)
    #expect(pages[leaf] == PageUsage(.damaged, usedByteCount: 0))
    #expect(count(.damaged, in: pages) == 1)
    #expect(count(.leaf, in: pages) > 1)
  }

  @Test func `throws without an intact bitmap`() throws {
    var damaged = try DamagedPages()
    damaged.flip(0, 4000)
    let error = #expect(throws: StorageError.self) { try damaged.pageUsage(.buffered) }
    #expect(error?.kind == .corrupt)
  }

  @Test func `is that of the requested generation`() throws {
    try StoreFixture.inMemory().run { store throws in
      try store.write { try $0.keyspace("a").put(1, [UInt8](repeating: 1, count: 10_000)) }
      let before = try store.snapshot()
      try store.write { try $0.removeKeyspace("a") }
      #expect(try count(.overflow, in: store.pageUsage(of: before)) == 3)
      #expect(try count(.overflow, in: store.pageUsage(of: store.snapshot())) == 0)
      let other = try StoreFixture.inMemory().open()
      let error = #expect(throws: StorageError.self) { try other.pageUsage(of: before) }
      #expect(error?.kind == .foreignStore)
      try StoreFixture.expectSound(other)
      try other.close()
    }
  }

  @Test func `throws for a closed store`() throws {
    let store = try StoreFixture.inMemory().open()
    try StoreFixture.expectSound(store)
    let snapshot = try store.snapshot()
    try store.close()
    let error = #expect(throws: StorageError.self) { try store.pageUsage(of: snapshot) }
    #expect(error?.kind == .closed)
  }
}

extension DamagedPages {
  /// Opens a store with these pages read-only, and returns its page usage.
  func pageUsage(_ access: StoreOptions.Access) throws -> [PageUsage] {
    var fixture = access == .buffered ? StoreFixture.inMemory() : try StoreFixture.onDisk()
    fixture.options.access = access
    try fixture.write(bytes, to: "pages")
    try fixture.write([], to: "locks")
    fixture.options.isReadOnly = true
    let store = try fixture.open()
    defer { try? store.close() }
    #expect(try !store.verify().findings.isEmpty)
    return try store.pageUsage(of: store.snapshot())
  }
}
