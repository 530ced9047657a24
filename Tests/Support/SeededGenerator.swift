/// A random number generator (SplitMix64) whose numbers depend only on its seed.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number below `bound`, which must not be 0.
  ///
  /// The bias of the numbers is negligible.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// Returns `true` with a probability of `chance` in 256.
  package mutating func isTrue(in256 chance: UInt64) -> Bool { next() >> 56 < chance }

  /// Returns an independent generator, whose numbers do not depend on later draws from this
  /// generator.
  package mutating func forked() -> SeededGenerator { SeededGenerator(seed: next()) }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count + 8)
    while result.count < count {
      withUnsafeBytes(of: next().littleEndian) { result.append(contentsOf: $0) }
    }
    result.removeLast(result.count - count)
    return result
  }
}
