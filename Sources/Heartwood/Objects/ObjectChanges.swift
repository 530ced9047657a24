/// The changes of an object since it was read, or since it was inserted.
final class ObjectChanges {
  /// The value in the row of each property that was set since the object was read, by slot.
  var originals: [Int: StoredValue] = [:]
  /// The number of times that something was set.
  var count = 0
  /// The objects that joined and left to-many relationships, by slot.
  var members: [Int: MemberChanges] = [:]
  /// The slots that were set in a new object since `awakeFromInsert` returned, or before it was
  /// inserted; kept only for entities with unique constraints.
  ///
  /// To-many relationships are not in it: ``members`` has them.
  var assigned = SlotSet()
  /// The offsets of the attributes that were set while the object was in no context.
  var written: [Int] = []
  /// The relationships that were set while the object was in no context, by offset.
  var pending: [Int: PendingRelated] = [:]
  /// Lists and sets equal to the members in the object, by slot, that nobody else holds: handed
  /// out when members are changed in place, so that a change copies none of them.
  var spareLists: [Int: [ManagedObject]] = [:]
  var spareSets: [Int: Set<ManagedObject>] = [:]

  /// The space of the object's ID, once it belongs to no context any more.
  var space: ManagedObjectID.Space?
  /// Whether the object was new when it left its context, so that it has no row.
  var wasNew = false
  /// Whether its context is gone, and has not just let go of it.
  var isOrphaned = false

  var isEmpty: Bool { originals.isEmpty && members.isEmpty }
}

/// The objects that joined and left a to-many relationship since it was read.
struct MemberChanges {
  private(set) var added = MemberSet()
  private(set) var removed = MemberSet()
  /// The members of an ordered relationship as they were read.
  ///
  /// Captured before the first change, or when the list is loaded under changes; `nil` for as long
  /// as the list was not loaded, and for new objects. Where it is set, the current list of the
  /// object is loaded too, and says with it what was moved.
  var base: [ManagedObject]?

  init(base: [ManagedObject]? = nil) { self.base = base }

  /// All objects that it holds.
  var all: [ManagedObject] { added.map { $0 } + removed.map { $0 } + (base ?? []) }

  /// Whether nobody joined or left.
  var hasSameMembers: Bool { added.isEmpty && removed.isEmpty }

  /// Notes that a member joined; one that had left has come back.
  mutating func join(_ member: ManagedObject) {
    if !removed.remove(member) { added.insert(member) }
  }

  /// What is left of the edit where others have these members: without what they have done, too.
  ///
  /// - Parameter body: Called with each member that others have added or removed, too.
  func without(
    theirs: Set<ObjectNumber>, _ body: (ManagedObject) -> Void
  ) -> MemberChanges {
    var edit = self
    for member in added where theirs.contains(member.number) {
      edit.leave(member)
      body(member)
    }
    for member in removed where !theirs.contains(member.number) {
      edit.join(member)
      body(member)
    }
    return edit
  }

  /// Puts objects in the places of others.
  mutating func replace(_ successors: [ManagedObject: ManagedObject]) {
    guard all.contains(where: { successors[$0] != nil }) else { return }
    added = MemberSet(added.map { successors[$0] ?? $0 })
    removed = MemberSet(removed.map { successors[$0] ?? $0 })
    base = base.map { MemberSet($0.map { successors[$0] ?? $0 }).map { $0 } }
  }

  /// Notes that a member left; one that had joined was never there.
  mutating func leave(_ member: ManagedObject) {
    if !added.remove(member) { removed.insert(member) }
  }
}

/// Related objects of an object that is in no context.
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
  /// The slots that were set in the object while it is new, if its entity has unique constraints.
  package final var assigned: SlotSet { changes?.assigned ?? SlotSet() }

  /// The changes of the object, made if there are none yet.
  final var ownChanges: ObjectChanges {
    if let changes { return changes }
    let new = ObjectChanges()
    changes = new
    return new
  }
}
