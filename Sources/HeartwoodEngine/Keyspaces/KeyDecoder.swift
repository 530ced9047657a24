/// A decoder that reads the components of a key one after another.
///
/// Decoding never traps, regardless of the bytes. It throws ``StorageError/Kind/invalidArgument``
/// if a component does not have the requested kind, or if a number does not fit in the requested
/// type. It throws ``StorageError/Kind/corrupt`` for bytes that a ``KeyEncoder`` never writes. The
/// error's message states the position of the component. If the kinds differ, the message also
/// states the kind that was found and the kind that was requested. After an error, the position of
/// the decoder is unspecified.
///
/// A decoder only borrows the key's memory. It cannot be copied, so code cannot keep it beyond the
/// call that receives it.
public struct KeyDecoder: ~Copyable {
  private let bytes: Bytes
  private var offset = 0
  /// The number of components whose decoding has begun.
  private var componentCount = 0

  package init(_ bytes: Bytes) {
    self.bytes = bytes
  }

  /// A Boolean value that indicates whether all components have been read.
  public var isAtEnd: Bool { offset == bytes.count }

  /// Reads the next component if it is nil.
  ///
  /// - Returns: `true` if the component was nil.
  public mutating func decodeNil() -> Bool {
    guard !isAtEnd, bytes.load8(offset) == KeyTag.absent.rawValue else { return false }
    offset += 1
    componentCount += 1
    return true
  }

  /// Reads a boolean.
  public mutating func decodeBool() throws(StorageError) -> Bool {
    switch try begin(asking: .yes) {
    case .no: return false
    case .yes: return true
    case let found: throw mismatch(found, asking: .yes)
    }
  }

  /// Reads an integer of any width, or throws an error if it does not fit in `Value`.
  public mutating func decodeInteger<Value: FixedWidthInteger>(
    as type: Value.Type = Value.self
  ) throws(StorageError) -> Value {
    switch try begin(asking: .integer) {
    case .integer:
      let integer = Int64(keyBits: try word())
      guard let value = Value(exactly: integer) else { throw misfit(integer, type) }
      return value
    case .largeInteger:
      let integer = try word()
      guard integer > UInt64(Int64.max) else {
        throw malformed("is an integer with an invalid encoding")
      }
      guard let value = Value(exactly: integer) else { throw misfit(integer, type) }
      return value
    case let found:
      throw mismatch(found, asking: .integer)
    }
  }

  /// Reads a floating-point number.
  public mutating func decodeDouble() throws(StorageError) -> Double {
    try begin(only: .float)
    return try float()
  }

  /// Reads a floating-point number, or throws an error if a `Float` cannot represent it exactly.
  public mutating func decodeFloat() throws(StorageError) -> Float {
    let double = try decodeDouble()
    if double.isNaN { return .nan }
    guard let value = Float(exactly: double) else { throw misfit(double, Float.self) }
    return value
  }

  /// Reads a point in time as a number of seconds since the start of 1970 (UTC).
  public mutating func decodeDate() throws(StorageError) -> Double {
    try begin(only: .date)
    return try float()
  }

  /// Reads a UUID as two numbers: its first and its last eight bytes, most significant byte first.
  public mutating func decodeUUID() throws(StorageError) -> (high: UInt64, low: UInt64) {
    try begin(only: .uuid)
    return (try word(), try word())
  }

  /// Reads a string.
  public mutating func decodeString() throws(StorageError) -> String {
    try begin(only: .string)
    let (content, isEscaped) = try content()
    let string =
      isEscaped
      ? String(validating: Self.unescaped(content), as: UTF8.self)
      : String(validating: content.buffer, as: UTF8.self)
    guard let string else { throw malformed("is a string that is not valid UTF-8") }
    return string
  }

  /// Reads a byte string.
  public mutating func decodeBytes() throws(StorageError) -> [UInt8] {
    try begin(only: .bytes)
    let (content, isEscaped) = try content()
    return isEscaped ? Self.unescaped(content) : content.copied()
  }

