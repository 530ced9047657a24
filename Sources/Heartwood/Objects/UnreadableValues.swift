/// Support for attributes whose stored values this program cannot decode.
///
/// For example, the value may be an enumeration case that exists only in a later version of the
/// program, or the JSON of a type that has changed. Reading such an attribute returns `nil` or the
/// declared value, and the object keeps the stored value.
extension ManagedObject {
  /// The stored values of attributes that this program cannot decode, keyed by property name.
  ///
  /// In the object, such an attribute is `nil` if it is optional. Otherwise, it has its declared
  /// value. The row keeps the stored value until the attribute is set. If the object is a fault,
  /// the object is loaded before this property is read.
  public final var unreadableValues: [String: StoredValue] {
    if isFault { source?.fire(self) }
    guard let unreadable, let entity = entityDescription else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: unreadable.map { (entity.properties[$0.key].name, $0.value) })
  }

  /// Sets an attribute without notifying observers.
  ///
  /// If the value cannot be decoded, the attribute is set to a substitute, and the object keeps the
  /// stored value.
  ///
  /// - Throws: `corrupt` if the value's type does not match the attribute.
  final func setStoredValue(_ value: StoredValue, _ property: PropertyDescription) throws {
    defer { withExtendedLifetime(self) {} }
    if unreadable != nil { discardUnreadable(property) }
    do {
      try property.storage.setValue(value, at: memory + property.offset)
    } catch let error as StorageError where error.kind == .corrupt {
      throw error
    } catch {
      try property.storage.setValue(property.substitute, at: memory + property.offset)
      unreadable = unreadable ?? [:]
      unreadable?[property.slot] = value
    }
  }

  /// Discards an attribute's undecodable stored value unless the attribute still has its
  /// substitute.
  final func discardUnreadableIfSet(_ property: PropertyDescription) {
    defer { withExtendedLifetime(self) {} }
    guard unreadable?[property.slot] != nil else { return }
    let value = try? property.storage.value(at: memory + property.offset)
    if value?.isIdentical(to: property.substitute) != true { discardUnreadable(property) }
  }

  /// Discards the undecodable stored value of an attribute that now has a readable value.
  final func discardUnreadable(_ property: PropertyDescription) {
    unreadable?[property.slot] = nil
    if unreadable?.isEmpty == true { unreadable = nil }
  }

  /// Copies the undecodable stored value of a property from another object.
  ///
  /// If the other object has no such value, this object's undecodable value is discarded.
  final func copyUnreadable(_ property: PropertyDescription, from other: ManagedObject) {
    if unreadable != nil { discardUnreadable(property) }
    if let value = other.unreadable?[property.slot] {
      unreadable = unreadable ?? [:]
      unreadable?[property.slot] = value
    }
  }
}

extension PropertyDescription {
  /// The value that the attribute has in memory if its stored value cannot be decoded.
  fileprivate var substitute: StoredValue {
    if case .attribute(_, isOptional: true) = kind { return .null }
    return initialValue
  }
}

extension ManagedObject {
  /// Returns the decoded value of an attribute, or a substitute if the stored value cannot be
  /// decoded.
  ///
  /// - Throws: `corrupt` if the value's type does not match the property.
  static func value<M: ManagedObject, Value: AttributeValue>(
    _ stored: StoredValue, at keyPath: KeyPath<M, Value>
  ) throws -> Value {
    do {
      return try Value(storedValue: stored)
    } catch let error as StorageError where error.kind == .corrupt {
      throw error
    } catch {
      if Value.isOptional { return try Value(storedValue: .null) }
      return M.init()[keyPath: keyPath]
    }
  }
}
