extension StoredModel.StoredKind {
  /// A Boolean value that indicates whether the property can be `nil`.
  var isOptional: Bool {
    if case .attribute(_, let isOptional) = self { return isOptional }
    return false
  }

  /// The storage type of the property's field in a record, or `nil` if the property has no field.
  var storageType: StorageType? {
    switch self {
    case .attribute(let storageType, _): storageType
    case .toOne: .reference
    case .toMany: nil
    }
  }

  /// A phrase for error messages, such as "a to-one relationship".
  var phrase: String {
    switch self {
    case .attribute(let storageType, let isOptional):
      "an \(isOptional ? "optional " : "")attribute of type \(storageType)"
    case .toOne: "a to-one relationship"
    case .toMany(let isOrdered): "a\(isOrdered ? "n ordered" : "") to-many relationship"
    }
  }

  /// Returns whether a migration can change a property of this kind to another kind without losing
  /// the property's values.
  func canBecome(_ other: StoredModel.StoredKind) -> Bool {
    switch (self, other) {
    case (.attribute(let storageType, _), .attribute(let other, _)): storageType.fits(in: other)
    case (.toOne, .toOne), (.toOne, .toMany), (.toMany, .toMany): true
    case (.toMany, .toOne), (.attribute, _), (_, .attribute): false
    }
  }
}

extension PropertyDescription {
  /// The property's kind in the store, or `nil` if the property is not stored.
  var storedKind: StoredModel.StoredKind? {
    switch kind {
    case .attribute(let storageType, let isOptional):
      .attribute(storageType: storageType, isOptional: isOptional)
    case .toOne: .toOne
    case .toMany(let isOrdered): .toMany(isOrdered: isOrdered)
    case .transient: nil
    }
  }
}

extension StorageType {
  /// Returns whether another type can represent every value of this type.
  ///
  /// The other type must be the same type or a wider numeric type.
  func fits(in other: StorageType) -> Bool {
    if self == other { return true }
    switch (self, other) {
    case (.float, .double): return true
    default:
      guard let own = integerBits, let others = other.integerBits else { return false }
      return own.signed <= others.signed && own.unsigned <= others.unsigned
    }
  }

  /// The number of bits that an integer type provides for negative and for positive values, or
  /// `nil` if this is not an integer type.
  private var integerBits: (signed: Int, unsigned: Int)? {
    switch self {
    case .int8: (7, 7)
    case .int16: (15, 15)
    case .int32: (31, 31)
    case .int64: (63, 63)
    case .uint8: (0, 8)
    case .uint16: (0, 16)
    case .uint32: (0, 32)
    case .uint64: (0, 64)
    default: nil
    }
  }

  /// Returns whether a field of this type can contain a value.
  func holds(_ value: StoredValue) -> Bool {
    switch (self, value) {
    case (_, .null), (.bool, .bool), (.date, .date), (.uuid, .uuid), (.float, .double),
      (.double, .double), (.string, .string), (.decimal, .string), (.bytes, .bytes),
      (.json, .bytes), (.reference, .integer):
      true
    case (_, .integer), (_, .largeInteger): integerBits != nil
    default: false
    }
  }
}
