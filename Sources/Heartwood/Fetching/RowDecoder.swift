import Foundation

/// A decoder that decodes a value from the columns of a row.
struct RowDecoder: Decoder {
  let columns: RowColumns
  let node: Int
  /// The name of the composite attribute to decode, followed by a separator.
  ///
  /// The prefix is empty while the properties of the object itself are decoded.
  var prefix = ""
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(
      RowContainer(columns: columns, node: node, prefix: prefix, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw ValueContainer.mismatch(
      [Any].self, codingPath, "An object cannot be decoded as an array. Decode it as a structure.")
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    throw ValueContainer.mismatch(
      Any.self, codingPath,
      "An object cannot be decoded as a single value. Decode it as a structure, or as its "
        + "ManagedObjectID.")
  }
}

/// A keyed container for the columns of an object.
private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let columns: RowColumns
  let node: Int
  let prefix: String
  let codingPath: [any CodingKey]

  var allKeys: [Key] {
    columns.names(of: node, prefix: prefix).compactMap { Key(stringValue: $0) }
  }

  func contains(_ key: Key) -> Bool {
    columns.contains(name(key), in: node) || columns.isComposite(name(key), in: node)
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    if columns.isComposite(name(key), in: node) { return false }
    return try column(key).value.isNull
  }

  private func name(_ key: Key) -> String {
    prefix.isEmpty ? key.stringValue : prefix + key.stringValue
  }

  private func column(_ key: Key) throws -> (value: StoredValue, property: PropertyDescription?) {
    try columns.value(name(key), key, in: node, codingPath)
  }

  /// Returns a decoder for the composite attribute with the name `key`, or `nil` if there is none.
  private func composite(_ key: Key) -> RowDecoder? {
    guard columns.isComposite(name(key), in: node) else { return nil }
    return RowDecoder(
      columns: columns, node: node, prefix: name(key) + CompositeDescription.separator,
      codingPath: codingPath + [key])
  }

  private func value(_ key: Key) throws -> ValueContainer {
    let found = try column(key)
    return ValueContainer(
      value: found.value, property: found.property, codingPath: codingPath + [key])
  }

  /// Decodes a value of a basic type.
  ///
  /// To save time, the coding path is built only if decoding fails.
  private func basic<Value: AttributeValue>(_ type: Value.Type, _ key: Key) throws -> Value {
    let (found, property) = try column(key)
    guard property?.isAttribute == true else {
      throw ValueContainer.mismatch(
        type, codingPath + [key],
        "An object cannot be decoded as \(type). Decode it as a structure, or as its "
          + "ManagedObjectID.")
    }
    if let value = try? Value(storedValue: found) { return value }
    return try value(key).attribute(type)
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try basic(type, key) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try basic(type, key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try basic(type, key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try basic(type, key) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try basic(type, key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try basic(type, key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try basic(type, key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try basic(type, key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try basic(type, key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try basic(type, key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try basic(type, key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try basic(type, key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try basic(type, key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try basic(type, key) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    if let decoder = composite(key) { return try Value(from: decoder) }
    let (value, property) = try column(key)
    let isReference = property?.isReference ?? true
    guard isReference else { return try self.value(key).decode(type) }
    guard case .integer(let bits) = value else {
      throw ValueContainer.notFound(type, codingPath + [key])
    }
    if type == ManagedObjectID.self,
      let id = ManagedObjectID(ObjectNumber(bits: bits), columns.space) as? Value
    {
      return id
    }
    return try Value(from: try decoder(of: property, key))
  }

  /// Returns the decoder for the target of a to-one relationship.
  private func decoder(of property: PropertyDescription?, _ key: Key) throws -> RowDecoder {
    guard let property, let target = columns.node(property, of: node) else {
      throw ValueContainer.mismatch(
        ManagedObjectID.self, codingPath + [key],
        "The value is an object's ID. Decode it as a ManagedObjectID.")
    }
    return RowDecoder(columns: columns, node: target, codingPath: codingPath + [key])
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    if let decoder = composite(key) { return decoder.container(keyedBy: type) }
    let (value, property) = try column(key)
    guard !value.isNull else { throw ValueContainer.notFound(Nested.self, codingPath + [key]) }
    guard property?.isReference == true else {
      throw ValueContainer.mismatch(
        Nested.self, codingPath + [key],
        "The value has no keys, because only to-one relationships and composite attributes have "
          + "keys. Decode it as a single value.")
    }
    return try decoder(of: property, key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw ValueContainer.mismatch(
      [Any].self, codingPath + [key],
      "The value cannot be decoded element by element. Decode it as a single value.")
  }

  func superDecoder() -> any Decoder {
    RowDecoder(columns: columns, node: node, prefix: prefix, codingPath: codingPath)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { superDecoder() }
}

/// A container for the value of one attribute, which can be decoded as a type other than the
/// attribute's own type.
private struct ValueContainer: SingleValueDecodingContainer, Decoder {
  let value: StoredValue
  let property: PropertyDescription?
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  static func mismatch(
    _ type: Any.Type, _ path: [any CodingKey], _ message: String
  ) -> DecodingError {
    .typeMismatch(type, DecodingError.Context(codingPath: path, debugDescription: message))
  }

  static func notFound(_ type: Any.Type, _ path: [any CodingKey]) -> DecodingError {
    .valueNotFound(
      type,
      DecodingError.Context(
        codingPath: path,
        debugDescription: "The value is nil. Declare the property as optional."))
  }

  func decodeNil() -> Bool { value.isNull }

  /// Converts the value to an attribute type.
  ///
  /// An integer can also be converted to a floating-point number.
  func attribute<Value: AttributeValue>(_ type: Value.Type) throws -> Value {
    if value.isNull, !type.isOptional { throw Self.notFound(type, codingPath) }
    if case .integer(let number) = value, let double = Double(exactly: number),
      type.storageType == .double || type.storageType == .float,
      let result = try? Value(storedValue: .double(double))
    {
      return result
    }
    do { return try Value(storedValue: value) } catch {
      throw Self.mismatch(
        type, codingPath,
        "\(value.text ?? "nil") is not a valid value of \(type). Declare the property with the "
          + "attribute's type. If the store may contain values that this type does not define, use "
          + "the raw type instead.")
    }
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let attributeType = type as? any AttributeValue.Type,
      let result = try attribute(attributeType) as? Value
    {
      return result
    }
    if value.isNull, !(type is any ExpressibleByNilLiteral.Type) {
      throw Self.notFound(type, codingPath)
    }
    if case .attribute(.json, _)? = property?.kind, case .bytes(let bytes) = value {
      return try JSONCoding.decode(type, from: Data(bytes))
    }
    return try Value(from: self)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw Self.mismatch(
      Key.self, codingPath, "The attribute has no keys. Decode it as a single value.")
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw Self.mismatch(
      [Any].self, codingPath, "The attribute is not an array. Decode it as a single value.")
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decode(_ type: Bool.Type) throws -> Bool { try attribute(type) }
  func decode(_ type: String.Type) throws -> String { try attribute(type) }
  func decode(_ type: Double.Type) throws -> Double { try attribute(type) }
  func decode(_ type: Float.Type) throws -> Float { try attribute(type) }
  func decode(_ type: Int.Type) throws -> Int { try attribute(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try attribute(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try attribute(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try attribute(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try attribute(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try attribute(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try attribute(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try attribute(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try attribute(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try attribute(type) }
}
