import Dispatch
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the findings of `verify()` in stores that contain incorrect pages with valid hashes.
@Suite("A verification")
struct VerificationTests {
  /// A defect of a store.
  ///
  /// One of the findings for the defect must contain `word`.
  enum Damage: String, CaseIterable, Sendable {
    case usedPageMarkedFree, freePageMarkedUsed, missingPageMarkedUsed, lostBitmap
    case childTwice, childMissing, childrenExchanged, treesExchanged, rootInUseTwice
    case keysOutOfOrder, separatorsOutOfOrder
    case wrongCount, wrongNextTree, wrongTree, wrongLeafLevel, wrongBranchLevel
    case wrongValueHash, wrongValueLength, longerValue, wrongValueDepth, valuePageTwice
    case wrongPayload, wrongPageNumber, newerThanPageFile, staleHash, cellCountOff

    var word: String {
      switch self {
      case .usedPageMarkedFree: "is in use, but is marked as free"
      case .freePageMarkedUsed: "marked as used, but nothing refers to it"
      case .missingPageMarkedUsed: "marked as used, but does not exist"
      case .lostBitmap: "should be a bitmap"
      case .childTwice, .treesExchanged, .rootInUseTwice, .valuePageTwice:
        "is referenced more than once"
      case .childMissing: "which does not exist"
      case .childrenExchanged: "not between its separators"
      case .wrongTree, .wrongBranchLevel: "is not the expected node"
      case .keysOutOfOrder, .separatorsOutOfOrder: "not in ascending order"
      case .wrongCount: "but the catalog records 201"
      case .wrongNextTree: "in use should be below 1"
      case .wrongLeafLevel: "has a level above 0"
      case .wrongValueHash: "do not match its hash"
      case .wrongValueLength, .wrongPayload: "wrong number of bytes"
      case .longerValue: "has more pages than the entire store"
      case .wrongValueDepth: "index depth"
      case .wrongPageNumber: "contains the wrong page number"
      case .newerThanPageFile: "never written to the page file"
      case .staleHash: "do not match its hash"
      case .cellCountOff: "do not add up"
      }
    }
  }

  @Test(.evidence("B5"), arguments: [StoreOptions.Access.buffered, .mapped])
  func `finds nothing in a sound store`(access: StoreOptions.Access) throws {
    #expect(try DamagedPages().findings(access) == [])
  }

  @Test(.evidence("B5"), .evidence("B3"), arguments: Damage.allCases)
  func `finds each kind of damage`(damage: Damage) throws {
    var pages = try DamagedPages()
    try damagePages(damage, &pages)
    let findings = try pages.findings()
    #expect(findings.contains { $0.contains(damage.word) }, "\(findings)")
    // The defect must also be found with mapped reading.
    #expect(try pages.findings(.mapped).contains { $0.contains(damage.word) })
  }

  @Test func `counts pages, keyspaces and entries`() throws {
    try StoreFixture.inMemory().run { store throws in
      #expect(try store.verify().pageCount == 0)
      try store.write { transaction in
        for name in ["a", "b", "c"] {
          let keyspace = try transaction.keyspace(name)
          for number in 0..<300 { try keyspace.put(number, [1, 2, 3]) }
        }
      }
      try store.write { try $0.removeKeyspace("b") }
      let report = try store.verify()
      #expect(report.keyspaceCount == 2)
      #expect(report.entryCount == 600)
      #expect(report.freePageCount > 0)
      #expect(report.generation == store.statistics.newestGeneration)
      #expect(report.pageCount == store.statistics.pageCount)
      #expect(report.logCommitCount >= 2)
    }
  }

