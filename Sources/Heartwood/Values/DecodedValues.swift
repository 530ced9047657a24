import Foundation

/// Decoding of attribute values from other formats, such as JSON.
extension AttributeValue {
  /// Decodes a value of the attribute's storage type, and returns its stored representation.
  ///
  /// - Throws: `DecodingError` if the decoder contains no value of this type.
  static func decodedValue(_ decoder: any Decoder) throws -> StoredValue {
    let container = try decoder.singleValueContainer()
    func failure(_ reason: String) -> DecodingError {
      .dataCorrupted(
        DecodingError.Context(codingPath: container.codingPath, debugDescription: reason))
    }
    if container.decodeNil() {
      guard isOptional else {
        throw failure("The value is null, but the attribute is not optional. Provide a value.")
      }
      return .null
    }
    let value: StoredValue
    do {
      value = try storedValue(container)
    } catch let error as DecodingError {
      throw error
    } catch {
      throw failure("The value cannot be read as \(storageType.phrase): \(error)")
    }
    do {
      // Reject invalid values, such as raw values that match no case and numbers that are out of
      // range.
      _ = try Self(storedValue: value)
    } catch {
      throw failure("\(value.text ?? "nil") is not a valid value of \(Self.self).")
    }
    return value
  }

  private static func storedValue(_ container: any SingleValueDecodingContainer) throws
    -> StoredValue
  {
    switch storageType {
    case .bool: return try container.decode(Bool.self).storedValue
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32:
      return try container.decode(Int64.self).storedValue
    case .uint64: return try container.decode(UInt64.self).storedValue
    case .float: return try container.decode(Float.self).storedValue
    case .double: return try container.decode(Double.self).storedValue
    case .date: return try container.decode(Date.self).storedValue
    case .uuid: return try container.decode(UUID.self).storedValue
    case .string: return try container.decode(String.self).storedValue
    case .bytes: return try container.decode(Data.self).storedValue
    case .decimal: return try container.decode(Decimal.self).storedValue
    case .reference:
      throw StorageError(.invalidArgument, "An attribute cannot contain a reference to an object.")
    case .json:
      guard let type = Self.self as? any (AttributeValue & Decodable).Type else {
        throw StorageError(
          .invalidArgument,
          "\(Self.self) is not Decodable. Make the type conform to Decodable.")
      }
      func decoded<Value: AttributeValue & Decodable>(_ type: Value.Type) throws -> StoredValue {
        try container.decode(type).storedValue
      }
      return try decoded(type)
    }
  }
}
