/// Attributes whose stored value this program cannot decode: the raw value of an enumeration case
/// that only a later version has, or JSON of a type that has changed.
///
/// The object shows `nil` or the declared value instead, and keeps the stored value.
extension ManagedObject {
  /// The stored values of attributes that this program cannot decode, by property name.
  ///
  /// Such an attribute is `nil` if it is optional; otherwise it has the value of a new object. The
  /// row keeps the stored value until the attribute is set. A fault is loaded first.
  public final var unreadableValues: [String: StoredValue] {
    if isFault { source?.fire(self) }
    guard let unreadable, let entity = entityDescription else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: unreadable.map { (entity.properties[$0.key].name, $0.value) })
  }

  /// Sets an attribute without notifying anyone; to its substitute if the value cannot be decoded.
  ///
  /// - Throws: `corrupt` if the value is of another kind than the attribute.
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

  /// Discards the undecodable stored value of an attribute, which has a readable value now.
  final func discardUnreadable(_ property: PropertyDescription) {
    unreadable?[property.slot] = nil
    if unreadable?.isEmpty == true { unreadable = nil }
  }

  /// Copies the undecodable stored value of a property from another object, or discards it if that
  /// has none.
  final func copyUnreadable(_ property: PropertyDescription, from other: ManagedObject) {
    if unreadable != nil { discardUnreadable(property) }
    if let value = other.unreadable?[property.slot] {
      unreadable = unreadable ?? [:]
      unreadable?[property.slot] = value
    }
  }
}

extension PropertyDescription {
  /// The value that is shown in place of an undecodable one.
  fileprivate var substitute: StoredValue {
    if case .attribute(_, isOptional: true) = kind { return .null }
    return initialValue
  }
}

extension ManagedObject {
  /// Returns the value that an object shows for a stored value: its substitute if it cannot be
  /// decoded.
  ///
  /// - Throws: `corrupt` if the value is of another kind than the property.
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
