/// The places of properties within objects.
///
/// Reading and writing through raw pointers fills an object in a fiftieth of the time that key
/// paths take. A place is the offset that the runtime has told the schema for a property.
extension ManagedObject {
  /// Where the object's memory begins.
  final var memory: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  /// The value of an attribute, in its stored form.
  final func storedValue(_ property: PropertyDescription) throws -> StoredValue {
    defer { withExtendedLifetime(self) {} }
    let place = memory + property.offset
    switch property.representation {
    case .integer: return .integer(place.load(as: Int64.self))
    case .number: return .number(place.load(as: UInt64.self))
    case .text:
      return .string(place.assumingMemoryBound(to: Attribute<String>.self).pointee.stored)
    case .other:
      if let value = unreadable?[property.slot] { return value }
      return try property.storage.value(at: place)
    }
  }

  /// Sets a property to what it is in another object of the class, without telling anybody.
  final func copy(_ property: PropertyDescription, from other: ManagedObject) {
    defer { withExtendedLifetime((self, other)) {} }
    property.storage.copy(
      UnsafeRawPointer(other.memory + property.offset), to: memory + property.offset)
    copyUnreadable(property, from: other)
  }

  /// The target of a to-one relationship.
  final func target(_ property: PropertyDescription) -> ToOneTarget {
    defer { withExtendedLifetime(self) {} }
    return (memory + property.offset).assumingMemoryBound(to: ToOneTarget.self).pointee
  }

  /// Sets the target of a to-one relationship without telling anybody.
  final func setTarget(_ target: ToOneTarget, _ property: PropertyDescription) {
    defer { withExtendedLifetime(self) {} }
    (memory + property.offset).assumingMemoryBound(to: ToOneTarget.self).pointee = target
  }

  /// Where a wrapper lies in an object.
  ///
  /// Nothing may be called while the pointer is there: it could use the same property.
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
  /// Those objects that are of the class.
  ///
  /// Raw, because an array of any class is not added to without asking for the type of the array,
  /// for each object anew.
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
