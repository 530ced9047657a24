/// Accesses properties by their offsets in the memory of an object.
///
/// Filling an object through raw pointers is fifty times as fast as through key paths. The schema
/// obtains the offset of each property from the Swift runtime.
extension ManagedObject {
  /// The address of the object.
  final var memory: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  /// Returns the stored representation of an attribute's value.
  final func storedValue(_ property: PropertyDescription) throws -> StoredValue {
    defer { withExtendedLifetime(self) {} }
    let location = memory + property.offset
    switch property.representation {
    case .integer: return .integer(location.load(as: Int64.self))
    case .double: return .double(bits: location.load(as: UInt64.self))
    case .string:
      return .string(location.assumingMemoryBound(to: Attribute<String>.self).pointee.stored)
    case .other:
      if let value = unreadable?[property.slot] { return value }
      return try property.storage.value(at: location)
    }
  }

  /// Copies a property from another object of the same class without notifying observers.
  final func copy(_ property: PropertyDescription, from other: ManagedObject) {
    defer { withExtendedLifetime((self, other)) {} }
    property.storage.copy(
      UnsafeRawPointer(other.memory + property.offset), to: memory + property.offset)
    copyUnreadable(property, from: other)
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
  /// Taking the address of the wrapper requires exclusive access to it. The closure must not call
  /// any other code, because that code could access the same property.
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
  /// Creates an array of those objects that are instances of `Element`.
  ///
  /// The array is built in uninitialised memory, because appending to an array of a generic element
  /// type would resolve the metadata of the array type for each object.
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
