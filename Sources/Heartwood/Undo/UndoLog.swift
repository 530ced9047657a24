/// The record of changes for undo and redo, shared by all store contexts of a context.
final class UndoLog {
  /// A change, with the data that is needed to revert it.
  enum Step {
    // If `isFirst` is `true`, the change is the first one since the object was read or inserted.
    // Undo then restores the value last read from the row rather than the value recorded here,
    // because the object may have been read again since the change. In a new object, the property
    // then no longer counts as set.
    case value(ManagedObject, PropertyDescription, StoredValue, isFirst: Bool)
    case target(ManagedObject, PropertyDescription, ManagedObject?, isFirst: Bool)
    case joined(ManagedObject, PropertyDescription, ManagedObject)
    /// A member was removed; the position is `nil` if the relationship is unordered.
    case left(ManagedObject, PropertyDescription, ManagedObject, Position?)
    /// All members were removed at once.
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

  /// The position of a member in an ordered relationship.
  struct Position {
    let index: Int
    /// The preceding member, or `nil` for the first member.
    let predecessor: ManagedObject?
  }

  /// A property of an object.
  private struct PropertyKey: Hashable {
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
  /// The attributes whose values the open group has recorded.
  ///
  /// Later values of these attributes are not recorded, because undo restores the first recorded
  /// one.
  private var valued: Set<PropertyKey> = []
  private var direction = Direction.doing
  /// The steps that wait for an object to be restored, by that object.
  private var waiting: [ObjectIdentifier: [Step]] = [:]
  /// The steps that wait until all other steps of the group have been reverted.
  private var postponed: [Step] = []
  /// The saved objects whose deletion the current group has reapplied.
  private var deletedAgain: [ManagedObject] = []

  var canUndo: Bool { !undoable.isEmpty || !open.isEmpty }
  var canRedo: Bool { !redoable.isEmpty }
  /// Whether an undo, rather than a redo, is in progress.
  var isUndoing: Bool { direction == .undoing }

  func record(_ step: Step) {
    open.append(step)
    // A new change invalidates the recorded redo groups.
    if direction == .doing { redoable = [] }
  }

  /// Records the value of an attribute before it is set, if this is the first assignment in the
  /// group.
  func recordValue(
    of object: ManagedObject, _ property: PropertyDescription, isFirst: Bool
  ) {
    guard valued.insert(PropertyKey(object, property)).inserted,
      let value = try? object.storedValue(property)
    else { return }
    record(.value(object, property, value, isFirst: isFirst))
  }

  /// Discards the record of an added or removed member, because another context has made the same
  /// change.
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

  /// Discards all recorded changes, because they can no longer be reverted.
  func forget() {
    (undoable, redoable, open, valued) = ([], [], [], [])
    direction = .doing
  }

  /// Ends the current group, so that later changes are reverted separately.
  func endGroup() {
    valued = []
    guard !open.isEmpty else { return }
    if direction == .undoing { redoable.append(open) } else { undoable.append(open) }
    open = []
  }

  /// Starts an undo, and returns the steps to revert, starting with the last one.
  ///
  /// Reverting these steps makes further changes, which are recorded so that they can be redone.
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

  /// Postpones a step of the current group until an object is restored.
  func wait(for object: ManagedObject, _ step: Step) {
    waiting[ObjectIdentifier(object), default: []].append(step)
  }

  /// Removes and returns the steps that wait for an object.
  func stepsWaiting(for object: ManagedObject) -> [Step] {
    waiting.removeValue(forKey: ObjectIdentifier(object)) ?? []
  }

  /// Postpones a step until all other steps of the group are reverted.
  func postpone(_ step: Step) { postponed.append(step) }

  /// Removes and returns the postponed steps.
  func postponedSteps() -> [Step] {
    defer { postponed = [] }
    return postponed
  }

  /// Records that the current group has deleted a saved object again.
  func deletesAgain(_ object: ManagedObject) { deletedAgain.append(object) }

  /// Removes and returns the saved objects that the current group has deleted again.
  func objectsDeletedAgain() -> [ManagedObject] {
    defer { deletedAgain = [] }
    return deletedAgain
  }

  func end() {
    endGroup()
    waiting = [:]
    direction = .doing
  }
}
