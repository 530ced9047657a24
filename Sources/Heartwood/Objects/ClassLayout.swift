/// Where the stored properties of a class lie in its objects.
///
/// The properties of a Swift class lie one after the other as they are declared, each where its
/// alignment allows, those of the superclass first. What is found that way is compared with an
/// object before anything relies on it.
enum ClassLayout {
  /// A stored property of an object.
  struct Field {
    let label: String
    let value: Any
    let offset: Int
  }

  /// The stored properties that an object has beyond those of ``ManagedObject``, the class nearest
  /// to that first; and for each the class that declares it.
  static func fields(of object: ManagedObject) -> [(type: Any.Type, fields: [Field])]? {
    var mirrors: [Mirror] = []
    var mirror: Mirror? = Mirror(reflecting: object)
    while let current = mirror, current.subjectType != ManagedObject.self {
      mirrors.append(current)
      mirror = current.superclassMirror
    }
    var end = ManagedObject.instanceByteCount
    var result: [(type: Any.Type, fields: [Field])] = []
    for mirror in mirrors.reversed() {
      var fields: [Field] = []
      for child in mirror.children {
        let (byteCount, alignment) = extent(of: child.value)
        let offset = (end + alignment - 1) / alignment * alignment
        end = offset + byteCount
        fields.append(Field(label: child.label ?? "", value: child.value, offset: offset))
      }
      result.append((mirror.subjectType, fields))
    }
    return result.allSatisfy({ $0.fields.allSatisfy { holds($0, object) } }) ? result : nil
  }

  private static func extent(of value: Any) -> (byteCount: Int, alignment: Int) {
    func measure<Value>(_ type: Value.Type) -> (byteCount: Int, alignment: Int) {
      (MemoryLayout<Value>.size, MemoryLayout<Value>.alignment)
    }
    let type: Any.Type = type(of: value)
    return _openExistential(type, do: measure)
  }

  /// Whether the bytes at a field's place are those of its value.
  private static func holds(_ field: Field, _ object: ManagedObject) -> Bool {
    func holds<Value: PropertyStorage>(_ value: Value) -> Bool {
      withUnsafeBytes(of: value) { expected in
        let found = UnsafeRawBufferPointer(
          start: object.memory + field.offset, count: expected.count)
        return expected.elementsEqual(found)
      }
    }
    return (field.value as? any PropertyStorage).map { holds($0) } ?? true
  }
}

extension ManagedObject {
  /// Where the properties of subclasses begin: behind the last one of this class.
  fileprivate static var instanceByteCount: Int {
    var end = 2 * MemoryLayout<Int>.size
    func add<Value>(_: Value.Type) {
      let alignment = MemoryLayout<Value>.alignment
      end = (end + alignment - 1) / alignment * alignment + MemoryLayout<Value>.size
    }
    add(ObjectHelp.self)
    add(ObjectState.self)
    add(ObjectNumber.self)
    add(UInt64.self)
    add(EntityDescription?.self)
    add((any ObjectSource)?.self)
    add(ObjectChanges?.self)
    add(Int.self)
    return end
  }
}
