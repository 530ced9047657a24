import Heartwood
import HeartwoodTestSupport

/// The operation of a step.
enum CrateOperation: CaseIterable {
  case create, set, relate, shareChange, delete, insertAgain, obtainIDs
  case save, rollback, reset, refresh, refreshAll
  case endUndoGroup, undo, redo, roundTrip
  case mergeHistory, pin, batch, deleteHistory, nameGeneration, compareGeneration, revert
  case changePolicy, watch, reopen, processChanges

  /// The relative frequency of each operation.
  private var weight: Int {
    switch self {
    case .relate: 26
    case .create, .set, .save: 13
    case .delete: 6
    case .endUndoGroup, .undo, .batch: 4
    case .mergeHistory, .roundTrip, .shareChange: 3
    case .refresh, .refreshAll, .redo, .pin: 2
    default: 1
    }
  }

  private static let total = allCases.reduce(0) { $0 + $1.weight }

  static func random(_ random: inout SeededGenerator) -> CrateOperation {
    var choice = random.below(total)
    for operation in allCases {
      if choice < operation.weight { return operation }
      choice -= operation.weight
    }
    return .relate
  }
}

extension CrateRun {
  /// Performs an operation in one of the contexts, and sometimes checks all contexts.
  func take(_ operation: CrateOperation) throws {
    guard let workspace = one(workspaces) else { return }
    switch operation {
    case .create: create(workspace)
    case .set: try set(workspace)
    case .relate: try relate(workspace)
    case .shareChange: try shareChange(workspace)
    case .delete: try delete(workspace)
    case .insertAgain: insertAgain(workspace)
    case .obtainIDs: try obtainIDs(workspace)
    case .save: try save(workspace)
    case .rollback: try rollback(workspace)
    case .reset: try reset(workspace)
    case .refresh: try refresh(workspace)
    case .refreshAll: try refreshAll(workspace)
    case .endUndoGroup:
      record("\(workspace.name): endUndoGroup")
      workspace.context.endUndoGroup()
    case .undo: try undo(workspace)
    case .redo: redo(workspace)
    case .roundTrip: try roundTrip(workspace)
    case .mergeHistory: try mergeHistory(workspace)
    case .pin: try pin(workspace)
    case .batch: try execute(workspace)
    case .deleteHistory: try deleteHistory()
    case .nameGeneration: try nameGeneration()
    case .compareGeneration: try compareGeneration(workspace)
    case .revert: try revert()
    case .changePolicy: changePolicy(workspace)
    case .watch: if workspace.lists == nil { try watch(workspace) }
    case .reopen: if isTrue(onceIn: 3) { try reopen() }
    case .processChanges:
      record("\(workspace.name): processPendingChanges")
      workspace.context.processPendingChanges()
    }
    for workspace in workspaces {
      let error = workspace.context.faultError
      try expect(error == nil, "rows can be read", "\(error as Any)")
    }
    if isTrue(onceIn: 3) {
      for workspace in workspaces { try check(workspace) }
    }
  }

  private func watch(_ workspace: CrateWorkspace) throws {
    record("\(workspace.name): watch")
    try workspace.watch()
  }

  private func changePolicy(_ workspace: CrateWorkspace) {
    guard workspace.isRoot, let policy = one(MergePolicy.Each.allCases) else { return }
    record("\(workspace.name): policy \(policy)")
    workspace.use(policy)
  }
}
