/// An attribute's stored value that an object keeps while the attribute has a different value in
/// memory.
///
/// An object keeps a stored value if the program cannot decode it, or if `awakeFromFetch` has set
/// the attribute. For example, a value that cannot be decoded may be an enumeration case that
/// exists only in a later version of the program, or the JSON of a type that has changed. In
/// memory, such an attribute is `nil` or has its default value.
struct KeptValue {
  /// The value in the row, which is used for saving, predicates and comparisons.
  let stored: StoredValue
  /// The value that the attribute has in memory until it is set.
  let shown: StoredValue
}

extension ManagedObject {
  /// The stored values of attributes that your program cannot decode, keyed by property name.
  ///
  /// In memory, such an attribute is `nil` if it is optional; otherwise, it has its default value.
  /// The row keeps the stored value until the attribute is set. Reading this property loads the
  /// object if it is a fault.
  public final var unreadableValues: [String: StoredValue] {
    if isFault { source?.fire(self) }
    guard let keptValues, let entity = entityDescription else { return [:] }
    let new = type(of: self).init()
    var result: [String: StoredValue] = [:]
    for (slot, value) in keptValues where !new.canDecode(value.stored, entity.properties[slot]) {
      result[entity.properties[slot].name] = value.stored
    }
    return result
  }

  /// Tries to set an attribute to a stored value, and returns whether the value could be decoded.
  private func canDecode(_ value: StoredValue, _ property: PropertyDescription) -> Bool {
    defer { withExtendedLifetime(self) {} }
    return (try? property.storage.setValue(value, at: memory + property.offset)) != nil
  }

  /// Sets an attribute without notifying observers.
  ///
  /// If the value cannot be decoded, the attribute is set to a substitute, and the object keeps the
  /// stored value.
  ///
  /// - Throws: `corrupt` if the value's type does not match the attribute.
  final func setStoredValue(_ value: StoredValue, _ property: PropertyDescription) throws {
    defer { withExtendedLifetime(self) {} }
    if keptValues != nil { discardKeptValue(of: property) }
    do {
      try property.storage.setValue(value, at: memory + property.offset)
    } catch let error as StorageError where error.kind == .corrupt {
      throw error
    } catch {
      try property.storage.setValue(property.substitute, at: memory + property.offset)
      keep(KeptValue(stored: value, shown: property.substitute), property)
    }
  }

  // MARK: Kept values

  private func keep(_ value: KeptValue, _ property: PropertyDescription) {
    keptValues = keptValues ?? [:]
    keptValues?[property.slot] = value
  }

  /// Keeps the stored value of an attribute that `awakeFromFetch` is about to set.
  final func keepStoredValue(of property: PropertyDescription) {
    guard keptValues?[property.slot] == nil, let value = try? storedValue(property) else { return }
    keep(KeptValue(stored: value, shown: value), property)
  }

  /// Updates the object's kept stored values after `awakeFromFetch` has returned.
  ///
  /// For each attribute whose stored value is kept, this method records the attribute's current
  /// value in memory. If the stored value and the current value are equal, the stored value is
  /// discarded.
  final func updateKeptValues() {
    guard let keptValues, let entity = entityDescription else { return }
    for (slot, value) in keptValues {
      let property = entity.properties[slot]
      let shown = shownValue(of: property)
      if shown.isIdentical(to: value.stored) {
        discardKeptValue(of: property)
      } else {
        keep(KeptValue(stored: value.stored, shown: shown), property)
      }
    }
  }

  /// Returns the value that an attribute has in memory, or null if the value cannot be encoded.
  final func shownValue(of property: PropertyDescription) -> StoredValue {
    defer { withExtendedLifetime(self) {} }
    return (try? property.storage.value(at: memory + property.offset)) ?? .null
  }

  /// Discards the stored value kept for an attribute if the attribute's value in memory has changed
  /// since the stored value was kept.
  final func discardKeptValueIfSet(of property: PropertyDescription) {
    guard let kept = keptValues?[property.slot],
      !shownValue(of: property).isIdentical(to: kept.shown)
    else { return }
    discardKeptValue(of: property)
  }

  /// Discards the stored values kept for attributes that were set while the object was not in a
  /// context.
  final func discardKeptValuesIfSet() {
    guard let keptValues, let entity = entityDescription else { return }
    for slot in keptValues.keys { discardKeptValueIfSet(of: entity.properties[slot]) }
  }

  /// Discards the stored value that the object keeps for an attribute, if any.
  final func discardKeptValue(of property: PropertyDescription) {
    keptValues?[property.slot] = nil
    if keptValues?.isEmpty == true { keptValues = nil }
  }

  /// Copies the stored value that another object keeps for a property.
  ///
  /// If the other object keeps no such value, the value kept by this object is discarded.
  final func copyKeptValue(_ property: PropertyDescription, from other: ManagedObject) {
    if keptValues != nil { discardKeptValue(of: property) }
    if let value = other.keptValues?[property.slot] { keep(value, property) }
  }
}

extension PropertyDescription {
  /// The value that the attribute has in memory when its stored value cannot be decoded.
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
