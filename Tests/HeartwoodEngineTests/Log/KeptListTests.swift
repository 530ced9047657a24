import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The file `kept` as bytes: what was written, or an error.
@Suite("A list of kept generations")
struct KeptListTests {
  private static func list(_ names: [String]) -> KeptGenerations {
    var list = KeptGenerations()
    for (place, name) in names.enumerated() {
      list.rows[name] = KeptGenerations.Row(
        lineage: 7, generation: UInt64(place) + 20, time: 1_750_000_000_000)
    }
    return list
  }

  @Test(
    arguments: [
      [], ["a"], ["before", "after", "é", String(repeating: "x", count: 255)],
    ] as [[String]])
  func `says what was written`(names: [String]) throws {
    let list = Self.list(names)
    #expect(try WholeFileBytes.list(WholeFileBytes(list).bytes) == list)
  }

  @Test(.evidence("B3")) func `is damaged when a row makes no sense`() {
    let sample = WholeFileBytes(Self.list(["a"]))
    let row = WholeFileLayout.byteCount
    for count: UInt32 in [0, 9, 256, .max] {
      let length = sample.forged { $0.store32(count, row + KeptLayout.nameByteCount.offset) }
      sample.expectError(.corrupt, length, "\(count) bytes in a name")
    }
    // What would be read then lies behind the end of the file.
    let long = sample.forged { $0.store32(255, row + KeptLayout.nameByteCount.offset) }
    sample.expectError(.corrupt, long, "a name that goes beyond the file")
    for count: UInt32 in [0, 2, .max] {
      let forged = sample.forged { $0.store32(count, WholeFileLayout.rowCount.offset) }
      sample.expectError(.corrupt, forged, "\(count) rows where one is")
    }
    let generation = sample.forged { $0.store64(.max, row + KeptLayout.generation.offset) }
    sample.expectError(.corrupt, generation, "no log has such a frame")
    let name = sample.forged { $0.store8(0xFF, row + KeptLayout.rowName) }
    sample.expectError(.corrupt, name, "no UTF-8")
  }
}
