/// Tracks which bytes of a page are occupied by cells, with one bit for each byte.
///
/// No two cells may share bytes; otherwise, freeing, moving or compacting one cell could overwrite
/// another.
struct ByteClaims {
  /// The number of claimed bytes.
  private(set) var count = 0
  private let map: MutableBytes

  /// Returns the size of the bit map in bytes for a page of `pageByteCount` bytes.
  static func mapByteCount(_ pageByteCount: Int) -> Int { (pageByteCount / 64 + 1) * 8 }

  /// Creates an instance in which no byte is claimed.
  ///
  /// - Parameter map: The memory for the bit map: ``mapByteCount(_:)`` bytes that are all zero.
  init(map: MutableBytes) { self.map = map }

  /// Claims `byteCount` bytes starting at `offset`.
  ///
  /// Returns `false` if any of these bytes is already claimed.
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
