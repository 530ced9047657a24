import Foundation

/// Methods that access properties through their offsets in an object's memory.
///
/// Filling an object through raw pointers is fifty times as fast as through key paths. The schema
/// obtains the offset of each property from the Swift runtime.
extension ManagedObject {
  /// The address of the object.
  final var memory: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  /// Returns the stored representation of an attribute's value.
  ///
  /// If the object keeps a stored value that differs from the attribute's value in memory, the
  /// method returns the stored value.
  final func storedValue(_ property: PropertyDescription) throws -> StoredValue {
    if let value = simpleValue(property.memoryField) { return value }
    defer { withExtendedLifetime(self) {} }
    if let kept = keptValues?[property.slot] { return kept.stored }
    return try property.storage.value(at: memory + property.offset)
  }

  /// Returns the stored representation of an attribute's value, or `nil` if only
  /// ``storedValue(_:)`` can determine it.
  @inline(__always)
  final func simpleValue(_ field: MemoryField) -> StoredValue? {
    func value<Value: AttributeValue>(_ type: Value.Type) -> Value {
      (memory + field.offset).assumingMemoryBound(to: Attribute<Value>.self).pointee.stored
    }
    guard keptValues == nil else { return nil }
    defer { withExtendedLifetime(self) {} }
    switch field.representation {
    case .integer: return .integer((memory + field.offset).load(as: Int64.self))
    case .double: return value(Double.self).storedValue
    case .float: return value(Float.self).storedValue
    case .bool: return value(Bool.self).storedValue
    case .date: return value(Date.self).storedValue
    case .string: return .string(value(String.self))
    case .optionalInteger:
      return (memory + field.offset).load(as: Int64?.self).map { .integer($0) } ?? .null
    case .optionalDouble: return value(Double?.self).map { .double($0) } ?? .null
    case .optionalDate: return value(Date?.self)?.storedValue ?? .null
    case .optionalString: return value(String?.self).map { .string($0) } ?? .null
    case .reference, .other: return nil
    }
  }

  /// Copies a property from another object of the same class without notifying observers.
  final func copy(_ property: PropertyDescription, from other: ManagedObject) {
    defer { withExtendedLifetime((self, other)) {} }
    property.storage.copy(
      UnsafeRawPointer(other.memory + property.offset), to: memory + property.offset)
    copyKeptValue(property, from: other)
  }

  /// Returns the target of a to-one relationship.
  final func target(_ property: PropertyDescription) -> ToOneTarget {
    defer { withExtendedLifetime(self) {} }
    return (memory + property.offset).assumingMemoryBound(to: ToOneTarget.self).pointee
  }

  /// Sets the target of a to-one relationship without notifying observers.
  final func setTarget(_ target: ToOneTarget, _ property: PropertyDescription) {
    defer { withExtendedLifetime(self) {} }
    (memory + property.offset).assumingMemoryBound(to: ToOneTarget.self).pointee = target
  }

  /// Returns the offset of a property wrapper in an object.
  ///
  /// Taking the address of the wrapper requires exclusive access to it. The closure that computes
  /// the offset must not call any other code, because that code could access the same property.
  @inlinable @inline(__always)
  static func offset<Owner: ManagedObject, Wrapper>(
    of storage: ReferenceWritableKeyPath<Owner, Wrapper>, in owner: Owner
  ) -> Int {
    withUnsafePointer(to: &owner[keyPath: storage]) {
      UnsafeRawPointer($0) - UnsafeRawPointer(Unmanaged.passUnretained(owner).toOpaque())
    }
  }
}

extension Array where Element: ManagedObject {
  /// Creates an array from objects that are all known to be instances of `Element`.
  ///
  /// The array is not copied, because both array types have the same memory layout.
  init(unchecked objects: [ManagedObject]) { self = unsafeBitCast(objects, to: [Element].self) }

  /// Creates an array from those objects that are instances of `Element`.
  ///
  /// The array is built in uninitialised memory, because appending to a generic array would look up
  /// the metadata of the array type for each object.
  init(_ objects: [ManagedObject]) {
    self.init(unsafeUninitializedCapacity: objects.count) { memory, count in
      for object in objects {
        guard let object = object as? Element else { continue }
        memory.initializeElement(at: count, to: object)
        count += 1
      }
    }
  }
}
