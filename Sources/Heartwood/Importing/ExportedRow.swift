import Foundation

/// The properties of a row in an export, in the order of the class.
struct ExportedColumns {
  struct Column {
    let property: PropertyDescription
    let expression: QueryExpression
    /// The attribute whose value is exported: the property itself, or a unique attribute of the
    /// object to which it refers.
    let attribute: PropertyDescription
    /// The keys that lead to the value; several for an element of a composite attribute.
    let keys: [ImportKey]
    /// The key of the value in an object of its own, or `nil` if the value stands alone.
    ///
    /// A unique value alone names an object only if its class has no other unique attribute.
    let key: ImportKey?
    /// Whether a missing value does not mean that there is no object.
    var omitsNull = false
  }

  let columns: [Column]

  /// Selects the attributes of an entity, and the to-one relationships to classes with unique
  /// attributes.
  init(_ entity: EntityDescription, _ model: StoreModel) {
    columns = entity.properties.compactMap { property in
      let path = QueryExpression.property(.variable(0), .name(property.name))
      if property.isAttribute {
        return Column(
          property: property, expression: path, attribute: property, keys: property.importKeys,
          key: nil)
      }
      guard property.isReference else { return nil }
      let target = property.storage.destination.flatMap { model.schema.entity(of: $0) }
      let unique = target?.uniqueProperties ?? []
      let required = unique.first {
        if case .attribute(_, isOptional: false) = $0.kind { true } else { false }
      }
      guard let attribute = required ?? unique.first else { return nil }
      return Column(
        property: property, expression: .property(path, .name(attribute.name)),
        attribute: attribute, keys: property.importKeys,
        key: unique.count > 1 ? ImportKey(attribute.name) : nil,
        omitsNull: required == nil)
    }
  }

  /// Returns the text of a value in a CSV field, or `nil` for a missing value.
  func text(_ value: StoredValue, _ column: Column, _ encoder: JSONEncoder) throws -> String? {
    if value.isNull { return nil }
    let field = ExportedValue(value: value, attribute: column.attribute)
    let json = try encoder.encode([field])
    let text = String(decoding: json.dropFirst().dropLast(), as: UTF8.self)
    guard text.hasPrefix("\"") else { return text }
    return try JSONDecoder().decode([String].self, from: json).first
  }
}

/// A row of an export, encoded with the names of its properties as keys.
struct ExportedRow: Encodable {
  let columns: ExportedColumns
  let values: [StoredValue]

  func encode(to encoder: any Encoder) throws {
    let container = encoder.container(keyedBy: ImportKey.self)
    for (column, value) in zip(columns.columns, values) where !value.isNull || !column.omitsNull {
      let field = ExportedValue(value: value, attribute: column.attribute)
      var keys = column.keys
      if let key = column.key, !value.isNull { keys.append(key) }
      var object = container
      for key in keys.dropLast() {
        object = object.nestedContainer(keyedBy: ImportKey.self, forKey: key)
      }
      try object.encode(field, forKey: keys[keys.count - 1])
    }
  }
}

/// A value of an export.
private struct ExportedValue: Encodable {
  let value: StoredValue
  let attribute: PropertyDescription

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .largeInteger(let value): try container.encode(value)
    case .double(bits: let bits):
      let double = Double(bitPattern: bits)
      // The shortest text of a `Float` is not that of the equal `Double`.
      if attribute.fieldStorageType == .float {
        try container.encode(Float(double))
      } else {
        try container.encode(double)
      }
    case .date: try container.encode(Date(storedValue: value))
    case .uuid: try container.encode(UUID(storedValue: value))
    case .string where attribute.fieldStorageType == .decimal:
      try container.encode(Decimal(storedValue: value))
    case .string(let text): try container.encode(text)
    case .bytes(let bytes) where attribute.fieldStorageType == .json:
      // The encoder's formats also apply to dates and data within the value.
      if try attribute.storage.encode(value, to: &container) { return }
      try container.encode(JSONCoding.decoder.decode(JSONText.self, from: Data(bytes)))
    case .bytes(let bytes): try container.encode(Data(bytes))
    }
  }
}

/// Any JSON value.
private enum JSONText: Codable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case text(String)
  case array([JSONText])
  case object([String: JSONText])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([JSONText].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONText].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
