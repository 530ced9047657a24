import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the decoding of the file `kept`.
@Suite("The list of named generations")
struct NamedGenerationListTests {
  private static func list(_ names: [String]) -> NamedGenerations {
    var list = NamedGenerations()
    for (index, name) in names.enumerated() {
      list.rows[name] = NamedGenerations.Row(
        lineage: 7, generation: UInt64(index) + 20, time: 1_750_000_000_000)
    }
    return list
  }

  @Test(
    arguments: [
      [], ["a"], ["before", "after", "é", String(repeating: "x", count: 255)],
    ] as [[String]])
  func `decodes to what was encoded`(names: [String]) throws {
    let list = Self.list(names)
    #expect(try AtomicFileBytes.list(AtomicFileBytes(list).bytes) == list)
  }

  @Test(.evidence("B3")) func `with an invalid row is corrupt`() {
    let sample = AtomicFileBytes(Self.list(["a"]))
    let row = AtomicFileLayout.byteCount
    for count: UInt32 in [0, 9, 256, .max] {
      let length = sample.forged {
        $0.store32(count, row + NamedGenerationLayout.nameByteCount.offset)
      }
      sample.expectError(.corrupt, length, "\(count) bytes in a name")
    }
    // With this length, the name would extend beyond the end of the file.
    let long = sample.forged { $0.store32(255, row + NamedGenerationLayout.nameByteCount.offset) }
    sample.expectError(.corrupt, long, "a name that goes beyond the file")
    for count: UInt32 in [0, 2, .max] {
      let forged = sample.forged { $0.store32(count, AtomicFileLayout.rowCount.offset) }
      sample.expectError(.corrupt, forged, "\(count) rows where one is")
    }
    let generation = sample.forged {
      $0.store64(.max, row + NamedGenerationLayout.generation.offset)
    }
    sample.expectError(.corrupt, generation, "no log has such a frame")
    let name = sample.forged { $0.store8(0xFF, row + NamedGenerationLayout.rowName) }
    sample.expectError(.corrupt, name, "no UTF-8")
  }
}
