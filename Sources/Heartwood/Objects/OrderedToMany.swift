/// A to-many relationship that stores the order of its members.
///
/// ```swift
/// @OrderedToMany(inverse: \Track.album, deleteRule: .cascade) var tracks: [Track]
/// ```
///
/// The list contains each object at most once. An object that is added through the inverse is
/// appended. Through `album.$tracks`, members can be counted, found, appended and removed without
/// being loaded (see ``Members``).
@propertyWrapper
public struct OrderedToMany<Destination: ManagedObject> {
  @usableFromInline var members: [Destination]?

  /// Declares a list of related objects.
  ///
  /// If the relationship has an inverse, name this property as the `inverse` in the declaration of
  /// the property at the other end.
  public init() {
    guard PropertyRecorder.isRecording else { return }
    PropertyRecorder.recordWrapper(Self.self, PropertyOptions(deleteRule: .nullify))
  }

  /// Declares a list of related objects with the given options.
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
  public var wrappedValue: [Destination] {
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
  /// - Complexity: The first read and each assignment are O(members). An in-place mutation ends by
  ///   comparing the old and new lists, which takes ten microseconds for ten thousand members. The
  ///   relationship is then updated only for the objects that were added or removed.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: ReferenceWritableKeyPath<Owner, [Destination]>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> [Destination] {
    @inline(__always) get {
      if owner.hooks.isEmpty, let members = owner[keyPath: storage].members { return members }
      let members = owner.loadedList(at: ManagedObject.offset(of: storage, in: owner))
      return unsafeBitCast(members, to: [Destination].self)
    }
    @inline(__always) set {
      owner.setList(
        unsafeBitCast(newValue, to: [ManagedObject].self),
        at: ManagedObject.offset(of: storage, in: owner))
    }
    @inline(__always) _modify {
      let offset = ManagedObject.offset(of: storage, in: owner)
      var members = unsafeBitCast(owner.beginChangingList(at: offset), to: [Destination].self)
      defer { owner.setList(unsafeBitCast(members, to: [ManagedObject].self), at: offset) }
      yield &members
    }
  }
}

extension OrderedToMany: PropertyStorage {
  static var kind: PropertyDescription.Kind { .toMany(isOrdered: true) }
  static var destination: AnyClass? { Destination.self }
}

extension ManagedObject {
  /// Loads and returns the members of the ordered relationship at the given offset.
  @usableFromInline
  final func loadedList(at offset: Int) -> [ManagedObject] {
    loadMembers(at: offset)
    return presentList(at: offset)
  }

  private func presentList(at offset: Int) -> [ManagedObject] {
    guard source == nil else { return list(at: offset) ?? [] }
    guard let related = pendingRelated(at: offset), case .list(let members) = related else {
      return []
    }
    return members
  }

  /// Loads and returns the members of the ordered relationship at the given offset so that they can
  /// be mutated in place.
  @usableFromInline
  final func beginChangingList(at offset: Int) -> [ManagedObject] {
    loadMembers(at: offset, areRead: false)
    let members = presentList(at: offset)
    guard let changes, !changes.spareLists.isEmpty,
      let property = entityDescription?.property(at: offset)
    else { return members }
    return changes.spareLists.removeValue(forKey: property.slot) ?? members
  }

  @usableFromInline
  final func setList(_ members: [ManagedObject], at offset: Int) {
    if source == nil, let other = members.first(where: { $0.source != nil }) {
      insertIntoContext(of: other)
    }
    guard let source else {
      var seen: Set<ManagedObject> = []
      ownChanges.pending[offset] = .list(members.filter { seen.insert($0).inserted })
      return
    }
    guard let property = entityDescription?.property(at: offset) else { return }
    source.relate(self, property, to: members)
  }
}
