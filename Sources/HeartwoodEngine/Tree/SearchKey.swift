/// A key to search for or to store.
///
/// Eight zero bytes must follow the key in memory, so that one load can read the head of any
/// suffix. The code that creates a search key must provide these bytes.
package struct SearchKey {
  package let bytes: Bytes

  /// The size of the memory for the longest key and its zeros, rounded up to a multiple of 16.
  static let maxByteCount = (Limits.maxKeyByteCount + 8 + 15) & ~15

  @inline(__always)
  package init(_ bytes: Bytes) { self.bytes = bytes }

  @inline(__always)
  package var count: Int { bytes.count }

  /// Returns the eight bytes that follow the first `skipped` bytes, padded with zeros, as a
  /// big-endian number.
  @inline(__always)
  package func head(skipping skipped: Int) -> UInt64 { bytes.loadPaddedBigEndian64(skipped) }
}
