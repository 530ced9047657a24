import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which pages the cache for buffered reading keeps, and which it evicts.
@Suite("A page cache")
struct PageCacheTests {
  private static let pageByteCount = 4096
  /// The capacity in pages: four in each of the sixteen shards.
  private static let capacity = 64

  private func cache() -> PageCache {
    PageCache(byteCount: Self.capacity * Self.pageByteCount, pageByteCount: Self.pageByteCount)
  }

  private static let refusal = StorageError(.io, "This page must not be read.")

  /// Returns whether a page is in the cache.
  ///
  /// The check itself counts as a use of the page.
  private func holds(_ cache: PageCache, _ location: UInt64) -> Bool {
    guard
      let entry = try? cache.pin(location, load: { (_) throws(StorageError) in throw Self.refusal })
    else { return false }
    cache.unpin(entry)
    return true
  }

  private func visit(_ cache: PageCache, _ locations: Range<UInt64>) throws {
    for location in locations { cache.unpin(try cache.pin(location) { $0.store64(location, 0) }) }
  }

  @Test func `reads a page once`() throws {
    let cache = cache()
    var loads = 0
    for _ in 0..<3 {
      let entry = try cache.pin(17) { target in
        #expect(target.count == Self.pageByteCount)
        loads += 1
      }
      #expect(cache.pinnedCount == 1)
      cache.unpin(entry)
    }
    #expect(loads == 1)
    #expect(cache.pinnedCount == 0)
    #expect(cache.counts == (lookups: 3, reads: 1))
  }

  @Test func `is bounded`() throws {
    let cache = cache()
    try visit(cache, 0..<2000)
    let held = (0..<2000 as Range<UInt64>).filter { holds(cache, $0) }
    #expect(held.count <= Self.capacity)
    #expect(held.count > Self.capacity / 2)
  }

  @Test func `of zero bytes still holds a few pages`() throws {
    let cache = PageCache(byteCount: 0, pageByteCount: Self.pageByteCount)
    try visit(cache, 0..<1000)
    #expect((0..<1000 as Range<UInt64>).count { holds(cache, $0) } <= Self.capacity)
  }

  @Test func `keeps pinned pages, however many`() throws {
    let cache = cache()
    let pinned = try (0..<500 as Range<UInt64>).map { try cache.pin($0) { _ in } }
    try visit(cache, 1000..<3000)
    #expect(cache.pinnedCount == 500)
    #expect((0..<500 as Range<UInt64>).allSatisfy { holds(cache, $0) })
    for entry in pinned { cache.unpin(entry) }
    #expect(cache.pinnedCount == 0)
    // Pages in excess of the capacity are evicted gradually.
    try visit(cache, 3000..<6000)
    #expect((0..<6000 as Range<UInt64>).count { holds(cache, $0) } <= Self.capacity)
  }

  @Test func `keeps a page that is used often`() throws {
    let cache = cache()
    var loads = 0
    for round in 0..<500 as Range<UInt64> {
      cache.unpin(try cache.pin(7) { _ in loads += 1 })
      try visit(cache, (1000 + round)..<(1001 + round))
    }
    #expect(loads < 50)
  }

  @Test func `evicts a page whose bytes change`() throws {
    let cache = cache()
    try visit(cache, 0..<10)
    cache.forget(4)
    cache.forget(4711)
    #expect(!holds(cache, 4))
    #expect((0..<10 as Range<UInt64>).count { holds(cache, $0) } == 9)
  }

  @Test func `evicts a pinned page without disturbing its reader`() throws {
    let cache = cache()
    let old = try cache.pin(4) { _ in }
    cache.forget(4)
    var loads = 0
    let new = try cache.pin(4) { _ in loads += 1 }
    #expect(loads == 1)
    #expect(old !== new)
    cache.unpin(old)
    #expect(cache.pinnedCount == 1)
    cache.unpin(new)
    #expect(cache.pinnedCount == 0)
    #expect(holds(cache, 4))
  }

  @Test(.evidence("F4"), .evidence("B1")) func `never caches a page that could not be read`() throws
  {
    let cache = cache()
    for _ in 0..<3 {
      #expect(throws: Self.refusal) {
        try cache.pin(5) { (_) throws(StorageError) in throw Self.refusal }
      }
    }
    #expect(cache.pinnedCount == 0)
    #expect(cache.counts == (lookups: 3, reads: 3))
    var loads = 0
    cache.unpin(try cache.pin(5) { _ in loads += 1 })
    #expect(loads == 1)
    #expect(holds(cache, 5))
  }
}
