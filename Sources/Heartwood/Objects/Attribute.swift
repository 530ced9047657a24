import Foundation

/// A property wrapper that declares an attribute, whose value is stored in the object's row.
///
/// ```swift
/// @Attribute var name: String = ""
/// @Attribute(.unique) var email: String = ""
/// @Attribute("n", renamedFrom: "title") var nickname: String? = nil
/// ```
///
/// - Complexity: Reading takes as long as reading a plain stored property. If the object is a
///   fault, reading also loads the row. Writing to a fetched object also records the attribute's
///   previous value.
@propertyWrapper
public struct Attribute<Value: AttributeValue> {
  @usableFromInline var stored: Value

  /// Declares an attribute and its initial value.
  @inlinable
  public init(wrappedValue: Value) {
    stored = wrappedValue
    if PropertyRecorder.isRecording { Self.recordDeclaration() }
  }

  /// Declares an attribute and its initial value.
  ///
  /// - Parameters:
  ///   - wrappedValue: The initial value.
  ///   - name: The attribute's name in the store. The default is the name of the property.
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

  /// Declares an attribute, the rules for its values, and its initial value.
  ///
  /// ```swift
  /// @Attribute(.unique) var code: String = ""
  /// @Attribute(.indexed, renamedFrom: "date") var time: Date = .distantPast
  /// ```
  ///
  /// - Parameters:
  ///   - wrappedValue: The initial value.
  ///   - rule: A rule that applies to the values of the attribute.
  ///   - otherRules: Additional rules.
  ///   - name: The attribute's name in the store. The default is the name of the property.
  ///   - renamedFrom: The attribute's stored names in earlier versions of the model.
  ///   - preservesValueOnDeletion: `true` to keep the value in the history when the object is
  ///     deleted.
  public init(
    wrappedValue: Value, _ rule: AttributeRule, _ otherRules: AttributeRule...,
    name: String? = nil, renamedFrom: String..., preservesValueOnDeletion: Bool = false
  ) {
    stored = wrappedValue
    guard PropertyRecorder.isRecording else { return }
    PropertyRecorder.recordWrapper(
      Self.self,
      PropertyOptions(
        storedName: name, renamedFrom: renamedFrom, rules: [rule] + otherRules,
        isPreservedOnDeletion: preservesValueOnDeletion))
  }

  @usableFromInline
  static func recordDeclaration() { PropertyRecorder.recordWrapper(Self.self, PropertyOptions()) }

  /// Unavailable, because attributes can be declared only in subclasses of `ManagedObject`.
  @available(
    *, unavailable, message: "Attributes can be declared only in subclasses of ManagedObject."
  )
  public var wrappedValue: Value {
    get { stored }
    set { stored = newValue }
  }