  /// Returns the kind of the next component without reading it, or `nil` at the end of the key.
  package func nextKind() throws(StorageError) -> KeyTag? {
    guard !isAtEnd else { return nil }
    guard let tag = KeyTag(rawValue: bytes.load8(offset)) else {
      throw .corrupt(
        "\(ordinal(componentCount + 1)) has an unknown kind (\(bytes.load8(offset))). If the key "
          + "was read from a store, the store is corrupt, so restore a backup. Otherwise, pass the "
          + "bytes of a valid key.")
    }
    return tag
  }

  /// Throws an error if any component has not been read.
  package func finish() throws(StorageError) {
    guard let found = try nextKind() else { return }
    throw StorageError(
      .invalidArgument,
      "\(ordinal(componentCount + 1)) is \(found.kindName), but no more components were requested. "
        + "Request all components of the key.")
  }
}

extension KeyDecoder {
  /// Reads the kind of the next component.
  ///
  /// If there is no next component, the method throws an error that names the requested kind,
  /// `asked`.
  private mutating func begin(asking asked: KeyTag) throws(StorageError) -> KeyTag {
    guard let tag = try nextKind() else {
      throw StorageError(
        .invalidArgument,
        "\(ordinal(componentCount + 1)) is missing, but \(asked.kindName) was requested. Request "
          + "only the components that the key has.")
    }
    offset += 1
    componentCount += 1
    return tag
  }

  private mutating func begin(only asked: KeyTag) throws(StorageError) {
    let found = try begin(asking: asked)
    guard found == asked else { throw mismatch(found, asking: asked) }
  }

  private mutating func word() throws(StorageError) -> UInt64 {
    guard bytes.count - offset >= 8 else { throw malformed("is truncated") }
    defer { offset += 8 }
    return bytes.loadBigEndian64(offset)
  }

  private mutating func float() throws(StorageError) -> Double {
    guard let value = Double(keyBits: try word()) else {
      throw malformed("is a number with an invalid encoding")
    }
    return value
  }

  /// Reads the content of a string or byte string without unescaping it.
  private mutating func content() throws(StorageError) -> (Bytes, isEscaped: Bool) {
    let start = offset
    var isEscaped = false
    var zero = bytes.firstZero(from: start)
    while zero + 1 < bytes.count, bytes.load8(zero + 1) == 0xFF {
      isEscaped = true
      zero = bytes.firstZero(from: zero + 2)
    }
    // Reject a terminator at the end of the key. Without this check, the same key would have two
    // valid encodings.
    guard zero + 1 != bytes.count else {
      throw malformed("has a terminator, although it is the last component")
    }
    offset = min(zero + 1, bytes.count)
    return (bytes.slice(start, zero - start), isEscaped)
  }

  /// Returns a copy of escaped bytes in which every `00 FF` is replaced by `00`.
  private static func unescaped(_ content: Bytes) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(content.count)
    var start = 0
    while start < content.count {
      let zero = content.firstZero(from: start)
      result.append(contentsOf: content.slice(start, zero - start).buffer)
      if zero < content.count { result.append(0) }
      start = zero + 2
    }
    return result
  }

  /// Returns a phrase for error messages, such as "The key's second component".
  private func ordinal(_ number: Int) -> String {
    let ordinals = [
      "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    ]
    guard ordinals.indices.contains(number - 1) else { return "Component \(number) of the key" }
    return "The key's \(ordinals[number - 1]) component"
  }

  private func mismatch(_ found: KeyTag, asking asked: KeyTag) -> StorageError {
    StorageError(
      .invalidArgument,
      "\(ordinal(componentCount)) is \(found.kindName), not \(asked.kindName). Request "
        + "\(found.kindName) instead.")
  }

  private func misfit<Number, Asked>(_ number: Number, _ asked: Asked.Type) -> StorageError {
    StorageError(
      .invalidArgument,
      "\(ordinal(componentCount)) is the number \(number), which \(asked) cannot represent. "
        + "Request a type that can represent it.")
  }

  private func malformed(_ complaint: String) -> StorageError {
    .corrupt(
      "\(ordinal(componentCount)) \(complaint). If the key was read from a store, the store is "
        + "corrupt, so restore a backup. Otherwise, pass the bytes of a valid key.")
  }
}
