import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests `changes(from:to:_:)` with a page file in which pages were changed and their hashes
/// recomputed.
@Suite("The changes in a damaged store")
struct DamagedChangesTests {
  /// Opens a store with the given pages, writes to it, and returns the changes.
  private func changes(
    _ pages: DamagedPages, _ body: (inout WriteTransaction) throws -> Void
  ) throws -> [StoreChange] {
    let fixture = StoreFixture.inMemory()
    try fixture.write(pages.bytes, to: "pages")
    let store = try fixture.open()
    let before = try store.snapshot()
    var changes: [StoreChange] = []
    defer { #expect(store.files.cache.pinnedCount == 0) }
    try store.write(body)
    try store.changes(from: before, to: try store.snapshot()) { changes.append($0) }
    return changes
  }

  /// Overwrites rows in several leaves, and overwrites large values with the same bytes.
  private func overwrite(_ transaction: inout WriteTransaction) throws {
    let rows = try transaction.keyspace("numbers")
    for number in stride(from: 0, to: 200, by: 50) { try rows.put(number, [8]) }
    let values = try transaction.keyspace("large")
    try values.put(1, [UInt8](repeating: 2, count: 3000))
    try values.put(2, [UInt8](repeating: 3, count: 10_000))
  }

  @Test func `are correct before anything is damaged`() throws {
    let expected = [0, 50, 100, 150].map {
      StoreChange(keyspace: "numbers", key: Key($0).bytes, kind: .updated)
    }
    #expect(try changes(DamagedPages(), overwrite) == expected)
  }

  @Test(.evidence("B3")) func `throw if a bitmap page is missing`() throws {
    var pages = try DamagedPages()
    pages.change(0) { bitmap in
      // Replace the bitmap with an empty leaf, which is a valid page.
      bitmap.clear(24, bitmap.count - 24)
      bitmap.store8(PageKind.leaf.rawValue, PageLayout.kind.offset)
      bitmap.store32(UInt32(bitmap.count), NodeLayout.heapStart.offset)
    }
    let error = #expect(throws: StorageError.self) { try changes(pages, overwrite) }
    #expect(error?.kind == .corrupt)
  }

  @Test(.evidence("B3")) func `throw if two leaves contain the same keys`() throws {
    var pages = try DamagedPages()
    let tree = try pages.row("numbers").tree
    let leaves = (0..<pages.pageCount).filter { page in
      pages.isUsed(page)
        && pages.read(page) {
          $0.load8(PageLayout.kind.offset) == PageKind.leaf.rawValue
            && $0.load32(PageLayout.tree.offset) == tree
        }
    }
    try #require(leaves.count > 2)
    let first = pages.read(leaves[0]) { $0.slice(24, $0.count - 24).copied() }
    for leaf in leaves.dropFirst() {
      pages.change(leaf) { page in first.withBytes { page.copy($0, to: 24) } }
    }
    let error = #expect(throws: StorageError.self) {
      try changes(pages) { try $0.removeKeyspace("numbers") }
    }
    #expect(error?.kind == .corrupt)
    #expect(error?.message.contains("out of order") == true)
  }

  @Test(.evidence("B3"), arguments: TestScale.seeds(quick: 2, all: 8))
  func `are correct or throw, whatever bytes were changed`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let sound = try DamagedPages()
    var errorCount = 0
    for _ in 0..<60 {
      var pages = sound
      for _ in 0..<1 + random.below(3) {
        let page = random.below(pages.pageCount)
        pages.change(page) { bytes in
          // Change bytes in the headers and slots of pages more often than other bytes.
          let offset = 16 + random.below(random.isTrue(in256: 128) ? 40 : bytes.count - 16)
          bytes.store8(UInt8(truncatingIfNeeded: random.next()), offset)
        }
      }
      do {
        _ = try changes(pages, overwrite)
      } catch let error as StorageError {
        errorCount += 1
        #expect(error.kind == .corrupt, "\(error), seed \(seed)")
      }
    }
    #expect(errorCount > 0, "seed \(seed)")
  }
}