  /// Verification must find a damaged image in the log while the page file does not contain the
  /// page.
  @Test(.evidence("B5")) func `finds a damaged image in the log`() throws {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    let fixture = StoreFixture.inMemory(options)
    let store = try fixture.open()
    try store.write { try $0.keyspace("k").put(1, [1]) }
    try StoreFixture.expectSound(store)
    let name = try #require(try fixture.names().first { $0.hasPrefix("wal-") })
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: name), .write))
    let offset = UInt64(store.statistics.newestGeneration.frame) * 4096 + 2000
    try file.write([0xEE], at: offset)
    #expect(try !store.verify().findings.isEmpty)
    try file.write([0], at: offset)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  /// The store is suspended while the verification waits for a maintenance run of another process,
  /// or while it reads a page.
  @Test(.mustEnd, .evidence("B5"), .evidence("S2"), arguments: [false, true])
  func `throws an error if the store is suspended`(isWaiting: Bool) throws {
    let files = ObservedFileSystem(MemoryFileSystem())
    var options = StoreOptions()
    options.busyTimeout = .seconds(60)
    let fixture = StoreFixture.on(files, options)
    try fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [1]) }
      try store.checkpoint()
      let (isIn, canContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let other = try #require(try files.open(fixture.path(of: "locks"), .write))
      let byte = LockByte.maintenance..<LockByte.maintenance + 1
      if isWaiting {
        #expect(try other.lock(.exclusive, byte))
      } else {
        files.onRead = { path, _ throws(StorageError) in
          guard path.hasSuffix("/pages") else { return }
          files.onRead = nil
          isIn.signal()
          canContinue.wait()
        }
      }
      let verifying = Aside { _ = try store.verify() }
      while isWaiting, store.files.waits.oldest?.byte != LockByte.maintenance {
        SystemThread.sleep(milliseconds: 1)
      }
      if !isWaiting { isIn.wait() }
      try store.suspend()
      canContinue.signal()
      #expect(verifying.outcome() == (isWaiting ? .suspended : .generationExpired))
      #expect(try other.lock(.none, byte))
      try store.resume()
    }
  }

  /// The page file contains the named generation, and the log contains all later changes.
  @Test(.evidence("B5"), arguments: [StoreOptions.Access.buffered, .mapped])
  func `finds damage in pages used only by a named generation`(
    access: StoreOptions.Access
  ) throws {
    var fixture = access == .buffered ? StoreFixture.inMemory() : try StoreFixture.onDisk()
    try fixture.run { store in
      try store.write { transaction in
        let numbers = try transaction.keyspace("numbers")
        for number in 0..<200 { try numbers.put(number, [UInt8](repeating: 7, count: 60)) }
        try transaction.keyspace("gone").put(1, [UInt8](repeating: 1, count: 9000))
      }
      try store.keep(store.snapshot().generation, as: "before")
      try store.write { transaction in
        let numbers = try transaction.keyspace("numbers")
        for number in stride(from: 0, to: 200, by: 10) { try numbers.put(number, [8]) }
        try transaction.removeKeyspace("gone")
      }
    }
    let pages = try DamagedPages(of: fixture)
    fixture.options.isReadOnly = true
    fixture.options.access = access
    func findings(_ pages: DamagedPages) throws -> [String] {
      try fixture.write(pages.bytes, to: "pages")
      let store = try fixture.open()
      let findings = try store.verify().findings
      try store.close()
      return findings
    }
    #expect(try findings(pages) == [])
    let missed = try (0..<pages.pageCount).filter(pages.isUsed).filter { page in
      var damaged = pages
      damaged.flip(page, 3000)
      return try findings(damaged).isEmpty
    }
    #expect(pages.pageCount > 8 && missed == [])
  }

  @Test(.evidence("B5"))
  func `finds a segment of another store and a log that is too short`() throws {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    let fixture = StoreFixture.inMemory(options)
    let store = try fixture.open()
    let first = try store.write { try $0.keyspace("k").put(1, [1]) }
    try store.write { try $0.keyspace("k").put(2, [2]) }
    let name = try #require(try fixture.names().first { $0.hasPrefix("wal-") })
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: name), .write))
    let before = try file.bytes(at: 0, SegmentLayout.byteCount)
    var header = before
    header[SegmentLayout.storeHigh.offset] ^= 1
    let hash = header.withBytes { XXH64.hash($0.slice(0, SegmentLayout.hash.offset), seed: 0) }
    for index in 0..<8 {
      header[SegmentLayout.hash.offset + index] = UInt8(truncatingIfNeeded: hash >> (8 * index))
    }
    try file.write(header, at: 0)
    #expect(try store.verify().findings.contains { $0.contains("belongs to another store") })
    try file.write(before, at: 0)
    let geometry = store.files.geometry
    let offset = geometry.offset(of: geometry.next(after: first.frame))
    let group = try file.bytes(at: offset, 64)
    try file.write([UInt8](repeating: 0, count: 64), at: offset)
    #expect(try store.verify().findings.contains { $0.contains("before generation") })
    try file.write(group, at: offset)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  // MARK: Damage

  private func damagePages(_ damage: Damage, _ pages: inout DamagedPages) throws {
    switch damage {
    case .usedPageMarkedFree, .freePageMarkedUsed, .missingPageMarkedUsed, .lostBitmap:
      try damageBitmap(damage, &pages)
    case .wrongValueHash, .wrongValueLength, .longerValue, .wrongValueDepth, .valuePageTwice,
      .wrongPayload:
      try damageValue(damage, &pages)
    case .childTwice, .childMissing, .childrenExchanged, .treesExchanged, .separatorsOutOfOrder,
      .wrongBranchLevel:
      try damageBranch(damage, &pages)
    case .wrongCount, .wrongNextTree, .rootInUseTwice:
      try damageCatalog(damage, &pages)
    default:
      try damageLeaf(damage, &pages)
    }
  }

  private func damageBitmap(_ damage: Damage, _ pages: inout DamagedPages) throws {
    var page = try pages.page(.overflow)
    if damage == .freePageMarkedUsed {
      page = try #require((0..<pages.pageCount).first { !pages.isUsed($0) })
    }
    if damage == .missingPageMarkedUsed { page = pages.pageCount + 3 }
    pages.change(0) { bitmap in
      if damage == .lostBitmap {
        // Replace the bitmap with an empty leaf, which is a valid page.
        bitmap.clear(24, bitmap.count - 24)
        bitmap.store8(PageKind.leaf.rawValue, PageLayout.kind.offset)
        bitmap.store32(UInt32(bitmap.count), NodeLayout.heapStart.offset)
      } else {
        let offset = BitmapLayout.bits + page / 8
        bitmap.store8(bitmap.bytes.load8(offset) ^ UInt8(1 << (page % 8)), offset)
      }
    }
  }

  /// Returns the number of entries in a branch, and the offsets of its heads and of its children.
  private func fields(of branch: Bytes) -> (count: Int, heads: Int, children: Int) {
    let count = Int(branch.load16(NodeLayout.count.offset))
    let prefix = Int(branch.load16(NodeLayout.prefixLength.offset))
    let heads = NodeLayout.headsOffset(prefixLength: prefix)
    return (count, heads, heads + count * 8)
  }

  private func damageBranch(_ damage: Damage, _ pages: inout DamagedPages) throws {
    let branch = try pages.page(.branch)
    let (count, heads, children) = pages.read(branch) { fields(of: $0) }
    try #require(count >= 4)
    let foreign = try pages.row("large").root
    let missing = UInt32(pages.pageCount + 5)
    pages.change(branch) { page in
      switch damage {
      case .childTwice:
        page.store32(page.bytes.load32(children + 4), children + 8)
      case .childMissing:
        page.store32(missing, children + 8)
      case .childrenExchanged:
        let first = page.bytes.load32(children + 4)
        page.store32(page.bytes.load32(children + 8), children + 4)
        page.store32(first, children + 8)
      case .treesExchanged:
        page.store32(foreign, children + 8)
      case .separatorsOutOfOrder:
        let first = page.bytes.load64(heads + 8)
        page.store64(page.bytes.load64(heads + 16), heads + 8)
        page.store64(first, heads + 16)
      default:
        page.store8(2, PageLayout.level.offset)
      }
    }
  }

  private func damageLeaf(_ damage: Damage, _ pages: inout DamagedPages) throws {
    let tree = try pages.row("numbers").tree
    let leaf = try pages.page(.leaf) { $0.load32(PageLayout.tree.offset) == tree }
    let heads = pages.read(leaf) { fields(of: $0).heads }
    let checkpointed = pages.header.checkpointed.frame
    pages.change(leaf) { page in
      switch damage {
      case .keysOutOfOrder:
        let first = page.bytes.load64(heads)
        page.store64(page.bytes.load64(heads + 8), heads)
        page.store64(first, heads + 8)
      case .wrongTree:
        page.store32(tree + 1, PageLayout.tree.offset)
      case .wrongLeafLevel:
        page.store8(1, PageLayout.level.offset)
      case .wrongPageNumber:
        page.store32(UInt32(leaf) + 1, PageLayout.page.offset)
      case .newerThanPageFile:
        page.store64(checkpointed + 100_000, PageLayout.frame.offset)
      case .cellCountOff:
        page.store32(page.bytes.load32(NodeLayout.heapUsed.offset) - 1, NodeLayout.heapUsed.offset)
      default:
        break
      }
    }
    if damage == .staleHash { pages.flip(leaf, 3000) }
  }

  private func damageCatalog(_ damage: Damage, _ pages: inout DamagedPages) throws {
    let row = try pages.row("numbers")
    let other = try pages.row("large")
    let next = try pages.nextTreeOffset()
    #expect(row.count == 200)
    pages.change(1) { page in
      switch damage {
      case .wrongCount:
        page.store64(row.count + 1, row.offset + 8)
      case .wrongNextTree:
        page.store32(1, next)
      default:
        page.store32(other.tree, row.offset)
        page.store32(other.root, row.offset + 4)
      }
    }
  }

  private func damageValue(_ damage: Damage, _ pages: inout DamagedPages) throws {
    let leaf = Int(try pages.row("large").root)
    let (short, long) = (pages.reference(in: leaf, 0), pages.reference(in: leaf, 1))
    if damage == .wrongPayload {
      pages.change(try pages.page(.overflow)) {
        let count = $0.bytes.load32(OverflowLayout.payloadCount.offset)
        $0.store32(count - 1, OverflowLayout.payloadCount.offset)
      }
      return
    }
    if damage == .valuePageTwice {
      pages.change(try pages.page(.overflowIndex)) {
        $0.store32($0.bytes.load32(32), 36)
      }
      return
    }
    pages.change(leaf) { page in
      let bytes = page.bytes
      switch damage {
      case .wrongValueHash:
        page.store64(bytes.load64(short + 8) ^ 1, short + OverflowLayout.hash.offset)
      case .wrongValueLength:
        page.store64(bytes.load64(short) - 1, short + OverflowLayout.length.offset)
      case .longerValue:
        page.store64(1 << 30, long + OverflowLayout.length.offset)
      default:
        page.store8(2, long + OverflowLayout.depth.offset)
      }
    }
  }
}
