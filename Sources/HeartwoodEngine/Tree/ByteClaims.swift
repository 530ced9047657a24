/// A bitmap that records which bytes of a page are occupied by cells.
///
/// If cells shared bytes, freeing, moving or compacting one cell could overwrite another cell.
struct ByteClaims {
  private(set) var count = 0
  private let map: MutableBytes

  static func mapByteCount(_ pageByteCount: Int) -> Int { (pageByteCount / 64 + 1) * 8 }

  /// Creates an instance in which no bytes are claimed.
  ///
  /// `map` must contain ``mapByteCount(_:)`` zero bytes.
  init(map: MutableBytes) { self.map = map }

  /// Claims a range of bytes.
  ///
  /// - Returns: `false` if any of the bytes was already claimed.
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
