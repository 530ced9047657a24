/// What an attribute of a model can be.
///
/// All integer widths, `Double`, `Float`, `Bool`, `String`, `Date`, `Data`, `UUID`, `URL`,
/// `Decimal`, and optionals, arrays and sets of them are. An enumeration with such a raw value and
/// a `Codable` type become one by declaring it; nothing has to be written for that:
///
/// ```swift
/// enum Severity: Int, AttributeValue { case low, high }
/// struct Place: Codable, AttributeValue { var latitude, longitude: Double }
/// ```
///
/// A `Codable` type is stored as JSON with sorted keys, and is neither indexed nor compared in
/// predicates.
public protocol AttributeValue {
  /// How values lie in a record.
  static var storedForm: StoredForm { get }
  /// Whether there may be no value.
  static var isOptional: Bool { get }
  /// The value in its stored form.
  var storedValue: StoredValue { get throws }
  /// The value with this stored form.
  ///
  /// - Throws: `StorageError.corrupt` if a value of another kind is stored there; any other error
  ///   if it may be a value of another version of the type. An object shows none then, or its
  ///   declared value, and its row stays as it is.
  init(storedValue: StoredValue) throws
  /// A value that takes the place of one that is changed in place, so that this is not copied;
  /// `nil` for values that are copied at no cost.
  static var placeholderWhileChanging: Self? { get }
}

extension AttributeValue {
  /// Whether there may be no value: no.
  public static var isOptional: Bool { false }

  /// A value that takes the place of one that is changed in place: none.
  @inlinable
  public static var placeholderWhileChanging: Self? { nil }

  /// Says that a stored value is none of this type.
  static func mismatch(_ value: StoredValue) -> StorageError {
    StorageError(.corrupt, "A record holds \(value) where a value of type \(Self.self) belongs.")
  }

  /// Says that this version of the program has no such value of the type.
  static func unknown(_ value: StoredValue) -> StorageError {
    StorageError(
      .incompatibleFormat,
      "\(value.text ?? "nil") is stored, which is no \(Self.self) in this version of the program.")
  }

  /// The value with this stored form; `nil` if this version of the program has none.
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

/// What optionals tell of themselves.
protocol NestableOptional {
  /// Whether what it is an optional of is one too.
  static var isNested: Bool { get }
  /// What it is an optional of.
  static var wrappedType: Any.Type { get }
}

extension Optional: NestableOptional where Wrapped: AttributeValue {
  static var isNested: Bool { Wrapped.isOptional }
  static var wrappedType: Any.Type { Wrapped.self }
}

extension Bool: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .bool }
  /// The value in its stored form.
  public var storedValue: StoredValue { .bool(self) }
  /// The value with this stored form.
  public init(storedValue: StoredValue) throws {
    guard case .bool(let value) = storedValue else { throw Self.mismatch(storedValue) }
    self = value
  }
}

extension String: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .string }
  /// The value in its stored form.
  public var storedValue: StoredValue { .string(self) }
  /// The value with this stored form.
  public init(storedValue: StoredValue) throws {
    guard case .string(let value) = storedValue else { throw Self.mismatch(storedValue) }
    self = value
  }
}

extension Double: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .double }
  /// The value in its stored form.
  public var storedValue: StoredValue { .number(self) }
  /// The value with this stored form.
  public init(storedValue: StoredValue) throws {
    guard case .number(let bits) = storedValue else { throw Self.mismatch(storedValue) }
    self.init(bitPattern: bits)
  }
}

extension Float: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .float }
  /// The value in its stored form.
  public var storedValue: StoredValue { .number(Double(self)) }
  /// The value with this stored form.
  public init(storedValue: StoredValue) throws {
    guard case .number(let bits) = storedValue else { throw Self.mismatch(storedValue) }
    self.init(Double(bitPattern: bits))
  }
}

extension AttributeValue where Self: FixedWidthInteger & Codable {
  /// The integer.
  public var storedValue: StoredValue {
    Int64(exactly: self).map { .integer($0) } ?? .largeInteger(UInt64(truncatingIfNeeded: self))
  }

  /// The integer, if it fits this type.
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
  /// How values lie in a record.
  public static var storedForm: StoredForm { .int64 }
}
extension Int8: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .int8 }
}
extension Int16: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .int16 }
}
extension Int32: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .int32 }
}
extension Int64: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .int64 }
}
extension UInt: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .uint64 }
}
extension UInt8: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .uint8 }
}
extension UInt16: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .uint16 }
}
extension UInt32: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .uint32 }
}
extension UInt64: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { .uint64 }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
  /// How values lie in a record.
  public static var storedForm: StoredForm { Wrapped.storedForm }
  /// Whether there may be no value.
  public static var isOptional: Bool { true }
  /// The value in its stored form.
  public var storedValue: StoredValue { get throws { try self?.storedValue ?? .null } }
  /// The value with this stored form.
  public init(storedValue: StoredValue) throws {
    self = storedValue.isNull ? nil : try Wrapped(storedValue: storedValue)
  }
}
