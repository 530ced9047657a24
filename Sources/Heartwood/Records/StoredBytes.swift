/// Methods that decode stored keys and values in place, without copying them.
extension RawSpan {
  /// Calls `body` with a view of the record in these bytes.
  ///
  /// - Throws: `corrupt` if the bytes are not a valid record in one of the layouts.
  func withRecord<Result>(
    _ layouts: [RecordLayout], _ body: (RecordView) throws -> Result
  ) throws -> Result {
    try withUnsafeBytes { try body(RecordView($0, layouts)) }
  }

  /// Decodes the bytes as an eight-byte little-endian integer.
  ///
  /// - Throws: `corrupt` unless there are exactly eight bytes.
  func number() throws(StorageError) -> Int64 {
    guard byteCount == 8 else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: a number is \(byteCount) bytes long instead of 8. Restore a backup.")
    }
    return withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) }
  }

  /// Decodes the last component of a key as an integer.
  ///
  /// - Throws: `corrupt` if the key has fewer than eight bytes.
  func lastKeyComponent() throws(StorageError) -> Int64 {
    guard byteCount >= 8 else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: a key that should end with an 8-byte number is only \(byteCount) "
          + "bytes long. Restore a backup.")
    }
    let offset = byteCount - 8
    let bits = withUnsafeBytes {
      UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    // Keys store the sign bit inverted, so that negative numbers come first.
    return Int64(bitPattern: bits ^ 1 << 63)
  }

  /// Returns the row ID at the end of a posting block's key, or `nil` if the key does not consist
  /// of `prefix` and a row ID.
  func blockRow(_ prefix: [UInt8]) throws(StorageError) -> Int64? {
    guard byteCount == prefix.count + 8, withUnsafeBytes({ $0.starts(with: prefix) }) else {
      return nil
    }
    return try lastKeyComponent()
  }

  /// A copy of the bytes.
  var copy: [UInt8] { withUnsafeBytes { Array($0) } }
}
