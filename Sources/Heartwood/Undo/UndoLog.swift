/// The record of changes for undo and redo.
///
/// All store contexts of a context share the record.
final class UndoLog {
  /// A change, and the data needed to revert it.
  enum Step {
    // If `isFirst` is `true`, the change is the first one since the object was read or inserted. In
    // that case, undo restores the value last read from the row rather than the value recorded in
    // this step, because the object may have been reread since the change. In a new object, undo
    // also marks the property as not set.
    case value(ManagedObject, PropertyDescription, StoredValue, isFirst: Bool)
    case target(ManagedObject, PropertyDescription, ManagedObject?, isFirst: Bool)
    case joined(ManagedObject, PropertyDescription, ManagedObject)
    /// A member was removed. The position is `nil` if the relationship is unordered.
    case left(ManagedObject, PropertyDescription, ManagedObject, Position?)
    /// All members were removed at once.
    case cleared(ManagedObject, PropertyDescription, [ManagedObject])
    /// The order of members changed.
    case order(ManagedObject, PropertyDescription, [ManagedObject])
    /// An ordered relationship was changed for the first time since its row was read.
    case original(ManagedObject, PropertyDescription)
    case insertion(ManagedObject)
    case deletion(ManagedObject)
    /// A child context pushed changes that are based on an older version of the row. That version
    /// became the base of the object's changes (guarantee N-05).
    case base(ManagedObject, EarlierState?)

    /// The object that was changed.
    var object: ManagedObject {
      switch self {
      case .value(let object, _, _, _), .target(let object, _, _, _), .joined(let object, _, _),
        .left(let object, _, _, _), .cleared(let object, _, _), .order(let object, _, _),
        .original(let object, _), .insertion(let object), .deletion(let object),
        .base(let object, _):
        object
      }
    }
  }

  /// The position of a member in an ordered relationship.
  struct Position {
    let index: Int
    /// The preceding member, or `nil` if the member was first.
    let predecessor: ManagedObject?
  }

  /// A key that identifies a property of an object or, if there is a member, the membership of that
  /// object in the relationship.
  private struct PropertyKey: Hashable {
    private let object: ObjectIdentifier
    private let slot: Int
    private let member: ObjectIdentifier?

    init(
      _ object: ManagedObject, _ property: PropertyDescription, _ member: ManagedObject? = nil
    ) {
      self.object = ObjectIdentifier(object)
      slot = property.slot
      self.member = member.map { ObjectIdentifier($0) }
    }
  }

  private enum Direction {
    case doing, undoing, redoing
  }

  /// A group of changes that are reverted together.
  private struct Group {
    var steps: [Step] = []
    var name: String?
    /// A Boolean value that indicates whether the changes have been saved.
    ///
    /// If the value is `true`, it is also `true` for all earlier groups.
    var isSaved = false

    /// A Boolean value that indicates whether no steps remain to revert, because other contexts
    /// have added or removed the same members.
    var isVoid: Bool {
      steps.allSatisfy { step in
        guard case .original(let object, let property) = step else { return false }
        return object.changes?.members[property.slot] == nil
      }
    }

    /// Replaces each step with the result of `transform`, and removes the step if the result is
    /// `nil`.
    mutating func compact(_ transform: (Step) -> Step?) { steps = steps.compactMap(transform) }
  }

  private var undoable: [Group] = []
  private var redoable: [Group] = []
  private var open = Group()
  /// A closure that is called when the program makes the first change in a group.
  var groupBegan: (() -> Void)?
  /// The maximum number of groups that can be undone, or `nil` for no limit.
  var limit: Int? { didSet { discardBeyondLimit() } }
  /// The attributes whose values the open group has recorded.
  ///
  /// Later values of these attributes are not recorded, because undo restores the first recorded
  /// value.
  private var valued: Set<PropertyKey> = []
  private var direction = Direction.doing
  /// A Boolean value that indicates whether the current undo or redo reverts a saved group.
  private(set) var revertsSavedGroup = false
  /// The steps that are waiting for an object to be restored, keyed by that object.
  private var waiting: [ManagedObject: [Step]] = [:]
  /// The steps that are postponed until all other steps of the group have been reverted.
  private var postponed: [Step] = []
  /// The objects whose deletion is reverted by the current undo or redo.
  private var restored: Set<ManagedObject> = []
  /// The targets that the current undo or redo finally assigns to references, unless the target
  /// comes from the row.
  private var targets: [PropertyKey: ManagedObject] = [:]
  /// The memberships whose remaining steps the current undo or redo must skip.
  private var skipped: Set<PropertyKey> = []
  /// The saved objects deleted by the current undo or redo.
  private var deletedAgain: [ManagedObject] = []

