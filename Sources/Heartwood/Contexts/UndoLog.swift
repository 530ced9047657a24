/// What was done in a context, so that it can be taken back, and done again; its parts share it.
final class UndoLog {
  /// A change, with what is needed to take it back.
  enum Step {
    // Of the first change since the object was read, what is taken back is whatever its row holds
    // by then: it may have been read again.
    case value(ManagedObject, PropertyDescription, StoredValue, isFirst: Bool)
    case target(ManagedObject, PropertyDescription, ManagedObject?, isFirst: Bool)
    case joined(ManagedObject, PropertyDescription, ManagedObject)
    /// A member left, who had a position in an ordered relationship.
    case left(ManagedObject, PropertyDescription, ManagedObject, Position?)
    /// All members left at once.
    case cleared(ManagedObject, PropertyDescription, [ManagedObject])
    /// The order of members changed.
    case order(ManagedObject, PropertyDescription, [ManagedObject])
    /// An ordered relationship was changed for the first time since its row was read.
    case original(ManagedObject, PropertyDescription)
    case insertion(ManagedObject)
    case deletion(ManagedObject)

    /// The object that was changed.
    var object: ManagedObject {
      switch self {
      case .value(let object, _, _, _), .target(let object, _, _, _), .joined(let object, _, _),
        .left(let object, _, _, _), .cleared(let object, _, _), .order(let object, _, _),
        .original(let object, _), .insertion(let object), .deletion(let object):
        object
      }
    }
  }

  /// Where a member was in an ordered relationship.
  struct Position {
    let index: Int
    /// The member before it; `nil` if it was the first.
    let predecessor: ManagedObject?
  }

  /// A property of an object.
  private struct Place: Hashable {
    private let object: ObjectIdentifier
    private let slot: Int

    init(_ object: ManagedObject, _ property: PropertyDescription) {
      self.object = ObjectIdentifier(object)
      slot = property.slot
    }
  }

  private enum Direction {
    case doing, undoing, redoing
  }

  private var undoable: [[Step]] = []
  private var redoable: [[Step]] = []
  private var open: [Step] = []
  /// The attributes whose values the open group has: only the first of each is taken back to.
  private var valued: Set<Place> = []
  private var direction = Direction.doing
  /// Steps that relate objects to one that is not back yet, by that.
  private var waiting: [ObjectIdentifier: [Step]] = [:]
  /// Steps that depend on where the others of the group lead.
  private var postponed: [Step] = []

  var canUndo: Bool { !undoable.isEmpty || !open.isEmpty }
  var canRedo: Bool { !redoable.isEmpty }
  /// Whether steps are being taken back, and not done again.
  var isUndoing: Bool { direction == .undoing }

  func record(_ step: Step) {
    open.append(step)
    // What is done anew is not what was taken back.
    if direction == .doing { redoable = [] }
  }

  /// Records the value that an attribute has before it is set, if that is the first time in the
  /// group.
  func recordValue(
    of object: ManagedObject, _ property: PropertyDescription, isFirst: Bool
  ) {
    guard valued.insert(Place(object, property)).inserted,
      let value = try? object.storedValue(property)
    else { return }
    record(.value(object, property, value, isFirst: isFirst))
  }

  /// Forgets that a member joined or left an object, because others have done the same.
  func forget(_ member: ManagedObject, of object: ManagedObject, _ property: PropertyDescription) {
    func left(of step: Step) -> Step? {
      switch step {
      case .joined(let owner, let its, let one), .left(let owner, let its, let one, _):
        return owner === object && its.slot == property.slot && one === member ? nil : step
      case .cleared(let owner, let its, let members):
        guard owner === object, its.slot == property.slot else { return step }
        return .cleared(owner, its, members.filter { $0 !== member })
      default: return step
      }
    }
    undoable = undoable.map { $0.compactMap(left) }
    redoable = redoable.map { $0.compactMap(left) }
    open = open.compactMap(left)
  }

  /// Forgets everything, because it cannot be taken back any more.
  func forget() {
    (undoable, redoable, open, valued) = ([], [], [], [])
    direction = .doing
  }

  /// Ends a group: what follows is taken back by itself.
  func endGroup() {
    valued = []
    guard !open.isEmpty else { return }
    if direction == .undoing { redoable.append(open) } else { undoable.append(open) }
    open = []
  }

  /// The steps to take back, the last one first; what taking them back records can be redone.
  func beginUndo() -> [Step] {
    endGroup()
    direction = .undoing
    return undoable.popLast()?.reversed() ?? []
  }

  func beginRedo() -> [Step] {
    endGroup()
    direction = .redoing
    return redoable.popLast()?.reversed() ?? []
  }

  /// Has a step of the group that is taken back wait until an object is back.
  func wait(for object: ManagedObject, _ step: Step) {
    waiting[ObjectIdentifier(object), default: []].append(step)
  }

  /// The steps that have waited for an object.
  func stepsWaiting(for object: ManagedObject) -> [Step] {
    waiting.removeValue(forKey: ObjectIdentifier(object)) ?? []
  }

  /// Has a step of the group wait until all others are taken back.
  func postpone(_ step: Step) { postponed.append(step) }

  /// The steps that have waited for all others.
  func postponedSteps() -> [Step] {
    defer { postponed = [] }
    return postponed
  }

  func end() {
    endGroup()
    waiting = [:]
    direction = .doing
  }
}
