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
}
