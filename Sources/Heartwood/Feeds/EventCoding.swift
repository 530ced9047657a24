import Foundation

/// The JSON keys within an event's values.
extension ImportKey {
  fileprivate static let id = ImportKey("id")
  fileprivate static let key = ImportKey("key")
}

// Encode values directly into the container of their object, because encoding each value through a
// wrapper type would take several times as long.
extension KeyedEncodingContainer where Key == ImportKey {
  /// Encodes the values of an object.
  mutating func encode(_ values: ChangeFeed.Values) throws {
    for (field, value) in zip(values.entity.attributes, values.attributes) {
      guard let value else { continue }
      guard field.keys.count > 1 else {
        try encode(value, field.description, forKey: field.keys[0])
        continue
      }
      var inner = innermost(of: field.keys)
      try inner.encode(value, field.description, forKey: field.keys[field.keys.count - 1])
    }
    for (field, target) in zip(values.entity.references, values.references) {
      guard let target else {
        try encodeNil(forKey: field.keys[0])
        continue
      }
      var inner = nestedContainer(keyedBy: ImportKey.self, forKey: field.keys[0])
      try inner.encode(target)
    }
    for (field, members) in values.lists {
      var list = nestedUnkeyedContainer(forKey: field.keys[0])
      for member in members {
        var inner = list.nestedContainer(keyedBy: ImportKey.self)
        try inner.encode(member)
      }
    }
  }

  /// Encodes a unique attribute's value, keyed by the attribute's name.
  mutating func encode(_ key: ChangeFeed.Key) throws {
    try encode(key.value, key.property, forKey: ImportKey(key.name))
  }

  private mutating func encode(_ reference: Reference) throws {
    try encode(reference.id.shortText, forKey: .id)
    guard let key = reference.key else { return }
    var inner = nestedContainer(keyedBy: ImportKey.self, forKey: .key)
    try inner.encode(key)
  }

  /// Encodes an attribute's value in the default format of exports.
  private mutating func encode(
    _ value: StoredValue, _ property: PropertyDescription, forKey key: ImportKey
  ) throws {
    switch value {
    case .null: try encodeNil(forKey: key)
    case .bool(let value): try encode(value, forKey: key)
    case .integer(let value): try encode(value, forKey: key)
    case .largeInteger(let value): try encode(value, forKey: key)
    case .double(bits: let bits) where Double(bitPattern: bits).isFinite:
      let double = Double(bitPattern: bits)
      // Encode a `Float` value as a `Float`, because its shortest decimal representation differs
      // from that of an equal `Double`.
      if property.fieldStorageType == .float {
        try encode(Float(double), forKey: key)
      } else {
        try encode(double, forKey: key)
      }
    case .double(bits: let bits):
      let double = Double(bitPattern: bits)
      try encode(double.isNaN ? "nan" : double > 0 ? "inf" : "-inf", forKey: key)
    case .date: try encode(ExactDates.text(of: Date(storedValue: value)), forKey: key)
    case .uuid: try encode(UUID(storedValue: value).uuidString, forKey: key)
    case .string(let text) where property.fieldStorageType != .decimal:
      try encode(text, forKey: key)
    case .bytes(let bytes) where property.fieldStorageType != .json:
      try encode(Data(bytes).base64EncodedString(), forKey: key)
    case .string, .bytes: try encode(ExportedValue(value, property), forKey: key)
    }
  }
}

extension ChangeFeed.Event: Encodable {
  private enum Field: String, CodingKey {
    case specversion, id, source, type, subject, time, datacontenttype, data
  }

  private enum ContentField: String, CodingKey {
    case operation, entity, key, properties, before, after, author, transaction, index, last
    case generation, newestTransaction
  }

  /// Encodes the event in a CloudEvents 1.0 envelope.
  ///
  /// Within values of `Codable` types, the formats of dates, data and numbers such as NaN depend on
  /// `encoder`. In contrast, ``json()`` always uses the formats of a feed.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Field.self)
    try container.encode("1.0", forKey: .specversion)
    try container.encode(id, forKey: .id)
    try container.encode(source, forKey: .source)
    try container.encode("heartwood.object.\(operation.rawValue)", forKey: .type)
    if let objectID { try container.encode(objectID.shortText, forKey: .subject) }
    try container.encode(ExactDates.roundedText(of: time), forKey: .time)
    try container.encode("application/json", forKey: .datacontenttype)
    var data = container.nestedContainer(keyedBy: ContentField.self, forKey: .data)
    try data.encode(operation.rawValue, forKey: .operation)
    if let entityName { try data.encode(entityName, forKey: .entity) }
    if let key {
      var inner = data.nestedContainer(keyedBy: ImportKey.self, forKey: .key)
      try inner.encode(key)
    }
    if operation == .updated { try data.encode(changedProperties.sorted(), forKey: .properties) }
    if includesBefore || before != nil { try Self.encode(before, .before, in: &data) }
    if includesAfter { try Self.encode(after, .after, in: &data) }
    if let author { try data.encode(author, forKey: .author) }
    try data.encode(transaction, forKey: .transaction)
    try data.encode(index, forKey: .index)
    if isLast { try data.encode(true, forKey: .last) }
    try data.encode(generation.frame, forKey: .generation)
    try data.encode(newestTransaction, forKey: .newestTransaction)
  }

  private static func encode(
    _ values: ChangeFeed.Values?, _ field: ContentField,
    in data: inout KeyedEncodingContainer<ContentField>
  ) throws {
    guard let values else { return try data.encodeNil(forKey: field) }
    var inner = data.nestedContainer(keyedBy: ImportKey.self, forKey: field)
    try inner.encode(values)
  }
}