  /// The attribute's value in an object.
  ///
  /// If the object is a fault, reading the attribute loads the object first.
  ///
  /// While a mutating method or an `inout` argument changes the attribute in place, reading the
  /// attribute returns its previous value. If the attribute is a collection, reading it returns an
  /// empty collection instead.
  ///
  /// The accessors are always inlined, so that the compiler can see the key path and access the
  /// property directly. Resolving the key path at run time would take a hundred times as long.
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
      // Move the value out of the property, so that a collection is mutated without being copied,
      // and code that runs during the mutation can still read the property. `swap` would also work,
      // but would make the compiler add an exclusivity check to every read of the property. These
      // checks would take a fifth of the time of a fetch that reads all values.
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
    case is Float.Type: .float
    case is Bool.Type: .bool
    case is Date.Type: .date
    case is String.Type: .string
    case is Int?.Type, is Int64?.Type: .optionalInteger
    case is Double?.Type: .optionalDouble
    case is Date?.Type: .optionalDate
    case is String?.Type: .optionalString
    default: .other
    }
  }

  static var kind: PropertyDescription.Kind {
    .attribute(Value.storageType, isOptional: Value.isOptional)
  }

  static func value(at location: UnsafeRawPointer) throws -> StoredValue {
    try location.assumingMemoryBound(to: Self.self).pointee.stored.storedValue
  }

  static var collection: (any CollectionAttributeValue.Type)? {
    Value.self as? any CollectionAttributeValue.Type
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

  static var isStandardType: Bool {
    let own = (Value.self as? any NestableOptional.Type)?.wrappedType ?? Value.self
    return StandardTypes.all.contains(ObjectIdentifier(own))
  }

  static var valueOrder: [StoredValue]? {
    func values<Known: AttributeValue & CaseIterable & Comparable>(_: Known.Type) -> [StoredValue] {
      Known.allCases.sorted().compactMap { try? $0.storedValue }
    }
    guard !isStandardType else { return nil }
    let own = (Value.self as? any NestableOptional.Type)?.wrappedType ?? Value.self
    return (own as? any (AttributeValue & CaseIterable & Comparable).Type).map { values($0) } ?? []
  }

  static func decodedValue(_ decoder: any Decoder) throws -> StoredValue {
    try Value.decodedValue(decoder)
  }

  static func encode(
    _ value: StoredValue, to container: inout any SingleValueEncodingContainer
  ) throws -> Bool {
    guard let known = try Value(known: value) as? any Encodable else { return false }
    func encode(_ value: some Encodable) throws { try container.encode(OrderedValue(value)) }
    try encode(known)
    return true
  }

  static func setValue(_ value: StoredValue, at location: UnsafeMutableRawPointer) throws {
    location.assumingMemoryBound(to: Self.self).pointee.stored = try Value(storedValue: value)
  }
}

extension ManagedObject {
  /// Prepares the object for a read of the property at the given offset.
  @usableFromInline
  final func willRead(at offset: Int) {
    willModify(at: offset)
    if hooks.contains(.observed) { didRead(at: offset) }
  }

  /// Prepares the object for an in-place mutation of the property at the given offset.
  ///
  /// The mutation is not reported to observers as a read.
  @usableFromInline
  final func willModify(at offset: Int) {
    if state.contains(.prototype) { return PropertyProbe.recordRead(of: self, offset) }
    requireContext()
    source?.fire(self)
  }

  /// Traps if the object's context no longer exists.
  ///
  /// Without its context, the object cannot load missing values.
  final func requireContext() {
    // Use `fatalError`, because `precondition` would drop the message in a release build.
    guard source != nil else {
      fatalError(
        "An unloaded property of this \(type(of: self)) was used after the object's context was "
          + "deallocated. Retain the context for as long as you use its objects.")
    }
  }

  /// Notifies the context that the property at the given offset is about to be set.
  @usableFromInline
  final func willWrite(at offset: Int) {
    guard prepareToWrite(at: offset), let property = entityDescription?.property(at: offset)
    else { return }
    if state.contains(.awakening) { return keepStoredValue(of: property) }
    source?.willChange(self, property)
    if keptValues != nil { discardKeptValue(of: property) }
  }

  /// Prepares the object for a write to the property at the given offset.
  ///
  /// - Returns: `true` if the object belongs to a context; otherwise, `false`.
  final func prepareToWrite(at offset: Int) -> Bool {
    if source == nil, number.bits == 0 {
      recordWrite(at: offset)
      return false
    }
    requireContext()
    if state.contains(.fault) { source?.fire(self) }
    return true
  }

  /// Records that a property was set while the object was not in a context.
  private func recordWrite(at offset: Int) {
    let changes = ownChanges
    if !changes.written.contains(offset) { changes.written.append(offset) }
  }

  /// Records that an element of a new object's composite attribute was set, unless the element
  /// still has its initial value.
  final func recordAssignmentIfSet(_ property: PropertyDescription) {
    guard entityDescription?.hasUniqueConstraints == true, !property.isVolatile,
      (try? storedValue(property))?.isIdentical(to: property.initialValue) != true
    else { return }
    recordAssignment(of: property)
  }

  /// Records that a property of a new object was set, if the entity has unique constraints.
  final func recordAssignment(of property: PropertyDescription) {
    if entityDescription?.hasUniqueConstraints == true { ownChanges.assigned.insert(property.slot) }
  }
}
