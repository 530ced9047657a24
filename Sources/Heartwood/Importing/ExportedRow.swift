import Foundation

/// The properties that each exported row contains, in the order of their declaration.
struct ExportedColumns {
  struct Column {
    let property: PropertyDescription
    let expression: QueryExpression
    /// The attribute whose value is exported: the property itself, or a unique attribute of the
    /// object to which the property refers.
    let attribute: PropertyDescription
    /// The keys that form the path to the value.
    ///
    /// An element of a composite attribute has several keys.
    let keys: [ImportKey]
    /// The key of the value in a nested object, or `nil` if the value is not nested.
    ///
    /// A value is nested if the class of the related object has several unique attributes, because
    /// the key then shows which attribute identifies the object.
    let key: ImportKey?
    /// A Boolean value that indicates whether `attribute` can be `nil` even though there is a
    /// related object.
    var omitsNull = false
  }

  let columns: [Column]

  /// Creates the columns for an entity's attributes, and for its to-one relationships to classes
  /// with unique attributes.
  init(_ entity: EntityDescription, _ model: StoreModel) {
    columns = entity.properties.compactMap { property in
      let path = QueryExpression.property(.variable(0), .name(property.name))
      if property.isAttribute {
        return Column(
          property: property, expression: path, attribute: property, keys: property.importKeys,
          key: nil)
      }
      guard property.isReference else { return nil }
      let target = model.schema.destination(of: property)
      guard let target, let attribute = target.referringAttribute else { return nil }
      return Column(
        property: property, expression: .property(path, .name(attribute.name)),
        attribute: attribute, keys: property.importKeys,
        key: target.uniqueProperties.count > 1 ? ImportKey(attribute.name) : nil,
        omitsNull: attribute.isOptionalAttribute)
    }
  }

  /// Returns, for each column, a function that reads the column's value from a row.
  func values(
    _ plan: FetchPlan, _ model: StoreModel, _ format: ExportFormat
  ) throws -> [QueryTerm.Value] {
    try columns.map { column in
      let value = try plan.value(of: column.expression, model)
      guard format == .csv, column.omitsNull else { return value }
      let target = try plan.value(
        of: .property(.variable(0), .name(column.property.name)), model)
      return { scope in
        let result = try value(scope)
        if result.isNull, let number = try scope.existingObject(target(scope)) {
          throw column.missingValue(of: ManagedObjectID(number, model.space))
        }
        return result
      }
    }
  }

  /// Returns the text that represents a value in a CSV field, or `nil` if the value is missing.
  func text(_ value: StoredValue, _ column: Column, _ encoder: JSONEncoder) throws -> String? {
    switch value {
    case .null: return nil
    // Format common types directly, because the JSON encoder below takes fifty times as long to
    // produce the same result.
    case .bool(let value): return "\(value)"
    case .integer(let value): return "\(value)"
    case .uuid: return try UUID(storedValue: value).uuidString
    case .string(let text) where column.attribute.fieldStorageType != .decimal: return text
    default: break
    }
    let field = ExportedValue(value, column.attribute)
    let json = try encoder.encode([field])
    let text = String(decoding: json.dropFirst().dropLast(), as: UTF8.self)
    // Keep the quotation marks of a `Codable` value, because the field must contain valid JSON.
    guard text.hasPrefix("\""), column.attribute.fieldStorageType != .json else { return text }
    return try JSONDecoder().decode([String].self, from: json).first
  }
}

extension ExportedColumns.Column {
  /// Returns the error for a related object that has no value to write to a CSV field.
  ///
  /// The field cannot be left empty, because an empty field means that there is no related object.
  fileprivate func missingValue(of target: ManagedObjectID) -> ObjectGraphError {
    ObjectGraphError(
      .validation,
      "The reference \(property.name) cannot be written to a CSV field, because its target, "
        + "\(target.shortText), has no value for \(attribute.name). Set the value, or export as "
        + "JSON lines, where a reference like this is omitted.",
      property: attribute.name, objectID: target)
  }
}

/// A row in an export, encoded with the property names as keys.
struct ExportedRow: Encodable {
  let columns: ExportedColumns
  let values: [StoredValue]

  func encode(to encoder: any Encoder) throws {
    let container = encoder.container(keyedBy: ImportKey.self)
    for (column, value) in zip(columns.columns, values) where !value.isNull || !column.omitsNull {
      let field = ExportedValue(value, column.attribute)
      var keys = column.keys
      if let key = column.key, !value.isNull { keys.append(key) }
      var object = container.innermost(of: keys)
      try object.encode(field, forKey: keys[keys.count - 1])
    }
  }
}

extension KeyedEncodingContainer where Key == ImportKey {
  /// Creates the nested objects on a key path, and returns the container for the last key.
  func innermost(of keys: [ImportKey]) -> Self {
    var inner = self
    for key in keys.dropLast() {
      inner = inner.nestedContainer(keyedBy: ImportKey.self, forKey: key)
    }
    return inner
  }
}

/// A value in an export.
struct ExportedValue: Encodable {
  private let value: StoredValue
  private let storageType: StorageType?
  /// The type that reads and writes the attribute in an object's memory, or `nil` if only the
  /// storage type is known.
  private let storage: (any PropertyStorage.Type)?

  init(_ value: StoredValue, _ attribute: PropertyDescription) {
    self.value = value
    storageType = attribute.fieldStorageType
    storage = attribute.storage
  }

  init(_ value: StoredValue, _ storageType: StorageType) {
    self.value = value
    self.storageType = storageType
    storage = nil
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .largeInteger(let value): try container.encode(value)
    case .double(bits: let bits):
      let double = Double(bitPattern: bits)
      // Encode a `Float` value as a `Float`, because its shortest decimal representation differs
      // from that of an equal `Double`.
      if storageType == .float {
        try container.encode(Float(double))
      } else {
        try container.encode(double)
      }
    case .date: try container.encode(Date(storedValue: value))
    case .uuid: try container.encode(UUID(storedValue: value))
    case .string(let text) where storageType == .decimal:
      // Encode NaN as text, because JSON has no such number. Only unsaved decimal values can be
      // NaN.
      if text == "NaN" { return try container.encode("nan") }
      try container.encode(Decimal(storedValue: value))
    case .string(let text): try container.encode(text)
    case .bytes(let bytes) where storageType == .json:
      // Encode the value directly, so that the encoder's formats also apply to dates and data
      // within it.
      if let storage, try storage.encode(value, to: &container) { return }
      try container.encode(JSONCoding.decode(JSONValue.self, from: Data(bytes)))
    case .bytes(let bytes): try container.encode(Data(bytes))
    }
  }
}
