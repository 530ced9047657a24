/// What keys and values of the store say, looked at where they lie.
extension RawSpan {
  /// Calls `body` with the record these bytes are.
  ///
  /// - Throws: `corrupt` if they cannot be one.
  func withRecord<Result>(
    _ layouts: [RecordLayout], _ body: (RecordView) throws -> Result
  ) throws -> Result {
    try withUnsafeBytes { try body(RecordView($0, layouts)) }
  }

  /// The eight bytes as a number, least significant first.
  ///
  /// - Throws: `corrupt` if there are not eight.
  func number() throws(StorageError) -> Int64 {
    guard byteCount == 8 else {
      throw StorageError(.corrupt, "\(byteCount) bytes lie where a number of eight belongs.")
    }
    return withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) }
  }

  /// The last part of these bytes as a key, which is an integer.
  ///
  /// - Throws: `corrupt` if they are too few.
  func lastKeyPart() throws(StorageError) -> Int64 {
    guard byteCount >= 8 else {
      throw StorageError(
        .corrupt, "A key of \(byteCount) bytes lies where one with a number belongs.")
    }
    let offset = byteCount - 8
    let bits = withUnsafeBytes {
      UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    // Keys have the sign the other way round, so that negative numbers come first.
    return Int64(bitPattern: bits ^ 1 << 63)
  }

  /// The bytes as an array of their own.
  var copy: [UInt8] { withUnsafeBytes { Array($0) } }
}
