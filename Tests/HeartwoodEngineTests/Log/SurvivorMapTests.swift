import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The file `map` as bytes: what was written, or an error.
@Suite("A map of what is left of the log")
struct SurvivorMapTests {
  private static func map(boundaryCount: UInt64 = 2, lineageCount: UInt64 = 1) -> SurvivorMap {
    SurvivorMap(
      serial: 4711, start: 10,
      boundaries: (1...boundaryCount).map {
        CommitPoint(
          frame: $0 * 200, digest: $0 << 40, lineage: 7, pageCount: PageNumber($0 + 8),
          time: $0 + 1_750_000_000_000)
      },
      lineages: (0..<lineageCount).map { EndedLineage(lineage: $0 + 5, end: $0 + 3) },
      survivors: [(11, 3), (50, 0), (120, 3)].map { SurvivorMap.Survivor(frame: $0, page: $1) })
  }

  @Test(arguments: [1, 2, 300] as [UInt64]) func `says what was written`(count: UInt64) throws {
    let map = Self.map(boundaryCount: count, lineageCount: min(count, 64))
    #expect(try WholeFileBytes.map(WholeFileBytes(map).bytes) == map)
  }

  @Test(.evidence("B3")) func `is damaged when what it counts is not there`() {
    let sample = WholeFileBytes(Self.map())
    for field in [MapLayout.lineageCount, MapLayout.survivorCount] {
      for count: UInt32 in [0, 200, .max] {
        let bytes = sample.forged { $0.store32(count, field.offset) }
        sample.expectError(.corrupt, bytes, "\(count) as \(field.name)")
      }
    }
  }

  /// Counts that fit the length, and still make no map.
  @Test(.evidence("B3")) func `is damaged when it has no boundary or too many lineages`() {
    let two = WholeFileBytes(Self.map())
    let none = two.forged {
      // Two boundaries of 40 bytes have the room of five lineages of 16.
      $0.store32(0, WholeFileLayout.rowCount.offset)
      $0.store32(6, MapLayout.lineageCount.offset)
    }
    two.expectError(.corrupt, none, "no boundary")
    let many = WholeFileBytes(Self.map(boundaryCount: 40, lineageCount: 0))
    let lineages = many.forged {
      $0.store32(2, WholeFileLayout.rowCount.offset)
      $0.store32(95, MapLayout.lineageCount.offset)
    }
    many.expectError(.corrupt, lineages, "95 lineages")
  }

  @Test(.evidence("B3")) func `is damaged when its rows are not in order`() {
    let second = MapLayout.rows + MapLayout.boundaryByteCount
    let survivors = second + MapLayout.boundaryByteCount + MapLayout.lineageByteCount
    let last = survivors + 2 * MapLayout.survivorByteCount
    let changes: [(String, UInt64, Int)] = [
      ("boundaries descend", 199, second), ("a boundary is there twice", 200, second),
      ("no log has such a frame", .max, second), ("survivors descend", 49, last),
      ("a survivor is there twice", 50, last), ("a survivor lies behind the end", 401, last),
      ("a survivor lies before the start", 10, survivors),
    ]
    let sample = WholeFileBytes(Self.map())
    for (place, frame, offset) in changes {
      sample.expectError(.corrupt, sample.forged { $0.store64(frame, offset) }, place)
    }
  }
}
