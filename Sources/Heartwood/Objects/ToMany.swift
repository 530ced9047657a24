/// The set of objects that refer to this one, or are related to it.
///
/// ```swift
/// @ToMany(inverse: \Car.owner, deleteRule: .cascade) var cars: Set<Car>
/// ```
///
/// Both sides are kept at once. Adding many objects one by one is quicker from the other side
/// (`car.owner = person`), which does not have to look at the others.
@propertyWrapper
public struct ToMany<Destination: ManagedObject> {
  @usableFromInline var members: Set<Destination>?

  /// Declares a set of related objects whose inverse, if any, is declared at the other end.
  public init() {
    guard PropertyRecorder.isRecording else { return }
    PropertyRecorder.note(Self.self, PropertyOptions(deleteRule: .nullify))
  }

  /// Declares a set of related objects.
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
  public var wrappedValue: Set<Destination> {
    get { members ?? [] }
    set { members = newValue }
  }

  /// The related objects, faults perhaps.
  ///
  /// - Complexity: O(members) to read for the first time, and to set.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: ReferenceWritableKeyPath<Owner, Set<Destination>>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Set<Destination> {
    @inline(__always) get {
      if owner.help.isEmpty, let members = owner[keyPath: storage].members { return members }
      owner.loadMembers(at: ManagedObject.offset(of: storage, in: owner))
      return owner[keyPath: storage].members ?? []
    }
    @inline(__always) set {
      owner.setMembers(Array(newValue), at: ManagedObject.offset(of: storage, in: owner))
    }
  }
}

extension ToMany: MemberStorage {
  static var kind: PropertyDescription.Kind { .toMany(isOrdered: false) }
  static var destination: AnyClass? { Destination.self }

  static func members(at place: UnsafeRawPointer) -> [ManagedObject]? {
    place.assumingMemoryBound(to: Self.self).pointee.members.map { Array($0) }
  }

  static func setMembers(_ members: [ManagedObject]?, at place: UnsafeMutableRawPointer) {
    place.assumingMemoryBound(to: Self.self).pointee.members = members.map {
      Set($0.map { unsafeDowncast($0, to: Destination.self) })
    }
  }

  static func insert(_ member: ManagedObject, at place: UnsafeMutableRawPointer) {
    place.assumingMemoryBound(to: Self.self).pointee.members?
      .insert(unsafeDowncast(member, to: Destination.self))
  }

  static func remove(_ member: ManagedObject, at place: UnsafeMutableRawPointer) {
    place.assumingMemoryBound(to: Self.self).pointee.members?
      .remove(unsafeDowncast(member, to: Destination.self))
  }
}

extension ManagedObject {
  @usableFromInline
  final func loadMembers(at offset: Int) {
    if state.contains(.prototype) { return PropertyProbe.note(self, offset) }
    guard let property = entityDescription?.property(at: offset) else { return }
    requireContextOfRelated()
    if help.contains(.observed) { source?.didRead(self, property) }
    source?.loadedMembers(of: self, property)
  }

  @usableFromInline
  final func setMembers(_ members: [ManagedObject], at offset: Int) {
    guard let property = entityDescription?.property(at: offset), let source else {
      preconditionFailure("insert an object into a context before you set its relationships")
    }
    source.relate(self, property, to: members)
  }
}
