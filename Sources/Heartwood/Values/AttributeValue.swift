/// A type whose values can be stored in an attribute.
///
/// The following types conform to this protocol: all integer types, `Double`, `Float`, `Bool`,
/// `String`, `Date`, `Data`, `UUID`, `URL` and `Decimal`; optionals, arrays and sets of these
/// types; and dictionaries of `Codable` types.
///
/// To store your own `Codable` type, or an enumeration whose raw values have one of these types,
/// declare the conformance. You do not need to implement any requirements. To use an enumeration in
/// a `#Predicate`, make it `Codable` as well.
///
/// ```swift
/// enum Severity: Int, Codable, AttributeValue { case low, high }
/// struct Place: Codable, AttributeValue { var latitude, longitude: Double }
/// ```
///
/// A `Codable` type is stored as JSON with sorted keys. An attribute of such a type cannot be
/// indexed, and predicates can compare its values only with `nil`.
public protocol AttributeValue {
  /// The storage type, which determines how rows store values of the conforming type.
  static var storageType: StorageType { get }
  /// A Boolean value that indicates whether attributes of this type can be `nil`.
  static var isOptional: Bool { get }
  /// The stored representation of the value.
  var storedValue: StoredValue { get throws }
  /// Creates a value from its stored representation.
  ///
  /// - Throws: `StorageError.corrupt` if the stored value has the wrong type. Any other error
  ///   indicates that the value may have been written by another version of the type. The attribute
  ///   then reads as `nil` or as its default value, and the row is not changed.
  init(storedValue: StoredValue) throws
  /// A placeholder that a managed object stores while the attribute's value is mutated in place.
  ///
  /// Because the object holds the placeholder instead of the value, the mutation does not copy the
  /// value. The placeholder is `nil` for types whose values are cheap to copy.
  static var placeholderWhileChanging: Self? { get }
}

extension AttributeValue {
  /// A Boolean value that indicates whether attributes of this type can be `nil`.
  ///
  /// The default is `false`.
  public static var isOptional: Bool { false }

  /// The placeholder that a managed object stores during an in-place mutation.
  ///
  /// The default is `nil`.
  @inlinable
  public static var placeholderWhileChanging: Self? { nil }

  /// Returns the error to throw if a stored value does not have this type.
  static func mismatch(_ value: StoredValue) -> StorageError {
    StorageError(
      .corrupt,
      "The store is corrupt: a record contains \(value) instead of a value of type \(Self.self). "
        + "Restore a backup.")
  }

  /// Returns the error to throw if a stored value, such as the raw value of a removed case, is not
  /// valid in this version of the type.
  static func unknown(_ value: StoredValue) -> StorageError {
    StorageError(
      .incompatibleFormat,
      "The stored value \(value.text ?? "nil") is not a valid value of \(Self.self) in this "
        + "version of the program. Read the object with a version of the program that declares "
        + "this value.")
  }

  /// Creates a value from its stored representation, or returns `nil` if this version of the type
  /// has no such value.
  init?(known value: StoredValue) throws {
    do {
      try self.init(storedValue: value)
    } catch let error as StorageError where error.kind == .corrupt {
      throw error
    } catch {
      return nil
    }
  }
}

/// An optional type that provides information about its wrapped type.
protocol NestableOptional {
  /// A Boolean value that indicates whether the wrapped type is also an optional.
  static var isNested: Bool { get }
  /// The wrapped type.
  static var wrappedType: Any.Type { get }
}

extension Optional: NestableOptional where Wrapped: AttributeValue {
  static var isNested: Bool { Wrapped.isOptional }
  static var wrappedType: Any.Type { Wrapped.self }
}

extension Bool: AttributeValue {
  /// The storage type of Boolean values.
  public static var storageType: StorageType { .bool }
  /// The stored representation of the value.
  public var storedValue: StoredValue { .bool(self) }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard case .bool(let value) = storedValue else { throw Self.mismatch(storedValue) }
    self = value
  }
}

extension String: AttributeValue {
  /// The storage type of strings.
  public static var storageType: StorageType { .string }
  /// The stored representation of the value.
  public var storedValue: StoredValue { .string(self) }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard case .string(let value) = storedValue else { throw Self.mismatch(storedValue) }
    self = value
  }
}

extension Double: AttributeValue {
  /// The storage type of `Double` values.
  public static var storageType: StorageType { .double }
  /// The stored representation of the value.
  public var storedValue: StoredValue { .double(self) }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard case .double(bits: let bits) = storedValue else { throw Self.mismatch(storedValue) }
    self.init(bitPattern: bits)
  }
}

extension Float: AttributeValue {
  /// The storage type of `Float` values.
  public static var storageType: StorageType { .float }
  /// The stored representation of the value.
  public var storedValue: StoredValue { .double(Double(self)) }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard case .double(bits: let bits) = storedValue else { throw Self.mismatch(storedValue) }
    self.init(Double(bitPattern: bits))
  }
}

extension AttributeValue where Self: FixedWidthInteger & Codable {
  /// The stored representation of the integer.
  public var storedValue: StoredValue {
    Int64(exactly: self).map { .integer($0) } ?? .largeInteger(UInt64(truncatingIfNeeded: self))
  }

  /// Creates an integer from its stored representation.
  ///
  /// - Throws: `StorageError.corrupt` if the stored value is not an integer or does not fit in this
  ///   type.
  public init(storedValue: StoredValue) throws {
    let value: Self? =
      switch storedValue {
      case .integer(let value): Self(exactly: value)
      case .largeInteger(let value): Self(exactly: value)
      default: nil
      }
    guard let value else { throw Self.mismatch(storedValue) }
    self = value
  }
}

extension Int: AttributeValue {
  /// The storage type of `Int` values.
  public static var storageType: StorageType { .int64 }
}
extension Int8: AttributeValue {
  /// The storage type of `Int8` values.
  public static var storageType: StorageType { .int8 }
}
extension Int16: AttributeValue {
  /// The storage type of `Int16` values.
  public static var storageType: StorageType { .int16 }
}
extension Int32: AttributeValue {
  /// The storage type of `Int32` values.
  public static var storageType: StorageType { .int32 }
}
extension Int64: AttributeValue {
  /// The storage type of `Int64` values.
  public static var storageType: StorageType { .int64 }
}
extension UInt: AttributeValue {
  /// The storage type of `UInt` values.
  public static var storageType: StorageType { .uint64 }
}
extension UInt8: AttributeValue {
  /// The storage type of `UInt8` values.
  public static var storageType: StorageType { .uint8 }
}
extension UInt16: AttributeValue {
  /// The storage type of `UInt16` values.
  public static var storageType: StorageType { .uint16 }
}
extension UInt32: AttributeValue {
  /// The storage type of `UInt32` values.
  public static var storageType: StorageType { .uint32 }
}
extension UInt64: AttributeValue {
  /// The storage type of `UInt64` values.
  public static var storageType: StorageType { .uint64 }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
  /// The storage type of the wrapped type.
  public static var storageType: StorageType { Wrapped.storageType }
  /// A Boolean value that indicates whether attributes of this type can be `nil`.
  public static var isOptional: Bool { true }
  /// The stored representation of the value.
  public var storedValue: StoredValue { get throws { try self?.storedValue ?? .null } }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    self = storedValue.isNull ? nil : try Wrapped(storedValue: storedValue)
  }
}
