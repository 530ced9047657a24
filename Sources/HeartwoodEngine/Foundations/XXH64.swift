/// A hasher that implements the published 64-bit xxHash algorithm (XXH64).
///
/// The hashes detect corruption, but not changes by an attacker who constructs collisions.
package struct XXH64 {
  /// The state after processing all complete 32-byte stripes of the input so far.
  private var lanes: Lanes
  /// The bytes after the last complete stripe, as little-endian words padded with zeros.
  private var pending = SIMD4<UInt64>(repeating: 0)
  private var pendingByteCount = 0
  private var byteCount: UInt64 = 0

  package init(seed: UInt64 = 0) {
    lanes = Lanes(seed: seed)
  }

  /// Appends `bytes`.
  ///
  /// The hash does not depend on how the input is divided among calls.
  package mutating func update(_ bytes: Bytes) {
    byteCount &+= UInt64(bytes.count)
    var start = 0
    if pendingByteCount > 0 {
      start = min(Lanes.stripeByteCount - pendingByteCount, bytes.count)
      hold(bytes.slice(0, start))
      guard pendingByteCount == Lanes.stripeByteCount else { return }
      lanes.mix(pending[0], pending[1], pending[2], pending[3])
      pending = SIMD4(repeating: 0)
      pendingByteCount = 0
    }
    let rest = bytes.slice(start, bytes.count - start)
    let consumed = lanes.mixStripes(of: rest)
    hold(rest.slice(consumed, rest.count - consumed))
  }

  /// Appends bytes to the incomplete stripe.
  ///
  /// The bytes must fit in the stripe.
  private mutating func hold(_ bytes: Bytes) {
    for offset in 0..<bytes.count {
      let shift = UInt64(pendingByteCount & 7) * 8
      pending[pendingByteCount / 8] |= UInt64(bytes.load8(offset)) << shift
      pendingByteCount += 1
    }
  }

  /// Returns the hash of the input so far.
  ///
  /// More bytes may be appended afterwards.
  package func finish() -> UInt64 {
    var ending = Ending(lanes: lanes, byteCount: byteCount)
    let wordCount = pendingByteCount / 8
    for index in 0..<wordCount { ending.mix(word: pending[index]) }
    var rest = pending[wordCount]
    var restByteCount = pendingByteCount & 7
    if restByteCount >= 4 {
      ending.mix(half: UInt32(truncatingIfNeeded: rest))
      rest >>= 32
      restByteCount -= 4
    }
    for _ in 0..<restByteCount {
      ending.mix(byte: UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
    return ending.avalanche()
  }

  package static func hash(_ bytes: Bytes, seed: UInt64 = 0) -> UInt64 {
    var lanes = Lanes(seed: seed)
    var offset = lanes.mixStripes(of: bytes)
    var ending = Ending(lanes: lanes, byteCount: UInt64(bytes.count))
    while bytes.count &- offset >= 8 {
      ending.mix(word: bytes.load64(offset))
      offset &+= 8
    }
    if bytes.count &- offset >= 4 {
      ending.mix(half: bytes.load32(offset))
      offset &+= 4
    }
    while offset < bytes.count {
      ending.mix(byte: bytes.load8(offset))
      offset &+= 1
    }
    return ending.avalanche()
  }
}

extension XXH64 {
  /// The primes defined in the specification.
  private enum Prime {
    @_transparent static var first: UInt64 { 0x9E37_79B1_85EB_CA87 }
    @_transparent static var second: UInt64 { 0xC2B2_AE3D_27D4_EB4F }
    @_transparent static var third: UInt64 { 0x1656_67B1_9E37_79F9 }
    @_transparent static var fourth: UInt64 { 0x85EB_CA77_C2B2_AE63 }
    @_transparent static var fifth: UInt64 { 0x27D4_EB2F_1656_67C5 }
  }

  /// The four accumulators, which consume the complete stripes.
  private struct Lanes {
    static let stripeByteCount = 32

    private let seed: UInt64
    private var first: UInt64
    private var second: UInt64
    private var third: UInt64
    private var fourth: UInt64

    @inline(__always)
    init(seed: UInt64) {
      self.seed = seed
      first = seed &+ Prime.first &+ Prime.second
      second = seed &+ Prime.second
      third = seed
      fourth = seed &- Prime.first
    }

    /// Consumes one stripe.
    @_transparent
    mutating func mix(_ one: UInt64, _ two: UInt64, _ three: UInt64, _ four: UInt64) {
      first = XXH64.round(first, one)
      second = XXH64.round(second, two)
      third = XXH64.round(third, three)
      fourth = XXH64.round(fourth, four)
    }

    /// Consumes every complete stripe of `bytes`.
    ///
    /// - Returns: The total length of these stripes.
    @inline(__always)
    mutating func mixStripes(of bytes: Bytes) -> Int {
      let end = bytes.count & ~(Self.stripeByteCount - 1)
      // The loads below never go past `end`, so check the bounds once with `slice` instead of at
      // each load.
      let stripes = bytes.slice(0, end)
      var offset = 0
      while offset < end {
        mix(
          stripes.word(at: offset), stripes.word(at: offset &+ 8),
          stripes.word(at: offset &+ 16), stripes.word(at: offset &+ 24))
        offset &+= Self.stripeByteCount
      }
      return end
    }

    /// Combines the four accumulators into one.
    ///
    /// If there was no complete stripe, the result depends only on the seed.
    @inline(__always)
    func converged(byteCount: UInt64) -> UInt64 {
      guard byteCount >= UInt64(Self.stripeByteCount) else { return seed &+ Prime.fifth }
      var result = first.rotated(by: 1) &+ second.rotated(by: 7)
      result = result &+ third.rotated(by: 12) &+ fourth.rotated(by: 18)
      for lane in [first, second, third, fourth] {
        result = (result ^ XXH64.round(0, lane)) &* Prime.first &+ Prime.fourth
      }
      return result
    }
  }

  /// The accumulator that consumes the bytes after the last stripe.
  private struct Ending {
    private var value: UInt64

    @inline(__always)
    init(lanes: Lanes, byteCount: UInt64) {
      value = lanes.converged(byteCount: byteCount) &+ byteCount
    }

    @inline(__always)
    mutating func mix(word: UInt64) {
      value ^= XXH64.round(0, word)
      value = value.rotated(by: 27) &* Prime.first &+ Prime.fourth
    }

    @inline(__always)
    mutating func mix(half: UInt32) {
      value ^= UInt64(half) &* Prime.first
      value = value.rotated(by: 23) &* Prime.second &+ Prime.third
    }

    @inline(__always)
    mutating func mix(byte: UInt8) {
      value ^= UInt64(byte) &* Prime.fifth
      value = value.rotated(by: 11) &* Prime.first
    }

    /// Returns the final hash, in which every bit depends on all bits of the accumulator.
    @inline(__always)
    func avalanche() -> UInt64 {
      var result = value
      result = (result ^ (result &>> 33)) &* Prime.second
      result = (result ^ (result &>> 29)) &* Prime.third
      return result ^ (result &>> 32)
    }
  }

  @_transparent
  private static func round(_ accumulator: UInt64, _ lane: UInt64) -> UInt64 {
    (accumulator &+ lane &* Prime.second).rotated(by: 31) &* Prime.first
  }
}

extension Bytes {
  /// Loads eight bytes, as `loadUnchecked64` does.
  ///
  /// A debug build cannot inline a function from another file, so calling `loadUnchecked64` would
  /// make hashing take three times as long.
  @_transparent
  fileprivate func word(at offset: Int) -> UInt64 {
    base.loadUnaligned(fromByteOffset: offset, as: UInt64.self).inLittleEndian
  }
}

extension UInt64 {
  /// Returns this number rotated left by `count` bits, where `count` is from 1 to 63.
  @_transparent
  fileprivate func rotated(by count: UInt64) -> UInt64 {
    (self &<< count) | (self &>> (64 &- count))
  }
}
