/// The related objects in an order that is kept.
///
/// ```swift
/// @OrderedToMany(inverse: \Track.album, deleteRule: .cascade) var tracks: [Track]
/// ```
///
/// An object is in it at most once. One that joins from the other side goes to the end.
@propertyWrapper
public struct OrderedToMany<Destination: ManagedObject> {
  @usableFromInline var members: [Destination]?

  /// Declares a list of related objects whose inverse, if any, is declared at the other end.
  public init() {
    guard PropertyRecorder.isRecording else { return }
    PropertyRecorder.note(Self.self, PropertyOptions(deleteRule: .nullify))
  }

  /// Declares a list of related objects.
  ///
  /// - Parameters:
  ///   - inverse: The relationship at the other end that always says the same.
  ///   - renamedFrom: Its names in earlier versions of the model.
  ///   - deleteRule: What becomes of the others when this object is deleted.
  public init(
    inverse: PartialKeyPath<Destination>? = nil, renamedFrom: String...,
    deleteRule: DeleteRule = .nullify
  ) {
    guard PropertyRecorder.isRecording else { return }
    PropertyRecorder.note(
      Self.self,
      PropertyOptions(renamedFrom: renamedFrom, deleteRule: deleteRule, inverse: inverse))
  }

  /// Not to be used: a relationship belongs to a class of objects.
  @available(*, unavailable, message: "A relationship belongs to a subclass of ManagedObject.")
  public var wrappedValue: [Destination] {
    get { members ?? [] }
    set { members = newValue }
  }

  /// The related objects, faults perhaps.
  ///
  /// - Complexity: O(members) to read for the first time, and to set.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: ReferenceWritableKeyPath<Owner, [Destination]>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> [Destination] {
    @inline(__always) get {
      if owner.help.isEmpty, let members = owner[keyPath: storage].members { return members }
      owner.loadMembers(at: ManagedObject.offset(of: storage, in: owner))
      return owner[keyPath: storage].members ?? []
    }
    @inline(__always) set {
      owner.setMembers(newValue, at: ManagedObject.offset(of: storage, in: owner))
    }
  }
}

extension OrderedToMany: MemberStorage {
  static var kind: PropertyDescription.Kind { .toMany(isOrdered: true) }
  static var destination: AnyClass? { Destination.self }

  static func members(at place: UnsafeRawPointer) -> [ManagedObject]? {
    place.assumingMemoryBound(to: Self.self).pointee.members
  }

  static func setMembers(_ members: [ManagedObject]?, at place: UnsafeMutableRawPointer) {
    place.assumingMemoryBound(to: Self.self).pointee.members =
      members?.map { unsafeDowncast($0, to: Destination.self) }
  }

  static func insert(_ member: ManagedObject, at place: UnsafeMutableRawPointer) {
    place.assumingMemoryBound(to: Self.self).pointee.members?
      .append(unsafeDowncast(member, to: Destination.self))
  }

  static func remove(_ member: ManagedObject, at place: UnsafeMutableRawPointer) {
    place.assumingMemoryBound(to: Self.self).pointee.members?.removeAll { $0 === member }
  }
}
