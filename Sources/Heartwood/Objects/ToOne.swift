/// A to-one relationship: a reference to another object.
///
/// ```swift
/// @ToOne var owner: Person?
/// @ToOne(inverse: \Passport.holder, deleteRule: .cascade) var passport: Passport?
/// ```
///
/// Only one side declares the inverse. Both sides stay consistent at all times, because setting one
/// side changes the other.
@propertyWrapper
public struct ToOne<Destination: ManagedObject> {
  @usableFromInline var target: ToOneTarget = .none

  /// Declares a to-one relationship without naming its inverse.
  ///
  /// If the relationship has an inverse, name this property as the `inverse` in the declaration of
  /// the property at the other end.
  public init() {
    guard PropertyRecorder.isRecording else { return }
    PropertyRecorder.recordWrapper(Self.self, PropertyOptions(deleteRule: .nullify))
  }

  /// Declares a to-one relationship with the given options.
  ///
  /// - Parameters:
  ///   - inverse: The relationship at the other end, which is always kept consistent with this
  ///     relationship.
  ///   - renamedFrom: The names of the relationship in earlier versions of the model.
  ///   - deleteRule: The rule that determines what happens to the related object when this object
  ///     is deleted.
  public init(
    inverse: PartialKeyPath<Destination>? = nil, renamedFrom: String...,
    deleteRule: DeleteRule = .nullify
  ) {
    guard PropertyRecorder.isRecording else { return }
    PropertyRecorder.recordWrapper(
      Self.self,
      PropertyOptions(renamedFrom: renamedFrom, deleteRule: deleteRule, inverse: inverse))
  }

  /// Unavailable, because relationships can be declared only in subclasses of `ManagedObject`.
  @available(
    *, unavailable, message: "Relationships can be declared only in subclasses of ManagedObject."
  )
  public var wrappedValue: Destination? {
    get { nil }
    set { target = .none }
  }

  /// The related object, which may be a fault.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: ReferenceWritableKeyPath<Owner, Destination?>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Destination? {
    @inline(__always) get {
      if owner.hooks.isEmpty, case .object(let object) = owner[keyPath: storage].target {
        return unsafeDowncast(object, to: Destination.self)
      }
      return owner.target(at: ManagedObject.offset(of: storage, in: owner))
        .map { unsafeDowncast($0, to: Destination.self) }
    }
    @inline(__always) set {
      owner.setTarget(newValue, at: ManagedObject.offset(of: storage, in: owner))
    }
  }
}

/// The target of a to-one relationship.
@usableFromInline
enum ToOneTarget {
  case none
  /// The number of a related object that has not been accessed yet.
  case number(Int64)
  case object(ManagedObject)
}

extension ToOne: PropertyStorage {
  static var representation: PropertyRepresentation { .reference }
  static var kind: PropertyDescription.Kind { .toOne }
  static var destination: AnyClass? { Destination.self }

  static func value(at location: UnsafeRawPointer) -> StoredValue {
    switch location.assumingMemoryBound(to: Self.self).pointee.target {
    case .none: .null
    case .number(let bits): .integer(bits)
    case .object(let object): .integer(object.number.bits)
    }
  }

  static func setValue(_ value: StoredValue, at location: UnsafeMutableRawPointer) {
    let target: ToOneTarget = if case .integer(let bits) = value { .number(bits) } else { .none }
    location.assumingMemoryBound(to: Self.self).pointee.target = target
  }
}

extension ManagedObject {
  @usableFromInline
  final func target(at offset: Int) -> ManagedObject? {
    if state.contains(.prototype) { return PropertyProbe.destination(self, offset) }
    guard let source else { return pendingTarget(at: offset) }
    guard let property = entityDescription?.property(at: offset) else { return nil }
    if hooks.contains(.observed) { source.didRead(self, property) }
    return source.toOneTarget(of: self, property)
  }

  @usableFromInline
  final func setTarget(_ target: ManagedObject?, at offset: Int) {
    insertIntoContext(of: target)
    guard let source else {
      ownChanges.pending[offset] = .target(target)
      return
    }
    guard let property = entityDescription?.property(at: offset) else { return }
    source.relate(self, property, to: target)
  }

  private func pendingTarget(at offset: Int) -> ManagedObject? {
    guard let related = pendingRelated(at: offset), case .target(let target) = related else {
      return nil
    }
    return target
  }

  /// Returns the value that was assigned to the relationship at the given offset while the object
  /// was not in a context, or `nil` if no value was assigned.
  ///
  /// The method traps if the object's context has been deallocated, because the related objects are
  /// then unknown.
  final func pendingRelated(at offset: Int) -> PendingRelated? {
    if let related = changes?.pending[offset] { return related }
    if changes?.isOrphaned == true, !isDeleted { requireContext() }
    return nil
  }

  /// Inserts this object into the context of `other`, to which it is about to be related.
  ///
  /// The method does nothing if this object has ever been in a context, or if `other` is not in a
  /// context.
  final func insertIntoContext(of other: ManagedObject?) {
    if source == nil, number.bits == 0, let source = other?.source { source.insert(self) }
  }
}
