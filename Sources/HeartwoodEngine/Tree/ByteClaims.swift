/// A bit for each byte of a page, set once a cell occupies it.
///
/// Cells that share bytes would let one be freed, moved or compacted over the other.
struct ByteClaims {
  /// The number of claimed bytes.
  private(set) var count = 0
  private let map: MutableBytes

  /// The number of bytes that the map of a page of `pageByteCount` bytes takes.
  static func mapByteCount(_ pageByteCount: Int) -> Int { (pageByteCount / 64 + 1) * 8 }

  /// Creates a set of no bytes.
  ///
  /// - Parameter map: Zeros, ``mapByteCount(_:)`` of them.
  init(map: MutableBytes) { self.map = map }

  /// Claims `byteCount` bytes from `offset` on; returns `false` if one of them is claimed already.
  mutating func claim(_ offset: Int, _ byteCount: Int) -> Bool {
    var (offset, end) = (offset, offset + byteCount)
    count += byteCount
    while offset < end {
      let bit = offset % 64
      let length = min(64 - bit, end - offset)
      let mask = (UInt64.max >> UInt64(64 - length)) << UInt64(bit)
      let word = offset / 64 * 8
      let claimed = map.bytes.load64(word)
      guard claimed & mask == 0 else { return false }
      map.store64(claimed | mask, word)
      offset += length
    }
    return true
  }
}
