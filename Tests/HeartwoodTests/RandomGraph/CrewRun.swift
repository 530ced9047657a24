import Foundation
import Heartwood
import HeartwoodTestSupport

/// Takes steps in several contexts, and models them in a reference that uses plain collections.
///
/// Every context retains all its objects, with their values and members, as read from one
/// generation. The expected results are therefore exact. A context does not change until it reads
/// again, whatever other contexts save. A save compares three known states. When a stale context
/// saves or rereads, the run compares the context with the result that the guarantees specify for
/// that moment. `sync` then updates the context completely.
final class CrewRun {
  let setting: CrewSetting
  private(set) var containers: [PersistentContainer] = []
  private(set) var workspaces: [CrewWorkspace] = []
  var store = CrewStore()
  var ids: [Int: ManagedObjectID] = [:]
  var tagsByID: [ManagedObjectID: Int] = [:]
  var tokens: Set<CrewValue> = []
  private var lastTag = 0
  var historyToken: PersistentHistoryToken?
  /// The history transactions of each generation.
  var transactions: [Int: [PersistentHistoryTransaction]] = [:]
  private(set) var trace: [String] = []
  private(set) var counts: [String: Int] = [:]
  /// The number of steps started so far.
  private(set) var stepNumber = 0

  /// Creates a run with a new store or, if there is a store at `url`, with the content of that
  /// store.
  init(_ setting: CrewSetting, at url: URL? = nil) throws {
    self.setting = setting
    let name = "crew \(UUID().uuidString)"
    for _ in 0..<setting.containerCount {
      containers.append(
        try url.map { try PersistentContainer(url: $0, schema: crew) }
          ?? .inMemory(name: name, schema: crew))
    }
    for number in 0..<setting.placeCount {
      let container = number % setting.containerCount
      let workspace = CrewWorkspace(
        number, containers[container].newContext(), setting.policy(number), container: container)
      workspace.context.tracksUndo = setting.tracksUndo(number)
      workspace.context.discardsUndoOnSave = !setting.keepsUndo
      workspaces.append(workspace)
    }
    if url != nil {
      try adopt()
      for workspace in workspaces { try sync(workspace) }
    }
  }

  func newTag() -> Int {
    lastTag += 1
    return lastTag
  }

  func record(_ text: String) { trace.append(text) }
  func count(_ name: String) { counts[name, default: 0] += 1 }

  // MARK: Running

  /// Takes all steps, and compares everything with the reference at the end.
  func run(_ steps: [CrewStep]) throws {
    try perform(steps)
    try finish()
  }

  func perform(_ steps: [CrewStep]) throws {
    for step in steps {
      stepNumber += 1
      count("\(step.operation)")
      try perform(step)
    }
  }

  /// Compares all contexts and the store with the reference, and verifies the store.
  func finish() throws {
    for workspace in workspaces { try expectSame(workspace, "at the end") }
    try expectStored("at the end")
    let findings = try containers[0].store.verify().findings
    guard findings.isEmpty else { throw CrewMismatch("verify finds \(findings)") }
    try expectFreed()
    for (number, container) in containers.enumerated() {
      LiveObjects.track(
        container, workspaces.filter { $0.container == number }.map(\.context))
    }
  }

  private func perform(_ step: CrewStep) throws {
    let workspace = workspaces[step.workspace % workspaces.count]
    if setting.keepsUndo, step.operation.concernsOthers { return }
    trace.append("\(step)")
    switch step.operation {
    case .insert, .set, .setSame, .setBack, .relate, .toggle, .reorder, .delete, .insertAgain:
      try edit(workspace, step)
    case .save: try save(workspace, rollsBack: step.c % 2 == 0)
    case .rollback: try rollback(workspace)
    case .reset: try reset(workspace)
    case .undo, .redo, .endUndoGroup: try undo(workspace, step.operation)
    case .refresh, .drop, .refreshAll, .sync: try refresh(workspace, step)
    case .obtainIDs: try obtainIDs(workspace, step)
    case .lookUp: try lookUp(workspace, step)
    case .count, .fetch: try search(workspace, step)
    case .detectConflicts: detectConflicts(workspace, step)
    case .batchInsert, .batchUpdate, .batchDelete: try execute(workspace, step)
    case .nested: try nest(workspace, step)
    case .pin, .unpin, .merging: try pin(workspace, step)
    case .mergeHistory, .mergeChangeSet: try merge(workspace, step)
    case .deleteHistory: try deleteHistory(step)
    case .revert: try revert(workspace)
    }
    try expectSameSets(workspace)
    if stepNumber % 16 == 0 {
      for workspace in workspaces { try expectSame(workspace, "now and then") }
    }
  }

  // MARK: Choices

  func one(_ tags: [Int], _ choice: Int) -> Int? {
    tags.isEmpty ? nil : tags[choice % tags.count]
  }

  /// Returns the objects to which a relationship may refer.
  func candidates(_ link: CrewLink, _ workspace: CrewWorkspace) -> [Int] {
    workspace.view.live.filter { workspace.view.now[$0].map { link.leads(to: $0.kind) } ?? false }
  }

  // MARK: The end

  /// Resets all contexts, and expects their objects to be deallocated.
  private func expectFreed() throws {
    let objects = workspaces.flatMap { workspace in workspace.handles.values.map { WeakObject($0) }
    }
    for workspace in workspaces {
      workspace.dropAll()
      workspace.context.reset()
    }
    let left = objects.compactMap { $0.object }
    guard left.isEmpty else {
      throw CrewMismatch("\(left.count) objects outlive reset, \(left.prefix(3))")
    }
  }
}
