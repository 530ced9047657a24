/// What was done in a context, so that it can be taken back, and done again; its parts share it.
final class UndoLog {
  /// A change, with what is needed to take it back.
  enum Step {
    case value(ManagedObject, PropertyDescription, StoredValue)
    case target(ManagedObject, PropertyDescription, ManagedObject?)
    case joined(ManagedObject, PropertyDescription, ManagedObject)
    case left(ManagedObject, PropertyDescription, ManagedObject)
    case order(ManagedObject, PropertyDescription, [ManagedObject])
    case insertion(ManagedObject)
    case deletion(ManagedObject)

    /// The object that was changed.
    var object: ManagedObject {
      switch self {
      case .value(let object, _, _), .target(let object, _, _), .joined(let object, _, _),
        .left(let object, _, _), .order(let object, _, _), .insertion(let object),
        .deletion(let object):
        object
      }
    }
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

  func record(_ step: Step) {
    open.append(step)
    // What is done anew is not what was taken back.
    if direction == .doing { redoable = [] }
  }

  /// Forgets everything, because it cannot be taken back any more.
  func forget() {
    (undoable, redoable, open) = ([], [], [])
    direction = .doing
  }

  /// Ends a group: what follows is taken back by itself.
  func endGroup() {
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

  func end() {
    endGroup()
    direction = .doing
  }
}
