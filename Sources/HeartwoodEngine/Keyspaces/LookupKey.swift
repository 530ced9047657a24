/// A key for a lookup in a keyspace: a value of one component such as an integer, a string or a
/// byte array, the bytes of a span, or several components in a ``Key``.
///
/// A custom ``KeyConvertible`` type conforms as well. It is encoded on the heap; the types above
/// are encoded on the stack.
public protocol LookupKey: ~Escapable {
  /// Calls `body` once with the encoded key, which is valid during the call only.
  ///
  /// - Throws: `tooLarge` for a key over the limit; any error of `body`.
  func withEncodedKey(_ body: (EncodedKey) throws(StorageError) -> Void) throws(StorageError)
}

/// A key that the engine has encoded in memory, for one call.
///
/// Only the engine can create one: eight zero bytes follow the key, which a search relies on.
public struct EncodedKey {
  let bytes: Bytes

  init(_ bytes: Bytes) { self.bytes = bytes }
}

extension KeyConvertible {
  /// Calls `body` with the key whose only component is this value.
  public func withEncodedKey(
    _ body: (EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try Key(self).withEncodedKey(body)
  }
}

extension Int {
  /// Calls `body` with the key of this integer.
  public func withEncodedKey(
    _ body: (EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withSearchBytes(Int64(self)) { key throws(StorageError) in try body(EncodedKey(key)) }
  }
}

extension Int64 {
  /// Calls `body` with the key of this integer.
  public func withEncodedKey(
    _ body: (EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withSearchBytes(self) { key throws(StorageError) in try body(EncodedKey(key)) }
  }
}

extension String {
  /// Calls `body` with the key of this string.
  public func withEncodedKey(
    _ body: (EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withSearchBytes(self) { key throws(StorageError) in try body(EncodedKey(key)) }
  }
}

extension [UInt8]: LookupKey {
  /// Calls `body` with the key of these bytes.
  public func withEncodedKey(
    _ body: (EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withSearchBytes(self) { key throws(StorageError) in try body(EncodedKey(key)) }
  }
}

// The compiler requires inherited conditional conformances to be stated.
extension Optional: LookupKey where Wrapped: KeyConvertible {}

extension RawSpan: LookupKey {
  /// Calls `body` with the key of these bytes.
  public func withEncodedKey(
    _ body: (EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withSearchBytes(self) { key throws(StorageError) in try body(EncodedKey(key)) }
  }
}

extension Key: LookupKey {
  /// Calls `body` with this key.
  public func withEncodedKey(
    _ body: (EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withSearchBytes(self) { key throws(StorageError) in try body(EncodedKey(key)) }
  }
}
