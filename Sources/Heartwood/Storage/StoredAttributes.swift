import Foundation

extension StorageType {
  /// Returns the property wrapper type to use for an attribute of this storage type if no class
  /// declares the attribute.
  func attributeStorage(isOptional: Bool) -> any PropertyStorage.Type {
    func storage<Value: AttributeValue>(_: Value.Type) -> any PropertyStorage.Type {
      isOptional ? Attribute<Value?>.self : Attribute<Value>.self
    }
    return switch self {
    case .bool: storage(Bool.self)
    case .int8: storage(Int8.self)
    case .int16: storage(Int16.self)
    case .int32: storage(Int32.self)
    case .int64, .reference: storage(Int64.self)
    case .uint8: storage(UInt8.self)
    case .uint16: storage(UInt16.self)
    case .uint32: storage(UInt32.self)
    case .uint64: storage(UInt64.self)
    case .float: storage(Float.self)
    case .double: storage(Double.self)
    case .date: storage(Date.self)
    case .uuid: storage(UUID.self)
    case .string: storage(String.self)
    case .bytes: storage(Data.self)
    case .decimal: storage(Decimal.self)
    case .json: storage(JSONValue.self)
    }
  }
}

extension StoredModel.StoredKind {
  /// The property wrapper type to use for a property of this kind if no class declares the
  /// property.
  var propertyStorage: any PropertyStorage.Type {
    switch self {
    case .attribute(let storageType, let isOptional):
      storageType.attributeStorage(isOptional: isOptional)
    case .toOne: ToOne<ManagedObject>.self
    case .toMany(isOrdered: false): ToMany<ManagedObject>.self
    case .toMany(isOrdered: true): OrderedToMany<ManagedObject>.self
    }
  }
}
