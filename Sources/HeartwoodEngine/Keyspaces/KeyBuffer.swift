/// Functions that encode keys for gets and puts without allocating heap memory.
///
/// A key in memory is followed by eight zero bytes, because the search loads words that extend past
/// the end of the key. `Bytes.count` does not include these zeros.
enum KeyBuffer {
  private static let byteCount = Limits.maxKeyByteCount + 8

  @inline(__always)
  static func withMemory(_ body: (MutableBytes) throws(StorageError) -> Void) throws(StorageError) {
    try MutableBytes.withStackBytes(count: byteCount, body)
  }

  /// Encodes a string or byte string as a key in `target`, and returns the key's length.
  ///
  /// If the key exceeds the limit, this method does not write it, and `finish` throws the error
  /// later. Throwing from a closure that accesses a string's bytes would cost more than copying the
  /// key.
  @inline(__always)
  static func encode(_ tag: KeyTag, _ content: Bytes, to target: MutableBytes) -> Int {
    target.store8(tag.rawValue, 0)
    guard content.count < Limits.maxKeyByteCount, target.copyUnlessZero(content, to: 1) else {
      return escape(content, to: target)
    }
    return 1 &+ content.count
  }

  /// Implements ``encode(_:_:to:)`` for content that contains zero bytes or may be too long.
  @inline(never)
  private static func escape(_ content: Bytes, to target: MutableBytes) -> Int {
    var byteCount = 1 + content.count
    for offset in 0..<content.count where content.load8(offset) == 0 { byteCount += 1 }
    guard byteCount <= Limits.maxKeyByteCount else { return byteCount }
    var end = 1
    for offset in 0..<content.count {
      let byte = content.load8(offset)
      target.store8(byte, end)
      end += 1
      guard byte == 0 else { continue }
      target.store8(0xFF, end)
      end += 1
    }
    return end
  }

  /// Pads and returns the key that ends at `end`, or throws `tooLarge` if it exceeds the limit.
  @inline(__always)
  static func finish(_ target: MutableBytes, at end: Int) throws(StorageError) -> Bytes {
    guard end <= Limits.maxKeyByteCount else { throw tooLarge(end) }
    target.store64(0, end)
    return target.bytes.slice(0, end)
  }

  @inline(never)
  private static func tooLarge(_ byteCount: Int) -> StorageError {
    StorageError(
      .tooLarge,
      "The encoded key is \(byteCount) bytes long, but the limit is \(Limits.maxKeyByteCount) "
        + "bytes. Use a shorter key.")
  }
}

/// Writes an integer's key and eight zero bytes to `target`, and returns the key.
@inline(__always)
package func storeSearchKey(_ key: Int64, to target: MutableBytes) -> Bytes {
  target.store8(KeyTag.integer.rawValue, 0)
  target.store64(key.keyBits.byteSwapped, 1)
  target.store64(0, 9)
  return target.bytes.slice(0, 9)
}

/// Writes a string's key and eight zero bytes to `target`, and returns the key.
///
/// - Throws: `tooLarge` if the key exceeds the limit.
@inline(__always)
package func storeSearchKey(_ key: String, to target: MutableBytes) throws(StorageError) -> Bytes {
  let end = key.withBytes { KeyBuffer.encode(.string, $0, to: target) }
  return try KeyBuffer.finish(target, at: end)
}
