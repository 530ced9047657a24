/// A property wrapper that declares a property whose value exists only in memory.
///
/// The property is reset to its initial value when the object becomes a fault.
@propertyWrapper
public struct Transient<Value> {
  @usableFromInline var stored: Value

  /// Declares a property and its initial value.
  public init(wrappedValue: Value) {
    stored = wrappedValue
    if PropertyRecorder.isRecording {
      PropertyRecorder.recordWrapper(Self.self, PropertyOptions())
    }
  }

  /// Unavailable, because transient properties can be declared only in subclasses of
  /// `ManagedObject`.
  @available(
    *, unavailable,
    message: "Transient properties can be declared only in subclasses of ManagedObject."
  )
  public var wrappedValue: Value {
    get { stored }
    set { stored = newValue }
  }

  /// The property's value in an object.
  ///
  /// If the object is a fault, it is loaded before the property is read, so that `awakeFromFetch`
  /// can set the property.
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
      if owner.hooks.contains(.reading) {
        owner.willRead(at: ManagedObject.offset(of: storage, in: owner))
      }
      owner[keyPath: storage].stored = newValue
    }
  }
}

extension Transient: PropertyStorage {
  static var kind: PropertyDescription.Kind { .transient }
}
