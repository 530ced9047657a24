import Foundation
import Heartwood
import HeartwoodTestSupport

/// Takes random steps in several contexts, and then checks invariants that hold in any state.
///
/// Unlike `CrewRun`, this run has no reference that predicts each state. The run therefore also
/// covers states that the guarantees leave open, such as undo beneath changes of other contexts.
final class CrateRun {
  let seed: UInt64
  /// The generator of the current step.
  var random: SeededGenerator
  private(set) var container: PersistentContainer
  private let scratch: ScratchDirectory?
  private(set) var workspaces: [CrateWorkspace] = []
  /// The names and contents of the named generations.
  var named: [(name: String, lines: [String])] = []
  /// Deleted objects to insert again later.
  var retained: [ManagedObject] = []
  private(set) var trace: [String] = []
  private var lastSerial = 0
  private(set) var stepCount = 0

  /// Creates a run in memory or, for every eighth seed, on disk.
  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    scratch = seed % 8 == 0 ? try ScratchDirectory() : nil
    container = try Self.open(scratch)
    try makeWorkspaces()
  }

  private static func open(_ scratch: ScratchDirectory?) throws -> PersistentContainer {
    guard let scratch else { return try .inMemory(schema: crates) }
    return try PersistentContainer(
      url: URL(filePath: scratch.path(of: "store")), schema: crates)
  }

  /// Takes steps, and checks the store at the end.
  ///
  /// Each step has its own random numbers, so that steps can be left out.
  func run(_ steps: [Int]) throws {
    for step in steps {
      random = SeededGenerator(seed: seed &* 100_003 &+ UInt64(step))
      lastSerial = step * 10
      stepCount += 1
      try take(CrateOperation.random(&random))
    }
    random = SeededGenerator(seed: seed)
    try finish()
  }

  // MARK: Choices

  func below(_ bound: Int) -> Int { random.below(bound) }

  /// Returns `true` with a probability of one in `count`.
  func isTrue(onceIn count: Int) -> Bool { random.below(count) == 0 }

  func one<Element>(_ choices: [Element]) -> Element? {
    choices.isEmpty ? nil : choices[below(choices.count)]
  }

  /// Returns some of the elements, in any order.
  func some<Element>(_ choices: [Element]) -> [Element] {
    Array(choices.shuffled(using: &random).prefix(below(choices.count + 1)))
  }

  /// Returns `nil` or, less often, one of a few unique codes.
  func code() -> String? { isTrue(onceIn: 3) ? "code \(below(4))" : nil }

  /// Returns one of a few texts, two of which are equal strings that consist of different scalars.
  func text() -> String { ["a", "b", "é", "e\u{301}", ""][below(5)] }

  func nextSerial() -> Int {
    lastSerial += 1
    return lastSerial
  }

  func record(_ text: String) { trace.append(text) }

  // MARK: Contexts

  private func makeWorkspaces() throws {
    workspaces = []
    for number in 0..<3 {
      let workspace = CrateWorkspace(container.newContext(), "context \(number)")
      workspace.use(one(MergePolicy.Each.allCases) ?? .error)
      try configure(workspace)
      workspaces.append(workspace)
    }
    guard isTrue(onceIn: 2) else { return }
    let parent = workspaces[0]
    let child = CrateWorkspace(
      ManagedObjectContext(parent: parent.context), "the child", childOf: parent)
    child.context.tracksUndo = isTrue(onceIn: 2)
    child.context.discardsUndoOnSave = true
    child.context.automaticallyMergesChangesFromParent = isTrue(onceIn: 2)
    if isTrue(onceIn: 2) { try child.watch() }
    workspaces.append(child)
    describe(child)
  }

  private func configure(_ workspace: CrateWorkspace) throws {
    let context = workspace.context
    context.tracksUndo = !isTrue(onceIn: 3)
    context.discardsUndoOnSave = true
    if isTrue(onceIn: 4) {
      context.automaticallyMergesChangesFromParent = true
    } else if isTrue(onceIn: 3) {
      try context.setQueryGenerationFrom(.current)
      if isTrue(onceIn: 3) { context.generationAfterSave = .unpin }
    }
    workspace.notePin()
    context.retainsRegisteredObjects = isTrue(onceIn: 4)
    context.tracksObservation = isTrue(onceIn: 4)
    workspace.token = try container.currentHistoryToken
    if isTrue(onceIn: 2) { try workspace.watch() }
    describe(workspace)
  }

  private func describe(_ workspace: CrateWorkspace) {
    let context = workspace.context
    record(
      "\(workspace.name): \(workspace.policy?.rawValue ?? "in context 0"), "
        + "undo \(context.tracksUndo), "
        + "merging \(context.automaticallyMergesChangesFromParent), pinned \(workspace.isPinned), "
        + "after save \(context.generationAfterSave), "
        + "retaining \(context.retainsRegisteredObjects), "
        + "observing \(context.tracksObservation), lists \(workspace.lists != nil)")
  }

  /// Closes a store on disk, and opens it again with new contexts.
  func reopen() throws {
    guard scratch != nil else { return }
    record("reopen")
    let before = try stored()
    (workspaces, retained) = ([], [])
    container = try Self.open(scratch)
    let after = try stored()
    try expect(
      after == before, "reopening changes nothing", CrateText.difference(before, after))
    try makeWorkspaces()
  }

  // MARK: Checks

  /// Returns the content of the store, as read in a new context.
  func stored(withDerived: Bool = true) throws -> [String] {
    let context = container.newContext()
    return try withExtendedLifetime(context) {
      try CrateText.lines(context, withDerived: withDerived)
    }
  }

  /// Checks the store in a new context.
  func checkStore() throws {
    let context = container.newContext()
    try withExtendedLifetime(context) {
      var checks = CrateChecks(context, container)
      checks.showsStore = true
      try checks.check()
    }
  }

  func checkObjects(_ workspace: CrateWorkspace) throws {
    var checks = CrateChecks(
      workspace.context, container, childOf: workspace.parent?.context)
    checks.isStale = workspace.isStale
    try checks.check()
  }

  /// Checks everything in a context.
  func check(_ workspace: CrateWorkspace) throws {
    let context = workspace.context
    try workspace.lists?.check()
    if !context.hasChanges { workspace.isStale = false }
    try checkObjects(workspace)
    let lines = try CrateText.lines(context, withDerived: false)
    if workspace.isPinned, !workspace.mayHaveChanged {
      try expect(
        lines == workspace.lines, "pinned contexts do not change",
        "\(workspace.name)\(CrateText.difference(workspace.lines, lines))")
    }
    workspace.lines = lines
    workspace.mayHaveChanged = false
    if !context.hasChanges { try expectStored(workspace) }
    try workspace.lists?.check()
  }

  /// Expects a context without changes to equal a new context.
  func expectStored(_ workspace: CrateWorkspace, withDerived: Bool = true) throws {
    guard workspace.isRoot, !workspace.isPinned else { return }
    let expected = try stored(withDerived: withDerived)
    let lines = try CrateText.lines(workspace.context, withDerived: withDerived)
    try expect(
      lines == expected, "contexts without changes equal the store",
      "\(workspace.name)\(CrateText.difference(expected, lines))")
  }

  /// Records that the store has changed.
  ///
  /// - Parameter author: The context whose own changes have changed the store, if any.
  func noteCommit(by author: CrateWorkspace?) {
    for workspace in workspaces where workspace !== author { workspace.noteCommit() }
  }

  private func finish() throws {
    for workspace in workspaces.reversed() {
      record("end of \(workspace.name)")
      try save(workspace)
      if workspace.context.hasChanges { try rollback(workspace) }
      try check(workspace)
    }
    try checkStore()
    let findings = try container.store.verify().findings
    try expect(findings.isEmpty, "verify finds nothing", "\(findings)")
    LiveObjects.track(container, workspaces.map(\.context))
    try reopen()
  }
}
