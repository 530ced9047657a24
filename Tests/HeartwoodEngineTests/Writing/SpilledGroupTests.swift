import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests how transactions that are spilled in several parts are written to the log and found by
/// scanners.
@Suite("A transaction spilled in parts")
struct SpilledGroupTests {
  /// Writes parts of a transaction, without a commit mark.
  private func spill(
    _ parts: [[PageNumber]], _ writer: inout LogWriter
  ) throws -> [LogWriter.Location] {
    try LogFixture.withImages(parts.flatMap { $0 }) { images in
      var start = 0
      return try writer.spill(
        parts.map { part in
          defer { start += part.count }
          return Array(images[start..<start + part.count])
        })
    }
  }

  /// Writes the rest of a transaction, with the commit mark.
  private func commit(
    _ pages: [PageNumber], voids: [VoidRange] = [], _ writer: inout LogWriter, _ log: LogFixture
  ) throws -> [FrameNumber] {
    let written = try LogFixture.withImages(pages) {
      try writer.commit($0, voids: voids, pageCount: 2000, time: 5)
    }
    log.point = written.point
    return written.frames
  }

  @Test func `is one commit with the images of all parts`() throws {
    let log = try LogFixture()
    try log.commit([9])
    var writer = try log.writer()
    let first = try spill([[1, 2], [3]], &writer)
    let second = try spill([[2, 4]], &writer)
    #expect(try log.commits().count == 1)
    let frames = try commit([1], &writer, log)
    // A segment has eight slots. Slots 0 and 7 contain no frames, so six frames are left.
    #expect(first.map(\.frames) == [[4, 5], [9]])
    #expect(first.map(\.range.first) == [3, 6])
    #expect(second.map(\.frames) == [[11, 12]])
    #expect(frames == [14])
    let found = try log.commits()
    #expect(found.map(\.point) == [found[0].point, log.point])
    #expect(found[1].images.map(\.page) == [1, 2, 3, 2, 4, 1])
    #expect(found[1].images.map(\.frame) == [4, 5, 9, 11, 12, 14])
    for commit in found { #expect(try log.scanner().verifyImages(of: commit)) }
    try log.commit([5])
    #expect(try log.commits().count == 3)
  }

  @Test func `is ignored without its commit mark`() throws {
    let log = try LogFixture()
    let first = try log.commit([9])
    var writer = try log.writer()
    _ = try spill([(0..<500).map { $0 }, [7]], &writer)
    #expect(try log.commits().map(\.point) == [first])
    #expect(try log.recovery().point == first)
  }

  @Test(.evidence("D6"), arguments: 0..<12)
  func `never resurfaces after a later commit`(length: Int) throws {
    let log = try LogFixture()
    let first = try log.commit([9])
    var given = try log.writer()
    _ = try spill([[1, 2], [3], [4, 5, 6], [7]], &given)
    // The process abandons the transaction and continues. The next commit overwrites only some
    // frames of the abandoned transaction.
    let second = try log.commit((0..<UInt32(length)).map { $0 })
    #expect(try log.commits().map(\.point) == [first, second])
    #expect(try log.recovery().point == second)
    var again = try log.writer()
    _ = try spill([[1], [3]], &again)
    #expect(try log.commits().map(\.point) == [first, second])
  }

  // MARK: Void ranges

  @Test func `loses the images in its void ranges`() throws {
    let log = try LogFixture()
    var writer = try log.writer()
    let locations = try spill([[1, 2], [1], [3, 4], [1, 5]], &writer)
    _ = try commit([6], voids: [locations[1].range, locations[3].range], &writer, log)
    let found = try #require(try log.commits().first)
    #expect(found.images.map(\.page) == [1, 2, 3, 4, 6])
    #expect(try log.scanner().verifyImages(of: found))
    let recovery = try log.recovery()
    #expect(recovery.index.frame(of: 1) == locations[0].frames[0])
    #expect(recovery.index.frame(of: 5) == 0)
  }

  @Test(arguments: [0, 1, 20, 333, 400])
  func `has as many headers as its void ranges need`(imageCount: Int) throws {
    let log = try LogFixture()
    var writer = try log.writer()
    var voids: [VoidRange] = []
    for number in 0..<700 {
      let location = try spill([[PageNumber(number)]], &writer)
      if number % 2 == 1 { voids += location.map(\.range) }
    }
    voids.shuffle()
    _ = try commit((0..<UInt32(imageCount)).map { $0 + 1000 }, voids: voids, &writer, log)
    let found = try #require(try log.commits().first)
    let spilled = (0..<PageNumber(700)).filter { $0 % 2 == 0 }
    #expect(found.images.map(\.page) == spilled + (0..<UInt32(imageCount)).map { $0 + 1000 })
    #expect(try log.scanner().verifyImages(of: found))
    let next = try log.commit([1])
    #expect(try log.commits().last?.point == next)
  }

  @Test func `merges adjacent void ranges`() throws {
    let geometry = try LogFixture().geometry
    func coalesced(_ ranges: (FrameNumber, FrameNumber)...) -> [VoidRange] {
      VoidRange.coalesced(ranges.map { VoidRange(first: $0.0, last: $0.1) }, geometry)
    }
    #expect(coalesced() == [])
    #expect(coalesced((4, 5), (1, 3)) == [VoidRange(first: 1, last: 5)])
    // Between frames 6 and 9, there are only the slots of a footer and a header.
    #expect(coalesced((9, 12), (1, 6)) == [VoidRange(first: 1, last: 12)])
    #expect(coalesced((1, 10), (2, 3)) == [VoidRange(first: 1, last: 10)])
    #expect(
      coalesced((5, 6), (1, 3)) == [VoidRange(first: 1, last: 3), VoidRange(first: 5, last: 6)])
  }

  @Test(.evidence("B3")) func `is read correctly whatever its void ranges claim`() throws {
    let absurd: [(FrameNumber, FrameNumber)] = [
      (0, 0), (.max, .max), (.max, 0), (5, 1), (4, .max), (0, 3), (3, 3), (7, 8), (1 << 40, .max),
    ]
    for (number, range) in absurd.enumerated() {
      let log = try LogFixture()
      try log.commit([1, 2, 3, 4])
      let header = try #require(try log.scanner().header(at: 1)).header
      var group = HandMadeGroup(frame: 1, base: 1)
      group.transaction = header.transaction
      group.images = header.images.map { ($0.page, $0.hash) }
      group.voids = [range, (2, 2), range]
      try log.write(group.bytes(pageByteCount: LogFixture.pageByteCount, seed: log.seed), at: 1)
      let found = try #require(try log.commits().first)
      // The transaction's images are in frames 2 to 5.
      let kept = (3...5 as ClosedRange<FrameNumber>).filter { $0 < range.0 || $0 > range.1 }
      #expect(found.images.map(\.frame) == kept, "range \(number)")
    }
  }
}