  /// The objects whose earlier deletion must not be reverted, because another context has deleted
  /// them.
  private var ignored: Set<ManagedObject> = []

  /// The index of the last group that can be undone, unless that is the open group.
  private var lastUndoable: Int? { undoable.lastIndex { !$0.isVoid } }
  private var lastRedoable: Int? { redoable.lastIndex { !$0.isVoid } }

  var canUndo: Bool { !open.isVoid || lastUndoable != nil }
  var canRedo: Bool { lastRedoable != nil }
  /// A Boolean value that indicates whether an undo, rather than a redo, is in progress.
  var isUndoing: Bool { direction == .undoing }

  /// The name of the open group or, if that group is void, of the last group that can be undone.
  var undoName: String? {
    get { open.isVoid ? lastUndoable.flatMap { undoable[$0].name } : open.name }
    set {
      if !open.isVoid {
        open.name = newValue
      } else if let lastUndoable {
        undoable[lastUndoable].name = newValue
      }
    }
  }

  var redoName: String? { lastRedoable.flatMap { redoable[$0].name } }

  func record(_ step: Step) {
    open.steps.append(step)
    if case .insertion(let object) = step { ignored.remove(object) }
    guard direction == .doing else { return }
    // Discard the redo groups, because a new change invalidates them.
    redoable = []
    if open.steps.count == 1 { groupBegan?() }
  }

  /// Records the value that an attribute had before the group's first assignment to it.
  func recordValue(
    of object: ManagedObject, _ property: PropertyDescription, isFirst: Bool
  ) {
    guard valued.insert(PropertyKey(object, property)).inserted,
      let value = try? object.storedValue(property)
    else { return }
    record(.value(object, property, value, isFirst: isFirst))
  }

