import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Fills, empties and refills trees with keys that follow various patterns.
@Suite("Keys of one pattern")
struct KeyPatternTests {
  enum Pattern: CaseIterable, Sendable {
    case ascending, descending, random, equalPrefixes, growing, alternatingEnds
  }

  private static let count = TestScale.pick(quick: 600, all: 3000)

  private func keys(_ pattern: Pattern) -> [[UInt8]] {
    let numbers = 0..<Self.count
    func big(_ number: Int) -> [UInt8] {
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
    switch pattern {
    case .ascending: return numbers.map(big)
    case .descending: return numbers.reversed().map(big)
    case .random:
      var generator = SeededGenerator(seed: 6)
      return numbers.map { big($0) }.shuffled(using: &generator)
    case .equalPrefixes: return numbers.map { [UInt8](repeating: 0xEE, count: 200) + big($0) }
    // The common prefix of the keys grows to 900 bytes.
    case .growing: return numbers.map { [UInt8](repeating: 1, count: $0 % 900) + big($0 / 900) }
    case .alternatingEnds:
      return numbers.map { big($0 % 2 == 0 ? $0 : 0x7FFF_FFFF - $0) }
    }
  }

  @Test(.evidence("B5"), arguments: Pattern.allCases)
  func `can fill a store, be deleted, and fill it again`(pattern: Pattern) throws {
    var options = StoreOptions()
    options.durability = .normal
    try StoreFixture.inMemory(options).run { store in
      try store.write { try $0.keyspace("k").put([0xFF, 0xFF], [1]) }
      let keys = keys(pattern)
      #expect(Set(keys).count == keys.count)
      let empty = store.statistics.pageCount
      var full: [Int] = []
      for round in 0..<2 {
        for start in stride(from: 0, to: keys.count, by: 500) {
          try store.write { transaction in
            let keyspace = try transaction.keyspace("k")
            for key in keys[start..<min(start + 500, keys.count)] {
              try keyspace.put(key, [UInt8(round)])
            }
          }
        }
        full.append(Int(store.statistics.pageCount))
        var found: [[UInt8]] = []
        try store.snapshot().keyspace("k")?.forEach { key, _ in
          found.append(try Key.decode(key, as: [UInt8].self))
          return true
        }
        let sorted = (keys + [[0xFF, 0xFF]]).sorted { $0.lexicographicallyPrecedes($1) }
        let isRight = found.count == sorted.count && zip(found, sorted).allSatisfy(==)
        #expect(isRight, "round \(round)")
        try StoreFixture.expectSound(store)
        try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          for key in keys { try keyspace.delete(key) }
        }
        #expect(store.statistics.pageCount == empty, "round \(round)")
        #expect(try store.snapshot().keyspace("k")?.count() == 1)
        try store.checkpoint()
      }
      #expect(full[0] == full[1])
    }
  }
}
