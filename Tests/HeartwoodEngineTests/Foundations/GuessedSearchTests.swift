import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the interpolation search in an array of packed numbers, such as the abbreviated keys in a
/// node.
@Suite("An interpolation search")
struct GuessedSearchTests {
  /// The distribution of the numbers to search.
  enum Spread: CaseIterable {
    case consecutive, shifted, random, clustered, equal, extreme, doubling

    func numbers(_ count: Int, _ random: inout SeededGenerator) -> [UInt64] {
      let start = random.next() >> 8
      let numbers = (0..<UInt64(count)).map { index -> UInt64 in
        switch self {
        case .consecutive: start + index
        case .shifted: (start >> 48 + index) << 48
        case .random: random.next()
        case .clustered: random.next() % 8 < 7 ? start + random.next() % 100 : random.next()
        case .equal: start + UInt64(random.below(3))
        case .extreme: [0, 1, .max - 1, .max][random.below(4)]
        case .doubling: 1 << (index % 64)
        }
      }
      return numbers.sorted()
    }
  }

  @Test(arguments: Spread.allCases, TestScale.some([0.5, 0.999]))
  func `finds the same as a binary search`(spread: Spread, bias: Double) {
    var random = SeededGenerator(seed: 11)
    for round in 0..<TestScale.pick(quick: 50, all: 200) {
      let count = random.below(300)
      let numbers = spread.numbers(count, &random)
      let near = numbers.flatMap { [$0, $0 &- 1, $0 &+ 1] }.prefix(300)
      numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
        .withBytes { bytes in
          for value in near + [0, .max, random.next(), random.next()] {
            let found = bytes.guessedLowerBound64(0, length: count, value, bias: bias)
            let expected = numbers.firstIndex { $0 >= value } ?? count
            #expect(found == expected, "round \(round): \(value) in \(numbers)")
          }
        }
    }
  }
}
