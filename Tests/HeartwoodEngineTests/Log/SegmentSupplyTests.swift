import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Segments for a writer, made now or ahead of him.
@Suite("A supply of segments")
struct SegmentSupplyTests {
  @Test(.evidence("D4")) func `never makes a segment again that a writer has taken`() throws {
    let log = try LogFixture()
    let supply = SegmentSupply(files: log.files) { _ throws(StorageError) in }
    _ = try supply.take(0, through: 3, lineage: 7)
    let written = [UInt8](repeating: 5, count: LogFixture.pageByteCount)
    for segment: UInt64 in 0...3 {
      try log.write(written, at: log.geometry.firstFrame(of: segment))
    }
    // Whoever asks looked at a state from before the writer had them.
    try supply.refill(after: 0, lineage: 7)
    for segment: UInt64 in 0...3 {
      let isKept = try log.bytes(at: log.geometry.firstFrame(of: segment)) == written
      #expect(isKept, "segment \(segment)")
    }
    #expect(try log.files.existing() == [0, 1, 2, 3, 4, 5])
  }

  @Test func `makes anew what a writer has given up`() throws {
    let log = try LogFixture()
    let supply = SegmentSupply(files: log.files) { _ throws(StorageError) in }
    _ = try supply.take(0, through: 0, lineage: 7)
    let given = try supply.take(1, through: 3, lineage: 7)
    try supply.refill(after: 0, lineage: 7)
    #expect(try log.files.existing() == [0, 1, 2, 3, 4, 5])
    supply.giveBack(given, after: 0)
    // The names stay, which are durable; the space does not.
    #expect(try log.files.existing() == [0, 1, 2, 3, 4, 5])
    for segment: UInt64 in 1...5 {
      let file = try #require(try log.fileSystem.open(log.files.path(segment), .read))
      #expect(try file.byteCount() == 0, "segment \(segment)")
    }
    try supply.refill(after: 0, lineage: 7)
    #expect(try log.bytes(at: log.geometry.firstFrame(of: 1))?.count == LogFixture.pageByteCount)
    #expect(try supply.take(1, through: 2, lineage: 7).map(\.number) == [1, 2])
    for segment: UInt64 in 1...2 {
      let file = try #require(try log.fileSystem.open(log.files.path(segment), .read))
      #expect(try file.byteCount() == UInt64(log.geometry.segmentByteCount), "segment \(segment)")
    }
  }
}
