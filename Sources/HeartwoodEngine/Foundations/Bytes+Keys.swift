extension Bytes {
  /// Loads eight bytes without a bounds check.
  ///
  /// The caller must have checked the range.
  @_transparent
  package func loadUnchecked64(_ offset: Int) -> UInt64 {
    base.loadUnaligned(fromByteOffset: offset, as: UInt64.self).inLittleEndian
  }

  /// Returns the offset of the first zero byte at or after `offset`, or `count` if there is none.
  package func firstZero(from offset: Int) -> Int {
    var index = offset
    while index &+ 8 <= count {
      let marks = load64(index).zeroByteMarks
      if marks != 0 { return index &+ marks.trailingZeroBitCount / 8 }
      index &+= 8
    }
    while index < count, load8(index) != 0 { index &+= 1 }
    return index
  }
}

extension MutableBytes {
  /// Runs `body` with uninitialised memory on the stack.
  ///
  /// `count` should be a constant no greater than 1024, because larger buffers may be allocated on
  /// the heap.
  @inline(__always)
  package static func withStackBytes<R, E: Error>(
    count: Int, _ body: (MutableBytes) throws(E) -> R
  ) throws(E) -> R {
    try withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { buffer throws(E) in
      // An empty buffer may have no address. Any address will do, because nothing is written to it.
      let base = buffer.baseAddress ?? UnsafeMutableRawPointer(bitPattern: 8).unsafelyUnwrapped
      return try body(MutableBytes(base, count: buffer.count))
    }
  }

  /// Calls `body` with a buffer of `count` zero bytes, which is allocated on the stack if `count`
  /// is small.
  package static func withZeros<R>(count: Int, _ body: (MutableBytes) -> R) -> R {
    withStackBytes(count: count) { bytes in
      bytes.clear(0, count)
      return body(bytes)
    }
  }

  /// Copies `source` to `offset`, or returns `false` if `source` contains a zero byte.
  ///
  /// If the result is `false`, the bytes at `offset` are undefined. Copying overlapping words takes
  /// fewer instructions than calling the C library and then searching for zeros. Returning at the
  /// first zero keeps the compiler from emitting a vector loop, which would take longer to set up
  /// than most keys take to copy.
  @inline(__always)
  package func copyUnlessZero(_ source: Bytes, to offset: Int) -> Bool {
    let target = slice(offset, source.count).base
    let count = source.count
    guard count >= 8 else { return Self.copyShort(source, to: target) }
    var index = 0
    while index &+ 8 < count {
      let word = source.base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      guard word.zeroByteMarks == 0 else { return false }
      target.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
      index &+= 8
    }
    let word = source.base.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
    target.storeBytes(of: word, toByteOffset: count &- 8, as: UInt64.self)
    return word.zeroByteMarks == 0
  }

  /// Implements ``copyUnlessZero(_:to:)`` for sources of fewer than eight bytes.
  @inline(__always)
  private static func copyShort(_ source: Bytes, to target: UnsafeMutableRawPointer) -> Bool {
    let count = source.count
    guard count < 4 else {
      let low = source.base.loadUnaligned(as: UInt32.self)
      let high = source.base.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
      target.storeBytes(of: low, as: UInt32.self)
      target.storeBytes(of: high, toByteOffset: count &- 4, as: UInt32.self)
      return (UInt64(low) | UInt64(high) &<< 32).zeroByteMarks == 0
    }
    var index = 0
    while index < count {
      let byte = source.base.load(fromByteOffset: index, as: UInt8.self)
      guard byte != 0 else { return false }
      target.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
      index &+= 1
    }
    return true
  }
}

extension UInt64 {
  /// A mask that marks the lowest zero byte of this number, or 0 if no byte is zero.
  ///
  /// The lowest set bit of the mask is the top bit of the lowest zero byte. Higher bits have no
  /// meaning.
  @_transparent
  fileprivate var zeroByteMarks: UInt64 {
    (self &- 0x0101_0101_0101_0101) & ~self & 0x8080_8080_8080_8080
  }
}

extension Array where Element == UInt8 {
  /// Appends the eight bytes of `value`, most significant first.
  @inline(__always)
  mutating func append(bigEndian value: UInt64) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}

extension String {
  /// Runs `body` with the UTF-8 bytes of this string, without copying them if they are contiguous.
  @inline(__always)
  package func withBytes<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
    let result: Result<R, E>? = utf8.withContiguousStorageIfAvailable { buffer in
      do throws(E) {
        return .success(try body(Bytes(UnsafeRawBufferPointer(buffer))))
      } catch {
        return .failure(error)
      }
    }
    // A string bridged from Objective-C may not be stored as UTF-8, so copy its bytes.
    guard let result else { return try [UInt8](utf8).withBytes(body) }
    return try result.get()
  }
}