  /// Discards the record of an added or removed member after another context has made the same
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
    compact(left)
  }

  /// Discards the record of an added or removed member, as ``forget(_:of:_:)`` does, and skips the
  /// remaining steps for this member in the current undo or redo.
  func skip(_ member: ManagedObject, of object: ManagedObject, _ property: PropertyDescription) {
    skipped.insert(PropertyKey(object, property, member))
    forget(member, of: object, property)
  }

  func skips(
    _ member: ManagedObject, of object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    !skipped.isEmpty && skipped.contains(PropertyKey(object, property, member))
  }

  /// Discards the record of an object's deletion, after the object has become a new one.
  func forgetDeletion(of object: ManagedObject) {
    compact { step in if case .deletion(object) = step { nil } else { step } }
  }

  /// Discards the steps that record the base of an object's changes, after the object has been
  /// reread.
  func forgetBases(of object: ManagedObject) {
    compact { step in if case .base(object, _) = step { nil } else { step } }
  }

  /// Ends the current group, and marks the changes of all groups as saved.
  func didSave() {
    endGroup()
    Self.keep(&undoable)
    Self.keep(&redoable)
  }

  /// Marks the unsaved groups as saved.
  ///
  /// An undo then restores the values in the steps rather than those last read from the rows.
  private static func keep(_ groups: inout [Group]) {
    for index in groups.indices.reversed() {
      if groups[index].isSaved { return }
      groups[index].isSaved = true
      groups[index].compact { step in
        switch step {
        case .value(let object, let property, let value, _):
          .value(object, property, value, isFirst: false)
        case .target(let object, let property, let target, _):
          .target(object, property, target, isFirst: false)
        // Drop this step, because the order before the change is no longer known. Reverting the
        // steps that follow it is sufficient.
        case .original: nil
        // Drop this step, because a base applies only to unsaved changes.
        case .base: nil
        default: step
        }
      }
    }
  }

  /// Adds a step to the group that last deleted an object, so that undoing the deletion reverts
  /// the step too.
  private func add(_ step: Step, toDeletionOf object: ManagedObject) {
    let index = undoable.lastIndex { group in
      group.steps.contains { if case .deletion(object) = $0 { true } else { false } }
    }
    if let index { undoable[index].steps.append(step) }
  }

  private func compact(_ transform: (Step) -> Step?) {
    for index in undoable.indices { undoable[index].compact(transform) }
    for index in redoable.indices { redoable[index].compact(transform) }
    open.compact(transform)
  }

  /// Discards all recorded changes.
  ///
  /// Call this method when the changes can no longer be reverted.
  func forget() {
    (undoable, redoable, open, valued, ignored) = ([], [], Group(), [], [])
    direction = .doing
  }

  /// Ends the current group, so that later changes are reverted separately.
  func endGroup() {
    valued = []
    guard !open.steps.isEmpty else { return }
    if direction == .undoing { redoable.append(open) } else { undoable.append(open) }
    open = Group()
    discardBeyondLimit()
  }

  private func discardBeyondLimit() {
    if let limit, undoable.count > limit { undoable.removeFirst(undoable.count - limit) }
  }

  /// Starts an undo of the last group.
  ///
  /// Reverting the steps makes further changes, which are recorded for redo.
  ///
  /// - Returns: The steps to revert, in reverse order.
  func beginUndo() -> [Step] {
    endGroup()
    direction = .undoing
    return begin(Self.removeLast(&undoable))
  }

  func beginRedo() -> [Step] {
    endGroup()
    direction = .redoing
    return begin(Self.removeLast(&redoable))
  }

  /// Removes and returns the last group that is not void, and discards the void groups after it.
  private static func removeLast(_ groups: inout [Group]) -> Group? {
    while let group = groups.popLast() {
      if !group.isVoid { return group }
    }
    return nil
  }

  /// Begins to revert a group, and returns its steps in reverse order.
  ///
  /// The open group, which records the reversal of these steps, gets the same name.
  private func begin(_ group: Group?) -> [Step] {
    open.name = group?.name
    revertsSavedGroup = group?.isSaved == true
    for case .deletion(let object) in group?.steps ?? [] { restored.insert(object) }
    var seen: Set<PropertyKey> = []
    for case .target(let object, let property, let target, let isFirst) in group?.steps ?? [] {
      let key = PropertyKey(object, property)
      if seen.insert(key).inserted, !isFirst { targets[key] = target }
    }
    return group?.steps.reversed() ?? []
  }

  /// Returns whether the current undo or redo reverts the deletion of an object.
  func restores(_ object: ManagedObject) -> Bool { restored.contains(object) }

  /// Returns whether the current undo or redo finally sets an object's reference to `target`.
  func sets(
    _ property: PropertyDescription, of object: ManagedObject, to target: ManagedObject
  ) -> Bool {
    !targets.isEmpty && targets[PropertyKey(object, property)] === target
  }

  /// Records that an insertion cannot be reverted, because another context has deleted the object.
  ///
  /// An earlier deletion of the object must then not be reverted either, because that would insert
  /// the object again.
  func ignoreEarlierDeletion(of object: ManagedObject) { ignored.insert(object) }

  /// Returns whether to skip the deletion of an object instead of reverting it.
  ///
  /// After ``ignoreEarlierDeletion(of:)``, the method returns `true` only once for the object.
  func ignoresDeletion(of object: ManagedObject) -> Bool { ignored.remove(object) != nil }

  /// Postpones a step of the current group until an object is restored.
  func wait(for object: ManagedObject, _ step: Step) {
    waiting[object, default: []].append(step)
  }

  /// Removes and returns the steps that are waiting for an object to be restored.
  func stepsWaiting(for object: ManagedObject) -> [Step] {
    waiting.removeValue(forKey: object) ?? []
  }

  /// Postpones a step until all other steps of the group have been reverted.
  func postpone(_ step: Step) { postponed.append(step) }

  /// Removes and returns the postponed steps.
  func postponedSteps() -> [Step] {
    defer { postponed = [] }
    return postponed
  }

  /// Records that the current undo or redo has deleted a saved object.
  func deletesAgain(_ object: ManagedObject) { deletedAgain.append(object) }

  /// Removes and returns the saved objects deleted by the current undo or redo.
  func objectsDeletedAgain() -> [ManagedObject] {
    defer { deletedAgain = [] }
    return deletedAgain
  }

  func end() {
    endGroup()
    open.name = nil
    // Move each remaining step to the group that deleted its object, so that undoing that group
    // also reverts the step.
    if direction == .undoing {
      for (object, steps) in waiting { for step in steps { add(step, toDeletionOf: object) } }
    }
    (waiting, restored, targets, skipped) = ([:], [], [:], [])
    direction = .doing
  }
}
