import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Number tables")
struct NumberTableTests {
  @Test(arguments: TestScale.seeds(quick: 2, all: 6))
  func `a number table equals a dictionary`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = NumberTable<Int>()
    var reference: [Int64: Int] = [:]
    // Use few distinct numbers, so that they often collide and are often removed. The high bits
    // contain the entity.
    let range = 1 << (3 + Int(seed % 8))
    for step in 0..<4000 {
      let bits = Int64(random.below(range)) | Int64(random.below(3)) << 48
      let number = ObjectNumber(bits: random.isTrue(in256: 40) ? bits | .min : bits)
      if random.isTrue(in256: 4) { table.reserveCapacity(random.below(4 * range)) }
      if random.isTrue(in256: 120) {
        #expect(table.removeValue(of: number) == reference[number.bits], "seed \(seed)")
        reference[number.bits] = nil
      } else {
        table[number] = step
        reference[number.bits] = step
      }
      #expect(table.count == reference.count, "seed \(seed)")
      #expect(table[number] == reference[number.bits], "seed \(seed)")
    }
    for (bits, value) in reference {
      #expect(table[ObjectNumber(bits: bits)] == value, "seed \(seed)")
    }
    #expect(table.values.sorted() == reference.values.sorted(), "seed \(seed)")
    table.removeAll()
    #expect(table.count == 0 && table[ObjectNumber(bits: 1)] == nil, "seed \(seed)")
  }
}
