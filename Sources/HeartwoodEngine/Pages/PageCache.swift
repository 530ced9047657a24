/// A bounded cache of verified pages, used when files are not mapped.
///
/// The cache is thread-safe. Each of its sixteen shards has a lock, which is held while a missing
/// page is read, so that two readers never load the same page at the same time. Pinned pages are
/// never evicted, so the cache can exceed its limit while all its pages are pinned.
package final class PageCache: @unchecked Sendable {
  // `@unchecked` is safe because each shard's lock guards the shard's state.

  /// The location of a page: `frame << 1 | 1` in the log, or `page << 1` in the page file.
  package typealias Location = UInt64

  package final class Entry {
    let location: Location
    let block: ByteBlock
    fileprivate let shard: Int
    fileprivate(set) var pins = 1
    fileprivate var wasUsed = true

    fileprivate init(location: Location, block: ByteBlock, shard: Int) {
      self.location = location
      self.block = block
      self.shard = shard
    }
  }

  private final class Shard {
    let lock = Lock()
    var entries: [Location: Entry] = [:]
    var order: [Entry] = []
    var hand = 0
    var hits = 0
    var misses = 0
  }

  private let shards: [Shard]
  private let pageByteCount: Int
  private let entriesPerShard: Int

  package init(byteCount: Int, pageByteCount: Int) {
    self.pageByteCount = pageByteCount
    shards = (0..<16).map { _ in Shard() }
    entriesPerShard = max(4, byteCount / pageByteCount / 16)
  }

  private func shard(of location: Location) -> Int {
    Int(truncatingIfNeeded: (location &* 0x9E37_79B9_7F4A_7C15) >> 60)
  }

  /// Pins and returns the page at `location`.
  ///
  /// If the page is not cached, the method calls `load` to read and verify it.
  package func pin(
    _ location: Location, load: (MutableBytes) throws(StorageError) -> Void
  ) throws(StorageError) -> Entry {
    let number = shard(of: location)
    let shard = shards[number]
    return try shard.lock.withLock { () throws(StorageError) in
      if let entry = shard.entries[location] {
        shard.hits += 1
        entry.pins += 1
        entry.wasUsed = true
        return entry
      }
      shard.misses += 1
      // Reuse the memory of an evicted page. Otherwise, one thread might free memory while another
      // thread allocates new memory, and the C library's allocator would retain memory for both
      // threads.
      let block = makeRoom(in: shard) ?? ByteBlock(count: pageByteCount)
      let entry = Entry(location: location, block: block, shard: number)
      // Insert the entry only after loading the page, so that a page that failed verification is
      // read again.
      try load(block.bytes)
      shard.entries[location] = entry
      shard.order.append(entry)
      return entry
    }
  }

  package func unpin(_ entry: Entry) {
    shards[entry.shard].lock.withLock { entry.pins -= 1 }
  }

  /// Evicts a page whose location is about to be overwritten.
  package func forget(_ location: Location) {
    let shard = shards[shard(of: location)]
    shard.lock.withLock {
      if let entry = shard.entries.removeValue(forKey: location) {
        shard.order.removeAll { $0 === entry }
      }
    }
  }

  /// Evicts the pages of `frame` and all later frames, which are about to be overwritten.
  package func forgetFrames(from frame: UInt64) {
    let first = frame << 1 | 1
    forget(where: { $0 & 1 == 1 && $0 >= first })
  }

  /// Evicts all pages of the page file, because another process may have changed the file.
  package func forgetPages() { forget(where: { $0 & 1 == 0 }) }

  private func forget(where isGone: (Location) -> Bool) {
    for shard in shards {
      shard.lock.withLock {
        shard.order.removeAll { entry in
          guard isGone(entry.location) else { return false }
          shard.entries.removeValue(forKey: entry.location)
          return true
        }
      }
    }
  }

  /// Makes room for a page.
  ///
  /// The method evicts pages that have not been used since the clock hand last passed them.
  ///
  /// - Returns: The memory of an evicted page, or `nil` if no page was evicted.
  private func makeRoom(in shard: Shard) -> ByteBlock? {
    var evicted: ByteBlock?
    var steps = shard.order.count * 2
    while shard.order.count >= entriesPerShard, steps > 0 {
      steps -= 1
      if shard.hand >= shard.order.count { shard.hand = 0 }
      let entry = shard.order[shard.hand]
      if entry.pins > 0 {
        shard.hand += 1
      } else if entry.wasUsed {
        entry.wasUsed = false
        shard.hand += 1
      } else {
        shard.entries.removeValue(forKey: entry.location)
        shard.order[shard.hand] = shard.order[shard.order.count - 1]
        shard.order.removeLast()
        evicted = entry.block
      }
    }
    return evicted
  }

  package var pinnedCount: Int {
    shards.reduce(0) { sum, shard in
      sum + shard.lock.withLock { shard.order.count { $0.pins > 0 } }
    }
  }

  /// The number of lookups, and the number of lookups for which a page had to be read from a file.
  package var counts: (lookups: Int, reads: Int) {
    shards.reduce(into: (0, 0)) { sum, shard in
      shard.lock.withLock {
        sum.0 += shard.hits + shard.misses
        sum.1 += shard.misses
      }
    }
  }
}
