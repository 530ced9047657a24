/// How long operations took, counted by length.
///
/// A length is kept to one part in sixteen, and reported as the upper end of its part: what is
/// reported is never too short, and at most 7 % too long.
struct Latencies: Sendable {
  private var counts = [UInt32](repeating: 0, count: 64 << Self.partBits)
  private(set) var count = 0

  private static let partBits = 4

  /// The shares that are reported.
  static let shownShares = [0.5, 0.9, 0.99, 0.999]

  /// Takes an operation down.
  mutating func add(nanoseconds: UInt64) {
    counts[Self.part(of: nanoseconds)] += 1
    count += 1
  }

  /// Takes down what another has.
  mutating func add(_ other: Latencies) {
    for part in counts.indices { counts[part] += other.counts[part] }
    count += other.count
  }

  /// Nanoseconds that a share of all operations took at most; 0 without any.
  func nanoseconds(ofShare share: Double) -> Double {
    let wanted = Int((Double(count) * share).rounded(.up))
    var seen = 0
    for part in counts.indices where counts[part] > 0 {
      seen += Int(counts[part])
      if seen >= wanted { return Self.upperEnd(of: part) }
    }
    return 0
  }

  /// Short ones have a part each, longer ones the sixteenth of a power of two.
  private static func part(of nanoseconds: UInt64) -> Int {
    let exponent = max(0, 63 - nanoseconds.leadingZeroBitCount - partBits)
    return exponent << partBits + Int(nanoseconds >> UInt64(exponent))
  }

  private static func upperEnd(of part: Int) -> Double {
    let exponent = max(0, part >> partBits - 1)
    return Double((UInt64(part - exponent << partBits + 1) << UInt64(exponent)) - 1)
  }
}

extension Duration {
  /// The duration in whole nanoseconds; 0 if it is negative.
  var inNanoseconds: UInt64 {
    UInt64(max(0, components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000))
  }
}
