/// A key to search for or to store.
///
/// The code that creates a search key guarantees that eight readable zero bytes follow the key in
/// memory, so that the head of any suffix can be read with a single load.
package struct SearchKey {
  package let bytes: Bytes

  /// The size of the memory for the longest key and the zeros after it, rounded up to a multiple of
  /// 16.
  static let maxByteCount = (Limits.maxKeyByteCount + 8 + 15) & ~15

  @inline(__always)
  package init(_ bytes: Bytes) { self.bytes = bytes }

  @inline(__always)
  package var count: Int { bytes.count }

  /// Returns the eight bytes after the first `skipped` bytes, padded with zeros past the end of the
  /// key, as a number that sorts like the bytes.
  @inline(__always)
  package func head(skipping skipped: Int) -> UInt64 { bytes.loadPaddedBigEndian64(skipped) }
}
