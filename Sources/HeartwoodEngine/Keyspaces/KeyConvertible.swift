/// A value that can be a component of a key.
///
/// Integers, floating-point numbers, booleans, strings, byte arrays and optionals of these types
/// conform. A custom type encodes itself as one or more of these components:
///
/// ```swift
/// struct Version: KeyConvertible {
///   var major: Int
///   var minor: Int
///
///   func encode(into encoder: inout KeyEncoder) {
///     encoder.append(major)
///     encoder.append(minor)
///   }
///
///   static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Version {
///     Version(major: try decoder.decodeInteger(), minor: try decoder.decodeInteger())
///   }
/// }
/// ```
public protocol KeyConvertible: LookupKey, Sendable {
  /// Appends this value to a key.
  ///
  /// Equal values must append equal components, and different values must append different
  /// components. Keys sort in the order of these components.
  func encode(into encoder: inout KeyEncoder)

  /// Decodes the components that ``encode(into:)`` appended.
  ///
  /// An implementation must throw an error if the next component does not have the expected kind.
  /// The implementation must never trap, regardless of what the key contains.
  static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Self
}

extension KeyConvertible where Self: FixedWidthInteger & SignedInteger {
  /// Appends this integer.
  @inline(__always)
  public func encode(into encoder: inout KeyEncoder) { encoder.append(Int64(self)) }

  /// Reads an integer, or throws an error if it does not fit in this type.
  @inline(__always)
  public static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Self {
    try decoder.decodeInteger()
  }
}

extension KeyConvertible where Self: FixedWidthInteger & UnsignedInteger {
  /// Appends this integer.
  @inline(__always)
  public func encode(into encoder: inout KeyEncoder) { encoder.append(UInt64(self)) }

  /// Reads an integer, or throws an error if it does not fit in this type.
  @inline(__always)
  public static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Self {
    try decoder.decodeInteger()
  }
}

extension Int: KeyConvertible {}
extension Int8: KeyConvertible {}
extension Int16: KeyConvertible {}
extension Int32: KeyConvertible {}
extension Int64: KeyConvertible {}
extension UInt: KeyConvertible {}
extension UInt8: KeyConvertible {}
extension UInt16: KeyConvertible {}
extension UInt32: KeyConvertible {}
extension UInt64: KeyConvertible {}

extension Double: KeyConvertible {
  /// Appends this number.
  public func encode(into encoder: inout KeyEncoder) { encoder.append(self) }

  /// Reads a floating-point number.
  public static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Double {
    try decoder.decodeDouble()
  }
}

extension Bool: KeyConvertible {
  /// Appends this boolean.
  public func encode(into encoder: inout KeyEncoder) { encoder.append(self) }

  /// Reads a boolean.
  public static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Bool {
    try decoder.decodeBool()
  }
}

extension String: KeyConvertible {
  /// Appends this string.
  public func encode(into encoder: inout KeyEncoder) { encoder.append(self) }

  /// Reads a string.
  public static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> String {
    try decoder.decodeString()
  }
}

extension Array: KeyConvertible where Element == UInt8 {
  /// Appends this byte string.
  public func encode(into encoder: inout KeyEncoder) { encoder.append(self) }

  /// Reads a byte string.
  public static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> [UInt8] {
    try decoder.decodeBytes()
  }
}

extension Float: KeyConvertible {
  /// Appends this number as a `Double`, which can represent every `Float`.
  public func encode(into encoder: inout KeyEncoder) { encoder.append(Double(self)) }

  /// Reads a number, or throws an error if a `Float` cannot represent it exactly.
  public static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Float {
    try decoder.decodeFloat()
  }
}

extension Optional: KeyConvertible where Wrapped: KeyConvertible {
  /// Appends the wrapped value or nil.
  ///
  /// Nil sorts before every value. In a nested optional, nil has the same encoding at every level.
  public func encode(into encoder: inout KeyEncoder) {
    if let self { self.encode(into: &encoder) } else { encoder.appendNil() }
  }

  /// Reads nil or a wrapped value.
  public static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Wrapped? {
    if decoder.decodeNil() { return nil }
    return try Wrapped.decode(from: &decoder)
  }
}
