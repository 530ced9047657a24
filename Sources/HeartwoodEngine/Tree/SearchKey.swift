/// A key to search for or to store.
///
/// The creator guarantees that eight readable zero bytes follow the key in memory. With them, the
/// head of any suffix can be read by a single load.
package struct SearchKey {
  package let bytes: Bytes

  /// The memory size for the longest key and the zeros after it, as a multiple of 16.
  static let maxByteCount = (Limits.maxKeyByteCount + 8 + 15) & ~15

  @inline(__always)
  package init(_ bytes: Bytes) { self.bytes = bytes }

  @inline(__always)
  package var count: Int { bytes.count }

  /// Returns the eight bytes from `skipped` on as a number that sorts like them, padded with zeros.
  @inline(__always)
  package func head(skipping skipped: Int) -> UInt64 { bytes.loadPaddedBigEndian64(skipped) }
}
