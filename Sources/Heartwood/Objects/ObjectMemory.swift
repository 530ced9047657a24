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

  /// The members of a to-many relationship; `nil` if they were not loaded.
  final func members(_ property: PropertyDescription) -> [ManagedObject]? {
    defer { withExtendedLifetime(self) {} }
    return property.memberStorage.members(at: memory + property.offset)
  }

  /// Sets the members of a to-many relationship without telling anybody.
  final func setMembers(_ members: [ManagedObject]?, _ property: PropertyDescription) {
    defer { withExtendedLifetime(self) {} }
    property.memberStorage.setMembers(members, at: memory + property.offset)
  }

  /// Adds a member to a to-many relationship that was loaded, without telling anybody.
  final func insertMember(_ member: ManagedObject, _ property: PropertyDescription) {
    defer { withExtendedLifetime(self) {} }
    property.memberStorage.insert(member, at: memory + property.offset)
  }

  /// Removes a member from a to-many relationship that was loaded, without telling anybody.
  final func removeMember(_ member: ManagedObject, _ property: PropertyDescription) {
    defer { withExtendedLifetime(self) {} }
    property.memberStorage.remove(member, at: memory + property.offset)
  }

  /// Lets go of all related objects, without telling anybody.
  final func releaseRelated() {
    for property in entityDescription?.relationships ?? [] {
      if case .toOne = property.kind {
        setTarget(.none, property)
      } else {
        setMembers(nil, property)
      }
    }
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

/// How the members of a to-many relationship lie in the memory of an object.
///
/// - Note: Places must hold an initialised wrapper of the type, as in ``PropertyStorage``.
protocol MemberStorage: PropertyStorage {
  static func members(at place: UnsafeRawPointer) -> [ManagedObject]?
  static func setMembers(_ members: [ManagedObject]?, at place: UnsafeMutableRawPointer)
  static func insert(_ member: ManagedObject, at place: UnsafeMutableRawPointer)
  static func remove(_ member: ManagedObject, at place: UnsafeMutableRawPointer)
}

extension PropertyDescription {
  /// The wrapper of a to-many relationship, as which it has to be asked for.
  fileprivate var memberStorage: any MemberStorage.Type {
    guard let storage = storage as? any MemberStorage.Type else {
      preconditionFailure("\(name) is no to-many relationship")
    }
    return storage
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
