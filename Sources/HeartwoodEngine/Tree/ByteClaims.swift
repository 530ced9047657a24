/// A bit for each byte of a page, set if a cell occupies the byte.
///
/// If cells shared bytes, freeing, moving or compacting one could overwrite the other.
struct ByteClaims {
  /// The number of claimed bytes.
  private(set) var count = 0
  private let map: MutableBytes

  /// Returns the length of the map for a page of `pageByteCount` bytes.
  static func mapByteCount(_ pageByteCount: Int) -> Int { (pageByteCount / 64 + 1) * 8 }

  /// Creates an empty set.
  ///
  /// - Parameter map: ``mapByteCount(_:)`` bytes, all zero.
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
