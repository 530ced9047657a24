/// Attributes whose stored value has no meaning to this program: the raw value of an enumeration
/// case that only a later version knows, or JSON of a type that has become another.
///
/// The object shows none, or what is declared, in their places; what is stored stays with it.
extension ManagedObject {
  /// What the row holds of attributes that this program cannot read, by the name of the property.
  ///
  /// Such an attribute is `nil` if it is optional, and else what a new object has. Its row keeps
  /// what it holds until the attribute is set. A fault is loaded first.
  public final var unreadableValues: [String: StoredValue] {
    if isFault { source?.fire(self) }
    guard let unreadable, let entity = entityDescription else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: unreadable.map { (entity.properties[$0.key].name, $0.value) })
  }

  /// Sets an attribute without telling anybody, to its declared value if it cannot be the given.
  ///
  /// - Throws: `corrupt` if the value is of another kind than the attribute.
  final func setStoredValue(_ value: StoredValue, _ property: PropertyDescription) throws {
    defer { withExtendedLifetime(self) {} }
    if unreadable != nil { forgetUnreadable(property) }
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

  /// The attribute has a value of this program's now.
  final func forgetUnreadable(_ property: PropertyDescription) {
    unreadable?[property.slot] = nil
    if unreadable?.isEmpty == true { unreadable = nil }
  }

  /// Takes over whether a property has a value of this program's.
  final func copyUnreadable(_ property: PropertyDescription, from other: ManagedObject) {
    if unreadable != nil { forgetUnreadable(property) }
    if let value = other.unreadable?[property.slot] {
      unreadable = unreadable ?? [:]
      unreadable?[property.slot] = value
    }
  }
}

extension PropertyDescription {
  /// What is shown where a stored value cannot be read.
  fileprivate var substitute: StoredValue {
    if case .attribute(_, isOptional: true) = kind { return .null }
    return initialValue
  }
}

extension ManagedObject {
  /// What a stored value is to the program: none, or what a new object has, if it has no meaning.
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
