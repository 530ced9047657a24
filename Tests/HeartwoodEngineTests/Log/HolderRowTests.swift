import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the encoding of the rows in the file `holders`.
@Suite("A holder's row")
struct HolderRowTests {
  private static let seed: UInt64 = 0x1234_5678_9ABC_DEF0

  private func bytes(_ row: HolderRow) -> [UInt8] {
    let block = row.encoded(seed: Self.seed)
    defer { block.keep() }
    return block.bytes.bytes.copied()
  }

  private func decoded(_ bytes: [UInt8], seed: UInt64 = seed) -> HolderRow? {
    bytes.withBytes { HolderRow.decode($0, seed: seed) }
  }

  @Test func `decodes to what was encoded`() {
    for name in ["", "importer", "Jahresringe für 1872", String(repeating: "x", count: 216)] {
      let row = HolderRow(process: 4711, opened: 1_750_000_000_000, name: name)
      #expect(row.name == name)
      #expect(decoded(bytes(row)) == row)
    }
  }

  @Test func `truncates its name after a complete character`() {
    for (long, short) in [
      (String(repeating: "x", count: 217), String(repeating: "x", count: 216)),
      ("x" + String(repeating: "ä", count: 200), "x" + String(repeating: "ä", count: 107)),
      (String(repeating: "👩‍🌾", count: 30), String(repeating: "👩‍🌾", count: 19)),
    ] {
      let row = HolderRow(process: 1, opened: 2, name: long)
      #expect(row.name == short)
      #expect(decoded(bytes(row))?.process == 1)
    }
  }

  @Test(.evidence("E7")) func `with any changed bit is rejected`() {
    let sample = bytes(HolderRow(process: 4711, opened: 1_750_000_000_000, name: "importer"))
    for bit in 0..<sample.count * 8 {
      var changed = sample
      changed[bit / 8] ^= 1 << (bit % 8)
      #expect(decoded(changed) == nil, "bit \(bit)")
    }
    #expect(decoded(sample, seed: 1) == nil)
    #expect(decoded([UInt8](repeating: 0, count: 256)) == nil)
    #expect(decoded(Array(sample.dropLast())) == nil)
  }

  @Test(.evidence("E7")) func `with invalid fields is rejected`() {
    let sample = HolderRow(process: 4711, opened: 1, name: "importer")
    func forged(_ change: (MutableBytes) -> Void) -> HolderRow? {
      let block = sample.encoded(seed: Self.seed)
      defer { block.keep() }
      change(block.bytes)
      let end = HolderLayout.hash.offset
      block.bytes.store64(XXH64.hash(block.bytes.bytes.slice(0, end), seed: Self.seed), end)
      return HolderRow.decode(block.bytes.bytes, seed: Self.seed)
    }
    #expect(forged { _ in } == sample)
    #expect(forged { $0.store32(217, HolderLayout.nameByteCount.offset) } == nil)
    #expect(forged { $0.store32(.max, HolderLayout.nameByteCount.offset) } == nil)
    #expect(forged { $0.store32(2, HolderLayout.version.offset) } == nil)
    #expect(forged { $0.store64(2, HolderLayout.magic.offset) } == nil)
    #expect(forged { $0.store8(0xFF, HolderLayout.name.offset) } == nil)
  }

  @Test(.evidence("I15")) func `replaces characters that a terminal would interpret`() {
    let row = HolderRow(process: 1, opened: 2, name: "a\u{1B}[2Jb\n\u{202E}c\u{7}ä\u{FEFF}")
    #expect(decoded(bytes(row))?.name == "a\u{FFFD}[2Jb\u{FFFD}\u{FFFD}c\u{FFFD}ä\u{FFFD}")
  }
}
