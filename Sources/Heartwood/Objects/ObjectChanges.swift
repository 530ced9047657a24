/// The changes made to an object since it was read or inserted.
final class ObjectChanges {
  /// The original values of the properties that have been set since the object was read, keyed by
  /// slot.
  var originals: [Int: StoredValue] = [:]
  /// The number of changes recorded so far.
  var count = 0
  /// The members that were added to or removed from each to-many relationship, keyed by slot.
  var members: [Int: MemberChanges] = [:]
  /// The older state of the row on which changes from a child context are based, or `nil` if all
  /// changes are based on the object's current version.
  var earlierState: EarlierState?
  /// The slots of the properties that were set in a new object.
  ///
  /// The set is used only for entities with unique constraints. It includes assignments made before
  /// the insertion or after `awakeFromInsert` has returned. Changes to to-many relationships are
  /// recorded in ``members`` instead.
  var assigned = SlotSet()
  /// The offsets of the attributes that were set while the object was not in a context.
  var written: [Int] = []
  /// The values assigned to relationships while the object was not in a context, keyed by the
  /// relationship's offset.
  var pending: [Int: PendingRelated] = [:]
  /// Spare copies of the current member lists, keyed by slot.
  ///
  /// A spare copy has no other references, so an in-place mutation can modify it without copying
  /// the list first.
  var spareLists: [Int: [ManagedObject]] = [:]
  /// Spare copies of the current member sets, keyed by slot.
  ///
  /// The copies serve the same purpose as ``spareLists``.
  var spareSets: [Int: Set<ManagedObject>] = [:]

  /// The ID space of the object if it has left its context; otherwise, `nil`.
  var space: ManagedObjectID.Space?
  /// A Boolean value that indicates whether the object was new when it left its context.
  ///
  /// Such an object has no row.
  var wasNew = false
  /// A Boolean value that indicates whether the object left its context because the context was
  /// deallocated.
  var isOrphaned = false

  var isEmpty: Bool { originals.isEmpty && members.isEmpty }
}

/// A state of a row that precedes the state that the context has read.
///
/// A child context had read this earlier state when it changed the object.
struct EarlierState {
  /// The version of the row.
  var version: UInt64
  /// The values that the child context had read, keyed by slot.
  ///
  /// If the child context edited the object, these are the values of the edited properties. If the
  /// child context deleted the object, these are all stored values.
  var values: [Int: StoredValue] = [:]
}

/// The objects added to and removed from a to-many relationship since the relationship was read.
struct MemberChanges {
  private(set) var added = MemberSet()
  private(set) var removed = MemberSet()
  /// The members of an ordered relationship at the time they were read.
  ///
  /// The property is set before the first change or, if the list is not loaded at that time, when
  /// the list is loaded. Until then, and for new objects, its value is `nil`. Once it is set, the
  /// current list is loaded too, and comparing the two lists shows which members were moved.
  var base: [ManagedObject]?

  init(base: [ManagedObject]? = nil) { self.base = base }

  /// All objects mentioned in the changes, including the original members.
  var all: [ManagedObject] { added.map { $0 } + removed.map { $0 } + (base ?? []) }

  /// A Boolean value that indicates whether no member was added or removed.
  var hasSameMembers: Bool { added.isEmpty && removed.isEmpty }

  /// Records the addition of a member.
  ///
  /// Adding a removed member cancels the removal.
  mutating func add(_ member: ManagedObject) {
    if !removed.remove(member) { added.insert(member) }
  }

  /// Returns these changes, except those that other contexts have also made.
  ///
  /// - Parameters:
  ///   - theirs: The members in the store, including the other contexts' changes.
  ///   - body: A closure that is called with each member that other contexts have also added or
  ///     removed.
  func without(
    theirs: Set<ObjectNumber>, _ body: (ManagedObject) -> Void
  ) -> MemberChanges {
    var edit = self
    for member in added where theirs.contains(member.number) {
      edit.remove(member)
      body(member)
    }
    for member in removed where !theirs.contains(member.number) {
      edit.add(member)
      body(member)
    }
    return edit
  }

  /// Replaces objects with the objects into which they were merged.
  ///
  /// - Parameter successors: A map from each merged object to its successor. Objects that are not
  ///   in the map are kept.
  mutating func replace(_ successors: [ManagedObject: ManagedObject]) {
    guard all.contains(where: { successors[$0] != nil }) else { return }
    added = MemberSet(added.map { successors[$0] ?? $0 })
    removed = MemberSet(removed.map { successors[$0] ?? $0 })
    base = base.map { MemberSet($0.map { successors[$0] ?? $0 }).map { $0 } }
  }

  /// Records the removal of a member.
  ///
  /// Removing an added member cancels the addition.
  mutating func remove(_ member: ManagedObject) {
    if !added.remove(member) { removed.insert(member) }
  }
}

/// The value assigned to a relationship of an object that is not in a context.
enum PendingRelated {
  case target(ManagedObject?)
  case list([ManagedObject])
  case set(Set<ManagedObject>)

  var all: [ManagedObject] {
    switch self {
    case .target(let target): target.map { [$0] } ?? []
    case .list(let members): members
    case .set(let members): Array(members)
    }
  }
}

extension ManagedObject {
  /// The oldest row version that the object's unsaved changes are based on, or 0 if there is no
  /// row.
  final var baseVersion: UInt64 { changes?.earlierState?.version ?? version }

  /// The values that the edited properties had when they were read, keyed by slot.
  final var baseValues: [Int: StoredValue] {
    guard let changes else { return [:] }
    guard let earlierState = changes.earlierState else { return changes.originals }
    return changes.originals.merging(earlierState.values) { $1 }
  }

  /// The slots of the properties that were set while the object was new.
  ///
  /// The set is empty unless the entity has unique constraints.
  package final var assigned: SlotSet { changes?.assigned ?? SlotSet() }

  /// The object's changes, created on first use.
  final var ownChanges: ObjectChanges {
    if let changes { return changes }
    let new = ObjectChanges()
    changes = new
    return new
  }
}
