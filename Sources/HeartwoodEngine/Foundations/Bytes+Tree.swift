extension Bytes {
  @inline(__always)
  package static var empty: Bytes { Bytes(UnsafeRawBufferPointer(start: nil, count: 0)) }

  /// Returns the eight bytes at `offset` as a number that sorts like the bytes.
  ///
  /// The run must be followed by eight readable zero bytes, so that one load suffices.
  @_transparent
  package func loadPaddedBigEndian64(_ offset: Int) -> UInt64 {
    precondition(offset >= 0 && offset <= count, "The byte range is out of bounds.")
    return base.loadUnaligned(fromByteOffset: offset, as: UInt64.self).inBigEndian
  }
}

extension MutableBytes {
  /// Stores `value` in big-endian order, so that the bytes sort like the number.
  @inline(__always)
  package func storeBigEndian64(_ value: UInt64, _ offset: Int) {
    store64(value.byteSwapped, offset)
  }
}

extension Bytes {
  /// A meaningless number, computed to prefetch the second to seventh cache lines of a page.
  ///
  /// The lines load in parallel, before a search needs them. The caller must use the number.
  /// Otherwise, the compiler removes the loads.
  @inline(__always)
  package var touchedLines: UInt64 {
    precondition(count >= 448, "The byte range is out of bounds.")
    return base.load(fromByteOffset: 64, as: UInt64.self)
      ^ base.load(fromByteOffset: 128, as: UInt64.self)
      ^ base.load(fromByteOffset: 192, as: UInt64.self)
      ^ base.load(fromByteOffset: 256, as: UInt64.self)
      ^ base.load(fromByteOffset: 320, as: UInt64.self)
      ^ base.load(fromByteOffset: 384, as: UInt64.self)
  }

  /// Prefetches the cache line at `offset` and the next one.
  ///
  /// The caller must use the result. Otherwise, the compiler removes the loads.
  @inline(__always)
  package func touchedLines(at offset: Int) -> UInt64 {
    UInt64(load8(offset)) ^ UInt64(load8(min(offset &+ 64, count &- 1)))
  }

  /// Returns the index of the first element that is at least `value`, or `length` if there is none.
  ///
  /// The elements are `length` sorted 64-bit numbers that start at `offset`. The search starts
  /// where `value` would be if the numbers were evenly spaced. A correct guess costs four loads and
  /// no hard-to-predict branch. A guess that is off by n costs about 2 log n more loads.
  ///
  /// - Parameter bias: The number to add to the guess before rounding it down. Use 0.5 if the array
  ///   probably contains `value`, or just under 1 if `value` usually lies between two elements.
  @inline(__always)
  package func guessedLowerBound64(
    _ offset: Int, length: Int, _ value: UInt64, bias: Double
  ) -> Int {
    _ = slice(offset, length &* 8)
    let last = length &- 1
    guard last >= 0 else { return 0 }
    let low = loadUnchecked64(offset)
    let high = loadUnchecked64(offset &+ last &* 8)
    guard low < value else { return 0 }
    guard value <= high else { return length }
    // Halve the differences so that they fit in an `Int64`. Set the lowest bit so that the divisor
    // is not 0.
    let distance = Double(Int64(truncatingIfNeeded: (value &- low) &>> 1))
    let extent = Double(Int64(truncatingIfNeeded: (high &- low) &>> 1 | 1))
    let guess = min(Int(distance / extent * Double(last) + bias), last)
    if loadUnchecked64(offset &+ guess &* 8) >= value {
      // Reading the element before `guess` is safe: `guess` is not 0, because the first element is
      // less than `value`.
      if loadUnchecked64(offset &+ (guess &- 1) &* 8) < value { return guess }
      return lowerBound64(offset, below: guess &- 1, value)
    }
    if loadUnchecked64(offset &+ (guess &+ 1) &* 8) >= value { return guess &+ 1 }
    return lowerBound64(offset, above: guess &+ 1, to: last, value)
  }

  /// Searches downwards from `high` for the lower bound of `value`, doubling the distance with each
  /// step.
  ///
  /// The first element must be less than `value`. The element at `high` must be at least `value`.
  @inline(never)
  private func lowerBound64(_ offset: Int, below high: Int, _ value: UInt64) -> Int {
    var high = high
    var step = 2
    while high > step, loadUnchecked64(offset &+ (high &- step) &* 8) >= value {
      high &-= step
      step &*= 2
    }
    return lowerBound64(offset, from: max(high &- step, 0), to: high, value)
  }

  /// Searches upwards from `low` for the lower bound of `value`, doubling the distance with each
  /// step.
  ///
  /// The element at `low` must be less than `value`. The element at `last` must be at least
  /// `value`.
  @inline(never)
  private func lowerBound64(_ offset: Int, above low: Int, to last: Int, _ value: UInt64) -> Int {
    var low = low
    var step = 2
    while low &+ step < last, loadUnchecked64(offset &+ (low &+ step) &* 8) < value {
      low &+= step
      step &*= 2
    }
    return lowerBound64(offset, from: low, to: min(low &+ step, last), value)
  }

  /// Searches for the lower bound of `value` between `low` and `high` by halving the range.
  ///
  /// The element at `low` must be less than `value`. The element at `high` must be at least
  /// `value`.
  @inline(__always)
  private func lowerBound64(_ offset: Int, from low: Int, to high: Int, _ value: UInt64) -> Int {
    var (low, high) = (low, high)
    while high &- low > 1 {
      let middle = (low &+ high) &>> 1
      if loadUnchecked64(offset &+ middle &* 8) < value { low = middle } else { high = middle }
    }
    return high
  }
}
