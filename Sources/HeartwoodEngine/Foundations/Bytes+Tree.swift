extension Bytes {
  /// No bytes at all.
  @inline(__always)
  package static var empty: Bytes { Bytes(UnsafeRawBufferPointer(start: nil, count: 0)) }

  /// The bytes from `offset` on as a number that sorts like them, zeros standing in for what lies
  /// past the end.
  ///
  /// The caller promises eight readable zero bytes behind the last one: that makes this one load.
  @inline(__always)
  package func loadPaddedBigEndian64(_ offset: Int) -> UInt64 {
    precondition(offset >= 0 && offset <= count, "out of bounds")
    return UInt64(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}

extension MutableBytes {
  /// Stores `value` so that it sorts like its bytes.
  @inline(__always)
  package func storeBigEndian64(_ value: UInt64, _ offset: Int) {
    store64(value.byteSwapped, offset)
  }
}

extension Bytes {
  /// What lies in the cache lines behind the first one, folded into a number.
  ///
  /// The memory fetches them side by side while the first line is still on its way, instead of one
  /// after the other as a search asks for them. The number must have a use, or the compiler drops
  /// the loads.
  @inline(__always)
  package var touchedLines: UInt64 {
    precondition(count >= 448, "out of bounds")
    return base.load(fromByteOffset: 64, as: UInt64.self)
      ^ base.load(fromByteOffset: 128, as: UInt64.self)
      ^ base.load(fromByteOffset: 192, as: UInt64.self)
      ^ base.load(fromByteOffset: 256, as: UInt64.self)
      ^ base.load(fromByteOffset: 320, as: UInt64.self)
      ^ base.load(fromByteOffset: 384, as: UInt64.self)
  }

  /// What lies in the cache lines at `offset` and behind it, for the same use.
  @inline(__always)
  package func touchedLines(at offset: Int) -> UInt64 {
    UInt64(load8(offset)) ^ UInt64(load8(min(offset &+ 64, count &- 1)))
  }

  /// Like ``lowerBound64(_:length:_:)`` by arithmetic alone: no step waits for a guess to be taken
  /// back, which pays where the bytes are in the nearest caches.
  @inline(__always)
  package func arithmeticLowerBound64(_ offset: Int, length: Int, _ value: UInt64) -> Int {
    _ = slice(offset, length &* 8)
    var low = 0
    var size = length
    while size > 1 {
      let half = size &>> 1
      low &+= half & -loadUnchecked64(offset &+ (low &+ half &- 1) &* 8).isLess(value)
      size &-= half
    }
    return size == 0 ? 0 : low &+ loadUnchecked64(offset &+ low &* 8).isLess(value)
  }
}

extension UInt64 {
  /// 1 if this number is less than the other, else 0: the borrow of their difference.
  @inline(__always)
  fileprivate func isLess(_ other: UInt64) -> Int {
    Int(truncatingIfNeeded: ((~self & other) | (~(self ^ other) & (self &- other))) &>> 63)
  }
}
