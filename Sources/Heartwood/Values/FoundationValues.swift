public import Foundation

extension Date: AttributeValue {
  /// The storage type of dates.
  public static var storageType: StorageType { .date }
  /// The stored representation of the value.
  public var storedValue: StoredValue { .date(bits: timeIntervalSinceReferenceDate.bitPattern) }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard case .date(bits: let bits) = storedValue else { throw Self.mismatch(storedValue) }
    self.init(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
  }
}

extension UUID: AttributeValue {
  /// The storage type of UUIDs.
  public static var storageType: StorageType { .uuid }
  /// The stored representation of the value.
  public var storedValue: StoredValue { .uuid(high: halves.high, low: halves.low) }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard case .uuid(let high, let low) = storedValue else { throw Self.mismatch(storedValue) }
    self.init(high: high, low: low)
  }
}

extension UUID {
  /// The first and last eight bytes of the UUID, each as a big-endian integer.
  var halves: (high: UInt64, low: UInt64) {
    withUnsafeBytes(of: uuid) {
      (
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
  }

  init(high: UInt64, low: UInt64) {
    var bytes = uuid_t(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &bytes) {
      $0.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
      $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    self.init(uuid: bytes)
  }
}

extension Data: AttributeValue {
  /// The storage type of data.
  public static var storageType: StorageType { .bytes }
  /// The stored representation of the value.
  public var storedValue: StoredValue { .bytes([UInt8](self)) }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard case .bytes(let bytes) = storedValue else { throw Self.mismatch(storedValue) }
    self.init(bytes)
  }
}

extension URL: AttributeValue {
  /// The storage type of URLs.
  public static var storageType: StorageType { .string }
  /// The stored representation of the value.
  public var storedValue: StoredValue { .string(absoluteString) }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard case .string(let text) = storedValue else { throw Self.mismatch(storedValue) }
    // Use `URLComponents` for an empty string, because `URL(string:)` would return `nil`.
    guard let url = text.isEmpty ? URLComponents().url : URL(string: text) else {
      throw Self.unknown(storedValue)
    }
    self = url
  }
}

extension Decimal: AttributeValue {
  /// The storage type of decimal numbers.
  public static var storageType: StorageType { .decimal }
  /// The stored representation of the value.
  public var storedValue: StoredValue { .string(description) }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    if case .string("NaN") = storedValue {
      self = .nan
      return
    }
    guard case .string(let text) = storedValue,
      let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
    else { throw Self.mismatch(storedValue) }
    self = decimal
  }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
  /// The storage type of the raw values.
  public static var storageType: StorageType { RawValue.storageType }
  /// A Boolean value that indicates whether attributes of this type can be `nil`.
  public static var isOptional: Bool { RawValue.isOptional }
  /// The stored representation of the value.
  public var storedValue: StoredValue { get throws { try rawValue.storedValue } }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard let value = Self(rawValue: try RawValue(storedValue: storedValue)) else {
      throw Self.unknown(storedValue)
    }
    self = value
  }
}

extension AttributeValue where Self: Codable {
  /// The storage type of values that are encoded as JSON.
  public static var storageType: StorageType { .json }
  /// The stored representation of the value.
  public var storedValue: StoredValue { get throws { .bytes(try JSONCoding.bytes(of: self)) } }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    self = try JSONCoding.value(Self.self, from: storedValue)
  }
}

/// The default implementation for enumerations that are also `Codable`, which are stored as raw
/// values rather than as JSON.
extension AttributeValue where Self: Codable & RawRepresentable, RawValue: AttributeValue {
  /// The storage type of the raw values.
  public static var storageType: StorageType { RawValue.storageType }
  /// The stored representation of the value.
  public var storedValue: StoredValue { get throws { try rawValue.storedValue } }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    guard let value = Self(rawValue: try RawValue(storedValue: storedValue)) else {
      throw Self.unknown(storedValue)
    }
    self = value
  }
}

extension Array: AttributeValue where Element: AttributeValue & Codable {
  /// The storage type of arrays.
  public static var storageType: StorageType { .json }
  /// The stored representation of the value.
  public var storedValue: StoredValue { get throws { .bytes(try JSONCoding.bytes(of: self)) } }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    self = try JSONCoding.value(Self.self, from: storedValue)
  }
}

extension Set: AttributeValue where Element: AttributeValue & Codable {
  /// The storage type of sets.
  public static var storageType: StorageType { .json }
  /// The set as a JSON array.
  ///
  /// The elements are sorted by their JSON representation, so that equal sets have equal bytes.
  public var storedValue: StoredValue { get throws { .bytes(try JSONCoding.bytes(of: self)) } }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    self = try JSONCoding.value(Self.self, from: storedValue)
  }
}

extension Dictionary: AttributeValue where Key: Codable, Value: Codable {
  /// The storage type of dictionaries.
  public static var storageType: StorageType { .json }
  /// The dictionary as a JSON object, or as an array of alternating keys and values if the keys are
  /// neither strings nor integers.
  ///
  /// The entries are sorted by their keys, so that equal dictionaries have equal bytes.
  public var storedValue: StoredValue { get throws { .bytes(try JSONCoding.bytes(of: self)) } }
  /// Creates a value from its stored representation.
  public init(storedValue: StoredValue) throws {
    self = try JSONCoding.value(Self.self, from: storedValue)
  }
}
