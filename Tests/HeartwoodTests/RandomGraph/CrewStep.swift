import HeartwoodTestSupport

/// The operation of a step.
enum CrewOperation: Int, CaseIterable {
  case insert, set, setSame, setBack, relate, toggle, reorder, delete, insertAgain
  case save, rollback, reset, undo, redo, endUndoGroup
  case refresh, drop, refreshAll, sync, obtainIDs, lookUp, count, fetch, detectConflicts
  case batchInsert, batchUpdate, batchDelete, nested
  case pin, unpin, mergeHistory, mergeChangeSet, merging, deleteHistory, revert

  /// A Boolean value that indicates whether the operation changes rows outside the context, or what
  /// the context reads.
  var concernsOthers: Bool {
    switch self {
    case .batchInsert, .batchUpdate, .batchDelete, .nested, .pin, .unpin, .mergeHistory,
      .mergeChangeSet, .merging, .deleteHistory, .revert:
      true
    default: false
    }
  }

  /// The relative frequency of each operation.
  static let weights: [(operation: Self, weight: Int)] = [
    (.insert, 14), (.set, 24), (.setSame, 3), (.setBack, 2), (.relate, 20), (.toggle, 16),
    (.reorder, 6), (.delete, 7), (.insertAgain, 2), (.save, 14), (.rollback, 2), (.reset, 1),
    (.undo, 6), (.redo, 5), (.endUndoGroup, 10), (.refresh, 2), (.drop, 1), (.refreshAll, 1),
    (.sync, 3), (.obtainIDs, 1), (.lookUp, 3), (.count, 4), (.fetch, 2), (.detectConflicts, 1),
    (.batchInsert, 2), (.batchUpdate, 2), (.batchDelete, 1), (.nested, 2), (.pin, 4), (.unpin, 1),
    (.mergeHistory, 3), (.mergeChangeSet, 2), (.merging, 1), (.deleteHistory, 1),
    (.revert, 1),
  ]
}

/// A step of a run, consisting of an operation and its operands.
///
/// An operand, modulo the number of available choices, selects one of them.
struct CrewStep: CustomStringConvertible {
  var operation: CrewOperation
  var workspace: Int
  var a: Int
  var b: Int
  var c: Int

  var description: String { "\(operation)(\(workspace), \(a), \(b), \(c))" }

  static func random(_ count: Int, seed: UInt64) -> [CrewStep] {
    var random = SeededGenerator(seed: seed)
    let weights = CrewOperation.weights
    let total = weights.reduce(0) { $0 + $1.weight }
    return (0..<count).map { _ in
      var choice = random.below(total)
      var operation = CrewOperation.set
      for (candidate, weight) in weights {
        choice -= weight
        if choice < 0 {
          operation = candidate
          break
        }
      }
      return CrewStep(
        operation: operation, workspace: random.below(60), a: random.below(5040),
        b: random.below(5040), c: random.below(5040))
    }
  }
}

/// A difference between the store and the reference.
struct CrewMismatch: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
