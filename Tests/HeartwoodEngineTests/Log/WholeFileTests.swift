import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// What stands around the rows of the map and of the list of kept generations.
@Suite("A file that is replaced whole")
struct WholeFileTests {
  static let samples: [WholeFileBytes] = {
    var list = KeptGenerations()
    for (place, name) in ["a", "before an upgrade"].enumerated() {
      list.rows[name] = KeptGenerations.Row(
        lineage: 7, generation: UInt64(place) + 20, time: 1_750_000_000_000)
    }
    let boundaries = [200, 400].map {
      CommitPoint(frame: $0, digest: $0 << 40, lineage: 7, pageCount: 8, time: 1_750_000_000_000)
    }
    let map = SurvivorMap(
      serial: 4711, start: 10, boundaries: boundaries,
      lineages: [EndedLineage(lineage: 5, end: 3)],
      survivors: [SurvivorMap.Survivor(frame: 11, page: 3)])
    return [WholeFileBytes(map), WholeFileBytes(list)]
  }()

  /// A pass that took a kept generation for forgotten would destroy it; without the map nobody
  /// knows which frames may be missing.
  @Test(.evidence("K1"), .evidence("B2"), arguments: samples)
  func `is damaged when any byte of it has changed or is missing`(sample: WholeFileBytes) {
    for offset in sample.bytes.indices {
      var changed = sample.bytes
      changed[offset] ^= 0x10
      sample.expectError(.corrupt, changed, "byte \(offset)")
      sample.expectError(.corrupt, Array(sample.bytes.prefix(offset)), "\(offset) bytes")
    }
  }

  @Test(.evidence("B3"), arguments: samples, [WholeFileLayout.storeHigh, WholeFileLayout.storeLow])
  func `belongs to one store`(sample: WholeFileBytes, field: Field) {
    sample.expectError(.corrupt, sample.forged { $0.store64(1, field.offset) }, field.name)
  }

  @Test(.evidence("B4"), arguments: samples)
  func `of another version is named as such`(sample: WholeFileBytes) {
    let newer = sample.forged { $0.store32(2, WholeFileLayout.version.offset) }
    sample.expectError(.incompatibleFormat, newer, "version 2")
  }

  @Test(.evidence("B3"), arguments: samples)
  func `is damaged when what it counts is not there`(sample: WholeFileBytes) {
    for count: UInt32 in [0, 1, 3, .max] {
      let bytes = sample.forged { $0.store32(count, WholeFileLayout.rowCount.offset) }
      sample.expectError(.corrupt, bytes, "\(count) rows")
    }
  }
}
