import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the decoding of the file `map`.
@Suite("The retained-frame map")
struct RetainedFrameMapTests {
  private static func map(retainedGenerationCount: UInt64 = 2, lineageCount: UInt64 = 1)
    -> RetainedFrameMap
  {
    RetainedFrameMap(
      serial: 4711, start: 10,
      retainedGenerations: (1...retainedGenerationCount).map {
        CommitPoint(
          frame: $0 * 200, digest: $0 << 40, lineage: 7, pageCount: PageNumber($0 + 8),
          time: $0 + 1_750_000_000_000)
      },
      lineages: (0..<lineageCount).map { EndedLineage(lineage: $0 + 5, end: $0 + 3) },
      retainedFrames: [(11, 3), (50, 0), (120, 3)].map {
        RetainedFrameMap.RetainedFrame(frame: $0, page: $1)
      })
  }

  @Test(arguments: [1, 2, 300] as [UInt64]) func `decodes to what was encoded`(count: UInt64) throws
  {
    let map = Self.map(retainedGenerationCount: count, lineageCount: min(count, 64))
    #expect(try AtomicFileBytes.map(AtomicFileBytes(map).bytes) == map)
  }

  @Test(.evidence("B3")) func `with counts beyond its length is corrupt`() {
    let sample = AtomicFileBytes(Self.map())
    for field in [MapLayout.lineageCount, MapLayout.retainedFrameCount] {
      for count: UInt32 in [0, 200, .max] {
        let bytes = sample.forged { $0.store32(count, field.offset) }
        sample.expectError(.corrupt, bytes, "\(count) as \(field.name)")
      }
    }
  }

  /// The counts agree with the length of the file, but no valid map has such counts.
  @Test(.evidence("B3"))
  func `without a retained generation, or with too many lineages, is corrupt`() {
    let two = AtomicFileBytes(Self.map())
    let none = two.forged {
      // Two retained generations of 40 bytes take the same space as five lineages of 16 bytes.
      $0.store32(0, AtomicFileLayout.rowCount.offset)
      $0.store32(6, MapLayout.lineageCount.offset)
    }
    two.expectError(.corrupt, none, "no retained generation")
    let many = AtomicFileBytes(Self.map(retainedGenerationCount: 40, lineageCount: 0))
    let lineages = many.forged {
      $0.store32(2, AtomicFileLayout.rowCount.offset)
      $0.store32(95, MapLayout.lineageCount.offset)
    }
    many.expectError(.corrupt, lineages, "95 lineages")
  }

  @Test(.evidence("B3")) func `with rows out of order is corrupt`() {
    let second = MapLayout.rows + MapLayout.retainedGenerationByteCount
    let retainedFrames = second + MapLayout.retainedGenerationByteCount + MapLayout.lineageByteCount
    let last = retainedFrames + 2 * MapLayout.retainedFrameByteCount
    let changes: [(String, UInt64, Int)] = [
      ("generations descend", 199, second), ("a generation is listed twice", 200, second),
      ("no log has such a frame", .max, second), ("retained frames descend", 49, last),
      ("a frame is listed twice", 50, last), ("a frame is after the end", 401, last),
      ("a frame is before the start", 10, retainedFrames),
    ]
    let sample = AtomicFileBytes(Self.map())
    for (context, frame, offset) in changes {
      sample.expectError(.corrupt, sample.forged { $0.store64(frame, offset) }, context)
    }
  }
}
