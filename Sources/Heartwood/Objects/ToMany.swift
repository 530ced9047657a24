/// An unordered to-many relationship.
///
/// ```swift
/// @ToMany(inverse: \Car.owner, deleteRule: .cascade) var cars: Set<Car>
/// ```
///
/// Through `person.$cars`, members can be counted, found, inserted and removed without being loaded
/// (see ``Members``).
///
/// Both sides stay consistent at all times. Adding an object through the inverse (`car.owner =
/// person`) does not load the members.
@propertyWrapper
public struct ToMany<Destination: ManagedObject> {
  @usableFromInline var members: Set<Destination>?

  /// Declares a set of related objects.
  ///
  /// If the relationship has an inverse, name this property as the `inverse` in the declaration of
  /// the property at the other end.
  public init() {
    guard PropertyRecorder.isRecording else { return }
    PropertyRecorder.recordWrapper(Self.self, PropertyOptions(deleteRule: .nullify))
  }

  /// Declares a set of related objects with the given options.
  ///
  /// - Parameters:
  ///   - inverse: The relationship at the other end, which is always kept consistent with this
  ///     relationship.
  ///   - renamedFrom: The names of the relationship in earlier versions of the model.
  ///   - deleteRule: The rule that determines what happens to the related objects when this object
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
  public var wrappedValue: Set<Destination> {
    get { members ?? [] }
    set { members = newValue }
  }

  /// Unavailable, because relationships can be declared only in subclasses of `ManagedObject`.
  @available(
    *, unavailable, message: "Relationships can be declared only in subclasses of ManagedObject."
  )
  public var projectedValue: Members { fatalError() }

  /// The members, which can be counted, found and changed without being loaded.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    projected projected: KeyPath<Owner, Members>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Members {
    Members(of: owner, at: ManagedObject.offset(of: storage, in: owner))
  }

  /// The related objects, which may be faults.
  ///
  /// While a mutating method or an `inout` argument changes the property in place, reading the
  /// property returns its previous value.
  ///
  /// - Complexity: The first read and each assignment are O(members). In-place insertion and
  ///   removal are O(1). However, the first in-place change after the object was read or saved is
  ///   O(members).
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: ReferenceWritableKeyPath<Owner, Set<Destination>>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Set<Destination> {
    @inline(__always) get {
      if owner.hooks.isEmpty, let members = owner[keyPath: storage].members { return members }
      let members = owner.loadedSet(at: ManagedObject.offset(of: storage, in: owner))
      return unsafeBitCast(members, to: Set<Destination>.self)
    }
    @inline(__always) set {
      owner.setSet(
        unsafeBitCast(newValue, to: Set<ManagedObject>.self),
        at: ManagedObject.offset(of: storage, in: owner))
    }
    @inline(__always) _modify {
      let offset = ManagedObject.offset(of: storage, in: owner)
      let change = SetChange()
      var members = unsafeBitCast(
        owner.beginChangingSet(at: offset, change), to: Set<Destination>.self)
      defer {
        owner.endChangingSet(
          unsafeBitCast(members, to: Set<ManagedObject>.self), at: offset, change)
      }
      yield &members
    }
  }
}

/// The state of an in-place mutation of a member set.
@usableFromInline
final class SetChange {
  fileprivate var recording: UInt64 = 0
  /// The storage of the set's elements.
  ///
  /// The reference is weak, so it becomes `nil` if the set is replaced with another one.
  fileprivate weak var storage: AnyObject?

  @usableFromInline
  init() {}
}

extension ToMany: PropertyStorage {
  static var kind: PropertyDescription.Kind { .toMany(isOrdered: false) }
  static var destination: AnyClass? { Destination.self }
}

extension ManagedObject {
  /// Loads the members of the to-many relationship at the given offset.
  ///
  /// - Parameter areRead: `true` if the caller reads the members, or `false` if it only mutates
  ///   them.
  final func loadMembers(at offset: Int, areRead: Bool = true) {
    if state.contains(.prototype) { return PropertyProbe.recordRead(of: self, offset) }
    guard let source, let property = entityDescription?.property(at: offset) else { return }
    if areRead, hooks.contains(.observed) { source.didRead(self, property) }
    if isFault || !hasMembers(property) { source.loadedMembers(of: self, property) }
  }

  /// Loads and returns the members of the unordered relationship at the given offset.
  @usableFromInline
  final func loadedSet(at offset: Int) -> Set<ManagedObject> {
    loadMembers(at: offset)
    return presentSet(at: offset)
  }

  private func presentSet(at offset: Int) -> Set<ManagedObject> {
    guard source == nil else { return set(at: offset) ?? [] }
    guard let related = pendingRelated(at: offset), case .set(let members) = related else {
      return []
    }
    return members
  }

  /// Loads and returns the members of the unordered relationship at the given offset so that they
  /// can be mutated in place.
  @usableFromInline
  final func beginChangingSet(at offset: Int, _ change: SetChange) -> Set<ManagedObject> {
    loadMembers(at: offset, areRead: false)
    var members = presentSet(at: offset)
    if let changes, !changes.spareSets.isEmpty,
      let property = entityDescription?.property(at: offset),
      let spare = changes.spareSets.removeValue(forKey: property.slot)
    {
      members = spare
    }
    change.storage = Self.storage(of: members)
    change.recording = HashRecorder.begin()
    return members
  }

  @usableFromInline
  final func endChangingSet(
    _ members: Set<ManagedObject>, at offset: Int, _ change: SetChange
  ) {
    let hashed = HashRecorder.end(change.recording)
    let isSame = change.storage === Self.storage(of: members)
    setSet(members, at: offset, hashed: isSame ? hashed : nil)
  }

  @usableFromInline
  final func setSet(_ members: Set<ManagedObject>, at offset: Int) {
    setSet(members, at: offset, hashed: nil)
  }

  private func setSet(
    _ members: Set<ManagedObject>, at offset: Int, hashed: [ObjectIdentifier]?
  ) {
    if source == nil, let other = members.first(where: { $0.source != nil }) {
      insertIntoContext(of: other)
    }
    guard let source else {
      ownChanges.pending[offset] = .set(members)
      return
    }
    guard let property = entityDescription?.property(at: offset) else { return }
    source.relate(self, property, to: members, hashed: hashed)
  }

  /// Returns the storage of a set's elements, which is the set's only stored property.
  private static func storage(of members: Set<ManagedObject>) -> AnyObject {
    unsafeBitCast(members, to: AnyObject.self)
  }
}
