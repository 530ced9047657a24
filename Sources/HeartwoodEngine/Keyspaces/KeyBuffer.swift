/// Encodes the keys of lookups on the stack.
///
/// Every get and put encodes its key here (see ``LookupKey``), so this code must not allocate heap
/// memory. Eight zero bytes follow the key in memory, because the search loads words that extend
/// past the end of the key. `Bytes.count` does not include them.
enum KeyBuffer {
  /// The length of the longest key, including its padding.
  private static let byteCount = Limits.maxKeyByteCount + 8

  /// Runs `body` with stack memory that is large enough for any key.
  @inline(__always)
  static func withMemory(_ body: (MutableBytes) throws(StorageError) -> Void) throws(StorageError) {
    try MutableBytes.withStackBytes(count: byteCount, body)
  }

  /// Writes the key of a string or a byte string to `target`, and returns its length.
  ///
  /// If the key would exceed the limit, its length is returned but the key is not written, and
  /// `finish` then throws an error. Throwing here, inside the closures that give access to the
  /// bytes of strings and arrays, would cost more than copying the key.
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

  /// Writes the padding after the key that ends at `end`, and returns the key.
  ///
  /// - Throws: `tooLarge` if the key is too long.
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
      "The encoded key has \(byteCount) bytes, but the limit is \(Limits.maxKeyByteCount). Use a "
        + "shorter key.")
  }
}

/// Writes the key of an integer, followed by eight zero bytes, to the start of `target`, and
/// returns the key.
@inline(__always)
package func storeSearchKey(_ key: Int64, to target: MutableBytes) -> Bytes {
  target.store8(KeyTag.integer.rawValue, 0)
  target.store64(key.keyBits.byteSwapped, 1)
  target.store64(0, 9)
  return target.bytes.slice(0, 9)
}

/// Writes the key of a string, followed by eight zero bytes, to the start of `target`, and returns
/// the key.
///
/// - Throws: ``StorageError/Kind/tooLarge`` if the key is longer than the limit.
@inline(__always)
package func storeSearchKey(_ key: String, to target: MutableBytes) throws(StorageError) -> Bytes {
  let end = key.withBytes { KeyBuffer.encode(.string, $0, to: target) }
  return try KeyBuffer.finish(target, at: end)
}
