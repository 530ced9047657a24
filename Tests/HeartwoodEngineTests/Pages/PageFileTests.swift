import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the length of the page file, and when the file reserves space for pages.
@Suite("The page file")
struct PageFileTests {
  private static let step: UInt64 = 256 << 10

  private func pageFile(_ fileSystem: any FileSystem) throws -> PageFile {
    let geometry = try #require(Geometry(pageByteCount: 4096, segmentByteCount: 1 << 20))
    let file = try #require(try fileSystem.open("/pages", .create))
    return PageFile(file: file, geometry: geometry, isMapped: false)
  }

  @Test func `reserves space in steps that grow with it`() throws {
    let calls = CountingFileSystem(MemoryFileSystem())
    let pages = try pageFile(calls)
    var lengths: [UInt64] = []
    for count in stride(from: PageNumber(1), to: 50_000, by: 3) {
      let needed = pages.geometry.offset(ofPage: count)
      let before = calls.counts
      try pages.reserve(count, mayHaveBeenCut: false)
      if calls.counts != before { lengths.append(try pages.file.byteCount()) }
      #expect(try pages.file.byteCount() >= needed)
      #expect(try pages.file.byteCount() <= needed + max(Self.step, needed / 8))
      #expect(pages.reservedByteCount(count) >= needed)
    }
    #expect(lengths.first == Self.step)
    #expect(lengths.count < 70)
    #expect(lengths == lengths.sorted())
    #expect(pages.reservedByteCount(1 << 20) % (16 << 20) == 0)
    #expect(pages.reservedByteCount(.max) > 1 << 43)
  }

  @Test func `is measured unless it is known to be long enough`() throws {
    let calls = CountingFileSystem(MemoryFileSystem())
    let pages = try pageFile(calls)
    #expect(try !pages.holds(0))
    try pages.file.setByteCount(Geometry.firstPageOffset + 3 * 4096 - 1)
    #expect(try pages.holds(1))
    let before = calls.counts
    #expect(try pages.holds(0))
    #expect(calls.counts == before)
    #expect(try !pages.holds(2))
    #expect(try !pages.holds(.max))
  }

  @Test(.evidence("B2")) func `is measured again after a checkpoint of another process`() throws {
    let pages = try pageFile(MemoryFileSystem())
    try pages.reserve(1000, mayHaveBeenCut: false)
    #expect(try pages.holds(999))
    try pages.file.setByteCount(Geometry.firstPageOffset + 4096)
    pages.adoptState(5, PageCache(byteCount: 1 << 20, pageByteCount: 4096))
    #expect(pages.knownState == 5)
    #expect(try pages.holds(0))
    #expect(try !pages.holds(999))
  }

  @Test(.evidence("B1")) func `has no verified pages after its end when it is truncated`() throws {
    let directory = try ScratchDirectory()
    let geometry = try #require(Geometry(pageByteCount: 4096, segmentByteCount: 1 << 20))
    let file = try #require(try PosixFileSystem().open(directory.path(of: "pages"), .create))
    let pages = PageFile(file: file, geometry: geometry, isMapped: true)
    try pages.reserve(1000, mayHaveBeenCut: false)
    let region = try #require(try pages.regions(covering: 1000).first)
    for page in [3, 99, 100, 101, 700] { region.setVerified(page) }
    try pages.cut(100)
    #expect([3, 99].allSatisfy(region.isVerified))
    #expect(![100, 101, 700].contains(where: region.isVerified))
  }

  @Test func `is truncated to the space its pages need`() throws {
    let pages = try pageFile(MemoryFileSystem())
    try pages.reserve(1000, mayHaveBeenCut: false)
    let longest = try pages.file.byteCount()
    try pages.cut(999)
    #expect(try pages.file.byteCount() == longest)
    try pages.cut(10)
    #expect(try pages.file.byteCount() == Self.step)
    #expect(try pages.holds(31))
    #expect(try !pages.holds(32))
    try pages.reserve(33, mayHaveBeenCut: false)
    #expect(try pages.holds(33))
  }

  @Test(.evidence("F1")) func `uses the last free space for the pages it needs`() throws {
    let disk = SimulatedDisk()
    let pages = try pageFile(disk)
    disk.faultPlan = .failure(.diskFull, atCall: disk.callCount + 1)
    try pages.reserve(5, mayHaveBeenCut: false)
    #expect(try pages.file.byteCount() == pages.geometry.offset(ofPage: 5))
    disk.faultPlan = .failure(.diskFull, atCall: disk.callCount + 1, isLasting: true)
    let error = #expect(throws: StorageError.self) { try pages.reserve(6, mayHaveBeenCut: false) }
    #expect(error?.kind == .diskFull)
    #expect(try pages.file.byteCount() == pages.geometry.offset(ofPage: 5))
  }

  /// The page file always has space for all committed pages, so a checkpoint needs no free space on
  /// the disk.
  @Test(.evidence("D15")) func `never grows in a checkpoint`() throws {
    let disk = SimulatedDisk(seed: 3)
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 128 << 10
    let fixture = StoreFixture.on(disk, options)
    try fixture.run { store in
      var small: Snapshot?
      for key in 0..<20 {
        try store.write { try $0.keyspace("k").put(key, [UInt8](repeating: 1, count: 40_000)) }
        if key == 3 { small = try store.snapshot() }
        // The checkpointed state needs few pages, but the checkpoint must keep the space for the
        // newest state.
        if key == 15 { #expect(try store.checkpoint().blockingGeneration == small?.generation) }
        let pages = try #require(disk.bytes(of: "/store/pages"))
        let needed = Int(Geometry.firstPageOffset) + store.statistics.pageCount * 4096
        #expect(pages.count >= needed)
      }
      small = nil
      let longest = disk.bytes(of: "/store/pages")?.count
      let before = disk.callCount
      try store.checkpoint()
      #expect(disk.bytes(of: "/store/pages")?.count == longest)
      #expect(!disk.calls.dropFirst(before).contains(.setByteCount))
    }
  }
}
