/// A histogram of the durations of operations.
///
/// Each duration is assigned to a bucket whose width is a sixteenth of a power of two, and is
/// reported as the upper end of that bucket. A reported duration is therefore never too short, and
/// at most 7 % too long.
struct Latencies: Sendable {
  private var counts = [UInt32](repeating: 0, count: 64 << Self.partBits)
  private(set) var count = 0

  private static let partBits = 4

  /// The reported percentiles, as shares of all operations.
  static let shownShares = [0.5, 0.9, 0.99, 0.999]

  /// Adds the duration of one operation.
  mutating func add(nanoseconds: UInt64) {
    counts[Self.part(of: nanoseconds)] += 1
    count += 1
  }

  /// Adds the durations in another histogram.
  mutating func add(_ other: Latencies) {
    for part in counts.indices { counts[part] += other.counts[part] }
    count += other.count
  }

  /// Returns a percentile of the durations, in nanoseconds, or 0 if there are no operations.
  ///
  /// - Parameter share: The percentile as a fraction, such as 0.99 for the 99th percentile.
  func nanoseconds(ofShare share: Double) -> Double {
    let wanted = Int((Double(count) * share).rounded(.up))
    var seen = 0
    for part in counts.indices where counts[part] > 0 {
      seen += Int(counts[part])
      if seen >= wanted { return Self.upperEnd(of: part) }
    }
    return 0
  }

  /// Returns the bucket for a duration.
  ///
  /// Each short duration has its own bucket. The bucket for a longer duration covers a sixteenth of
  /// a power of two.
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
  /// The duration in whole nanoseconds, or 0 if it is negative.
  var inNanoseconds: UInt64 {
    UInt64(max(0, components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000))
  }
}
