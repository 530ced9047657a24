import HeartwoodTestSupport

/// What a step of a random run does.
enum CrewOperation: Int, CaseIterable {
  case insert, set, setSame, setBack, relate, toggle, reorder, delete, insertAgain
  case save, rollback, reset, undo, redo, endUndoGroup
  case refresh, drop, refreshAll, sync, obtainIDs, lookUp, count, fetch, detectConflicts
  case batchInsert, batchUpdate, batchDelete, nested
  case pin, unpin, mergeHistory, mergeChangeSet, merging, deleteHistory
}

/// A step: an operation and what it works on, small numbers that are taken modulo what there is.
struct CrewStep: CustomStringConvertible {
  var operation: CrewOperation
  var place: Int
  var a: Int
  var b: Int
  var c: Int

  var description: String { "\(operation)(\(place), \(a), \(b), \(c))" }

  /// So many random steps.
  static func random(_ count: Int, seed: UInt64) -> [CrewStep] {
    var random = SeededGenerator(seed: seed)
    let weights = RandomGraphScope.weights
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
        operation: operation, place: random.below(60), a: random.below(5040),
        b: random.below(5040), c: random.below(5040))
    }
  }
}

/// What a run has found that is not as the reference has it.
struct CrewMismatch: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
