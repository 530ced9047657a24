/// What was done in a context, so that it can be taken back, and done again.
struct UndoLog {
  /// A change, with what is needed to take it back.
  enum Step {
    case value(ManagedObject, PropertyDescription, StoredValue)
    case target(ManagedObject, PropertyDescription, ManagedObject?)
    case joined(ManagedObject, PropertyDescription, ManagedObject)
    case left(ManagedObject, PropertyDescription, ManagedObject)
    case order(ManagedObject, PropertyDescription, [ManagedObject])
    case insertion(ManagedObject)
    case deletion(ManagedObject)
  }

  private enum Direction {
    case doing, undoing, redoing
  }

  private var undoable: [[Step]] = []
  private var redoable: [[Step]] = []
  private var open: [Step] = []
  private var direction = Direction.doing

  var canUndo: Bool { !undoable.isEmpty || !open.isEmpty }
  var canRedo: Bool { !redoable.isEmpty }

  mutating func record(_ step: Step) {
    open.append(step)
    // What is done anew is not what was taken back.
    if direction == .doing { redoable = [] }
  }

  /// Ends a group: what follows is taken back by itself.
  mutating func endGroup() {
    guard !open.isEmpty else { return }
    if direction == .undoing { redoable.append(open) } else { undoable.append(open) }
    open = []
  }

  /// The steps to take back, the last one first; what taking them back records can be redone.
  mutating func beginUndo() -> [Step] {
    endGroup()
    direction = .undoing
    return undoable.popLast()?.reversed() ?? []
  }

  mutating func beginRedo() -> [Step] {
    endGroup()
    direction = .redoing
    return redoable.popLast()?.reversed() ?? []
  }

  mutating func end() {
    endGroup()
    direction = .doing
  }
}
