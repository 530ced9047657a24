/// A property wrapper that declares a composite attribute: a structure that is stored with a column
/// for each of its stored properties.
///
/// ```swift
/// @Composite var address = Address()
/// @Composite("home", renamedFrom: "house") var homeAddress = Address()
/// ```
///
/// A composite attribute cannot be optional. Declare the elements of the structure as optionals
/// instead.
///
/// - Complexity: The cost for each element is the same as for an ``Attribute``. Mutating an element
///   in place copies the structure and any collection that is mutated.
@propertyWrapper
public struct Composite<Value: CompositeValue> {
  @usableFromInline var stored: Value

  /// Declares a composite attribute and its initial value.
  ///
  /// - Parameters:
  ///   - wrappedValue: The initial value.
  ///   - name: The attribute's name in the store's model, which is used as the prefix of the column
  ///     names. The default is the name of the property. Everywhere else, the API uses the name of
  ///     the property.
  ///   - renamedFrom: The attribute's stored names in earlier versions of the model.
  ///   - preservesValueOnDeletion: `true` to keep the value in the history when the object is
  ///     deleted.
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

  /// Unavailable, because composite attributes can be declared only in subclasses of
  /// `ManagedObject`.
  @available(
    *, unavailable,
    message: "Composite attributes can be declared only in subclasses of ManagedObject."
  )
  public var wrappedValue: Value {
    get { stored }
    set { stored = newValue }
  }

  /// The attribute's value in an object.
  ///
  /// If the object is a fault, reading the attribute loads the object first. Setting an element to
  /// its stored value is not considered a change. In a new object, setting an element to its
  /// initial value is not considered a change either. An observer of one element is notified when
  /// any element changes.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: ReferenceWritableKeyPath<Owner, Value>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Value {
    @inline(__always) get {
      if owner.hooks.contains(.reading) {
        owner.willRead(compositeAt: ManagedObject.offset(of: storage, in: owner))
      }
      return owner[keyPath: storage].stored
    }
    @inline(__always) set {
      let isReported = owner.hooks.contains(.writing)
      if isReported {
        owner.willWrite(compositeAt: ManagedObject.offset(of: storage, in: owner))
      }
      owner[keyPath: storage].stored = newValue
      if isReported {
        owner.didWrite(compositeAt: ManagedObject.offset(of: storage, in: owner))
      }
    }
    @inline(__always) _modify {
      if owner.hooks.contains(.reading) {
        owner.willModify(at: ManagedObject.offset(of: storage, in: owner))
      }
      let isReported = owner.hooks.contains(.writing)
      if isReported {
        owner.willWrite(compositeAt: ManagedObject.offset(of: storage, in: owner))
      }
      var value = owner[keyPath: storage].stored
      defer {
        owner[keyPath: storage].stored = value
        if isReported {
          owner.didWrite(compositeAt: ManagedObject.offset(of: storage, in: owner))
        }
      }
      yield &value
    }
  }
}

extension Composite: PropertyStorage {
  /// The kind of the property, which is transient because only its elements are stored.
  static var kind: PropertyDescription.Kind { .transient }
  static var composite: (any CompositeValue.Type)? { Value.self }
}

extension ManagedObject {
  /// Prepares the object for a read of the composite attribute at the given offset.
  @usableFromInline
  final func willRead(compositeAt offset: Int) {
    willModify(at: offset)
    guard hooks.contains(.observed), !state.contains(.prototype) else { return }
    for property in elements(at: offset) { source?.didRead(self, property) }
  }

  /// Notifies the context that the composite attribute at the given offset is about to be set.
  @usableFromInline
  final func willWrite(compositeAt offset: Int) {
    guard prepareToWrite(at: offset) else { return }
    for property in elements(at: offset) {
      if state.contains(.awakening) {
        keepStoredValue(of: property)
      } else {
        source?.willWriteElement(self, property)
      }
    }
  }

  /// Notifies the context that the composite attribute at the given offset was set.
  @usableFromInline
  final func didWrite(compositeAt offset: Int) {
    guard source != nil, !state.contains(.awakening) else { return }
    for property in elements(at: offset) {
      if keptValues != nil { discardKeptValueIfSet(of: property) }
      source?.didWriteElement(self, property)
    }
  }

  private func elements(at offset: Int) -> ArraySlice<PropertyDescription> {
    entityDescription?.elements(ofCompositeAt: offset) ?? []
  }
}
