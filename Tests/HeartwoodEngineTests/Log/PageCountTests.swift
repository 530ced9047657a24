import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the page counts and frame numbers of commits, which determine how much memory readers
/// allocate.
@Suite("A page count")
struct PageCountTests {
  private static let perBitmap = PageNumber(
    BitmapLayout.pagesPerBitmap(pageByteCount: LogFixture.pageByteCount))

  /// Returns whether a log is readable if its second commit consists of the given pages.
  private func isAccepted(_ pages: [PageNumber]) throws -> Bool {
    let log = try LogFixture()
    let first = try log.commit([0, 1, 2])
    let second = try log.commit(pages)
    do {
      #expect(try log.commits().map(\.point) == [first, second])
      #expect(try log.recovery().point == second)
      return true
    } catch let error as StorageError {
      #expect(error.kind == .corrupt)
      #expect(error.file?.hasPrefix("wal-") == true)
      return false
    }
  }

  @Test(.evidence("B2"), .evidence("B3"))
  func `rises only with the bitmaps that cover the new pages`() throws {
    let step = Self.perBitmap
    for pages in [
      [3], [2, 30_000], [step - 1], [step], [step, step + 1], [step, step * 2, step * 3 - 1],
      [step * 3 - 1, step * 2, step],
    ] {
      #expect(try isAccepted(pages), "\(pages)")
    }
    for pages in [[5, step + 1], [step, step * 2 + 5], [PageNumber.max - 1]] {
      #expect(try !isAccepted(pages), "\(pages)")
    }
  }

  @Test func `may fall, and rises again only with new bitmaps`() throws {
    let step = Self.perBitmap
    let log = try LogFixture()
    try log.commit([0, 1])
    try log.commit([step, step + 9])
    try log.commit([step + 20])
    try log.commit([5])
    #expect(try log.commits().count == 4)
    try log.commit([step + 30])
    #expect(throws: StorageError.self) { try log.commits() }
  }

  @Test(.evidence("B2"), .evidence("B3")) func `of a footer obeys the same rule`() throws {
    let log = try LogFixture()
    for page: PageNumber in 0..<20 { try log.commit([page]) }
    #expect(try log.seal() > 2)
    #expect(try log.recovery().report.segmentFooterCount > 2)
    for (segment, footer) in try log.footers() {
      var footer = footer
      footer.point.pageCount = Self.perBitmap * 2
      try log.write(footer, to: segment)
    }
    let error = #expect(throws: StorageError.self) { try log.recovery() }
    #expect(error?.kind == .corrupt)
  }

  /// The page count of the newest retained generation in a map may include pages that are not yet
  /// in the page file.
  @Test(.evidence("B2"), .evidence("B3")) func `of a map obeys the same rule`() throws {
    let fixture = try storeWithMap()
    let identity = try DamagedPages(of: fixture).header.identity
    let bytes = try fixture.bytes(of: RetainedFrameMap.file.name)
    let map = try bytes.withBytes { try RetainedFrameMap.decode($0, of: identity) }
    for count in [map.end.pageCount, Self.perBitmap - 1, Self.perBitmap + 1, .max] {
      let last =
        MapLayout.rows + (map.retainedGenerations.count - 1) * MapLayout.retainedGenerationByteCount
      let forged = AtomicFileBytes(RetainedFrameMap.file, bytes, of: identity).forged {
        $0.store32(count, last + MapLayout.pageCount.offset)
      }
      try fixture.write(forged, to: RetainedFrameMap.file.name)
      if count < Self.perBitmap {
        let store = try fixture.open()
        #expect(try store.snapshot().keyspace("k")?.get(2) == [9])
      } else {
        let error = #expect(throws: StorageError.self) { try fixture.open() }
        #expect(error?.kind == .corrupt)
        #expect(error?.file == RetainedFrameMap.file.name)
      }
    }
  }

  /// The table of segments has an element for each segment number up to that of the newest frame.
  @Test(.evidence("B2"), .evidence("B3"), arguments: [1 << 30, 1 << 50, Limits.maxFrame])
  func `is rejected if its frame is far after the log segments`(frame: FrameNumber) throws {
    let fixture = try storeWithMap()
    let identity = try DamagedPages(of: fixture).header.identity
    let bytes = try fixture.bytes(of: RetainedFrameMap.file.name)
    let map = try bytes.withBytes { try RetainedFrameMap.decode($0, of: identity) }
    let last =
      MapLayout.rows + (map.retainedGenerations.count - 1) * MapLayout.retainedGenerationByteCount
    let forged = AtomicFileBytes(RetainedFrameMap.file, bytes, of: identity).forged {
      $0.store64(frame, last + MapLayout.frame.offset)
    }
    try fixture.write(forged, to: RetainedFrameMap.file.name)
    // Without the counters of the last process, opening the store starts a lineage.
    try fixture.fileSystem.remove(fixture.path(of: "counters"))
    let error = #expect(throws: StorageError.self) { try fixture.open() }
    #expect(error?.kind == .corrupt)
  }

  private func storeWithMap() throws -> StoreFixture {
    let fixture = StoreFixture.inMemory(Self.options)
    let store = try fixture.open()
    try store.write { try $0.keyspace("k").put(1, [UInt8](repeating: 1, count: 9000)) }
    try store.keep(try store.snapshot().generation, as: "x")
    for value: UInt8 in 1...9 { try store.write { try $0.keyspace("k").put(2, [value]) } }
    try store.checkpoint()
    try StoreFixture.expectSound(store)
    return fixture
  }

  private static var options: StoreOptions {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.reclaimLogByteCount = 0
    options.segmentByteCount = 64 << 10
    return options
  }
}
