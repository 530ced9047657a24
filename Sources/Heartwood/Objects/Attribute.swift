/// A property that is stored with its object.
///
/// ```swift
/// @Attribute var name: String = ""
/// @Attribute("n", renamedFrom: "title") var nickname: String? = nil
/// ```
///
/// - Complexity: A read costs as much as one of a stored property, plus loading the row if the
///   object is a fault. A write to a fetched object keeps the original value, too.
@propertyWrapper
public struct Attribute<Value: AttributeValue> {
  @usableFromInline var stored: Value

  /// Declares an attribute and its value in new objects.
  @inlinable
  public init(wrappedValue: Value) {
    stored = wrappedValue
    if PropertyRecorder.isRecording { Self.recordDeclaration() }
  }

  /// Declares an attribute and its value in new objects.
  ///
  /// - Parameters:
  ///   - wrappedValue: The value in new objects.
  ///   - name: Its name in the store; by default that of the property.
  ///   - renamedFrom: Its names in the store in earlier versions of the model.
  ///   - preservesValueOnDeletion: Whether the history keeps the value when the object is deleted.
  public init(
    wrappedValue: Value, _ name: String? = nil, renamedFrom: String...,
    preservesValueOnDeletion: Bool = false
  ) {
    stored = wrappedValue
    guard PropertyRecorder.isRecording else { return }
    PropertyRecorder.recordWrapper(
      Self.self,
      PropertyOptions(
        storedName: name, renamedFrom: renamedFrom, isPreservedOnDeletion: preservesValueOnDeletion)
    )
  }

  @usableFromInline
  static func recordDeclaration() { PropertyRecorder.recordWrapper(Self.self, PropertyOptions()) }

  /// Unavailable: an attribute belongs to a subclass of `ManagedObject`.
  @available(*, unavailable, message: "An attribute belongs to a subclass of ManagedObject.")
  public var wrappedValue: Value {
    get { stored }
    set { stored = newValue }
  }

  /// The value in an object, which is loaded first if it is a fault.
  ///
  /// During an in-place mutation, by a mutating method or an `inout` parameter, the property shows
  /// its previous value, or an empty one if it is a collection.
  ///
  /// Always inlined: only then does the compiler know the key path and access the property
  /// directly. Otherwise it projects the key path at run time, which costs a hundred times as much.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: ReferenceWritableKeyPath<Owner, Value>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Value {
    @inline(__always) get {
      if owner.hooks.contains(.reading) {
        owner.willRead(at: ManagedObject.offset(of: storage, in: owner))
      }
      return owner[keyPath: storage].stored
    }
    @inline(__always) set {
      if owner.hooks.contains(.writing) {
        owner.willWrite(at: ManagedObject.offset(of: storage, in: owner))
      }
      owner[keyPath: storage].stored = newValue
      if owner.hooks.contains(.observed) {
        owner.didWrite(at: ManagedObject.offset(of: storage, in: owner))
      }
    }
    @inline(__always) _modify {
      if owner.hooks.contains(.reading) {
        owner.willModify(at: ManagedObject.offset(of: storage, in: owner))
      }
      if owner.hooks.contains(.writing) {
        owner.willWrite(at: ManagedObject.offset(of: storage, in: owner))
      }
      // Moves the value out, so that a collection is not copied and the property stays readable.
      // `swap` would do the same, but with it every read of the property would be checked for
      // exclusive access at run time, which costs a fifth of a fetch that reads all values.
      var value = owner[keyPath: storage].stored
      if let placeholder = Value.placeholderWhileChanging {
        owner[keyPath: storage].stored = placeholder
      }
      defer {
        owner[keyPath: storage].stored = value
        if owner.hooks.contains(.observed) {
          owner.didWrite(at: ManagedObject.offset(of: storage, in: owner))
        }
      }
      yield &value
    }
  }
}

extension Attribute: PropertyStorage {
  static var representation: PropertyRepresentation {
    switch Value.self {
    case is Int.Type, is Int64.Type: .integer
    case is Double.Type: .double
    case is String.Type: .string
    default: .other
    }
  }

  static var kind: PropertyDescription.Kind {
    .attribute(Value.storageType, isOptional: Value.isOptional)
  }

  static func value(at location: UnsafeRawPointer) throws -> StoredValue {
    try location.assumingMemoryBound(to: Self.self).pointee.stored.storedValue
  }

  static var isNestedOptional: Bool {
    (Value.self as? any NestableOptional.Type)?.isNested ?? false
  }

  static func isValue(of type: Any.Type) -> Bool {
    func rawType<Raw: RawRepresentable>(_: Raw.Type) -> Any.Type { Raw.RawValue.self }
    let own = (Value.self as? any NestableOptional.Type)?.wrappedType ?? Value.self
    let other = (type as? any NestableOptional.Type)?.wrappedType ?? type
    return own == other || (own as? any RawRepresentable.Type).map { rawType($0) == other } ?? false
  }

  static func setValue(_ value: StoredValue, at location: UnsafeMutableRawPointer) throws {
    location.assumingMemoryBound(to: Self.self).pointee.stored = try Value(storedValue: value)
  }
}

extension ManagedObject {
  /// Prepares a read of the property at an offset.
  @usableFromInline
  final func willRead(at offset: Int) {
    willModify(at: offset)
    if hooks.contains(.observed) { didRead(at: offset) }
  }

  /// Prepares an in-place mutation of the property at an offset, which does not count as an
  /// observed read.
  @usableFromInline
  final func willModify(at offset: Int) {
    if state.contains(.prototype) { return PropertyProbe.recordRead(of: self, offset) }
    requireContext()
    source?.fire(self)
  }

  /// Traps if the object's context no longer exists: the values that are not loaded are undefined.
  final func requireContext() {
    // `precondition` would drop the message in a release build.
    guard source != nil else {
      fatalError(
        "A property of a \(type(of: self)) whose context is gone was used, but it was "
          + "not loaded. Retain the context as long as you use its objects.")
    }
  }

  /// Announces that a property is about to be set.
  @usableFromInline
  final func willWrite(at offset: Int) {
    if source == nil, number.bits == 0 { return recordWrite(at: offset) }
    requireContext()
    if state.contains(.fault) { source?.fire(self) }
    guard let property = entityDescription?.property(at: offset) else { return }
    source?.willChange(self, property)
    if unreadable != nil { discardUnreadable(property) }
  }

  /// Records that a property was set while the object is in no context.
  private func recordWrite(at offset: Int) {
    let changes = ownChanges
    if !changes.written.contains(offset) { changes.written.append(offset) }
  }

  /// Records that a property of a new object was set, if the entity has unique constraints.
  final func recordAssignment(of property: PropertyDescription) {
    if entityDescription?.hasUniqueConstraints == true { ownChanges.assigned.insert(property.slot) }
  }
}
