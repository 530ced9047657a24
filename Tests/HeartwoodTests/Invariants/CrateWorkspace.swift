import Heartwood

/// A context of a run.
final class CrateWorkspace {
  let context: ManagedObjectContext
  let name: String
  private(set) weak var parent: CrateWorkspace?
  private(set) var children: [CrateWorkspace] = []
  /// The merge policy, or `nil` for a child context, which has no conflicts.
  private(set) var policy: MergePolicy.Each?
  private(set) var lists: CrateLists?
  /// A Boolean value that indicates whether the context shows a fixed generation.
  private(set) var isPinned = false
  /// A Boolean value that indicates whether a step may have changed the visible content since the
  /// last check.
  var mayHaveChanged = true
  /// A Boolean value that indicates whether other contexts may have changed objects that have edits
  /// in this context.
  private var isStaleItself = false
  /// The newest transaction that the context has merged.
  var token: PersistentHistoryToken?
  /// The content at the last check.
  var lines: [String] = []

  init(_ context: ManagedObjectContext, _ name: String, childOf parent: CrateWorkspace? = nil) {
    self.context = context
    self.name = name
    self.parent = parent
    parent?.children.append(self)
  }

  var isStale: Bool {
    get { isStaleItself || parent?.isStale ?? false }
    set { isStaleItself = newValue }
  }

  var isRoot: Bool { parent == nil }

  func use(_ policy: MergePolicy.Each) {
    self.policy = policy
    context.mergePolicy = policy.policy
  }

  func watch() throws { lists = try CrateLists(context) }

  /// Updates `isPinned` after a step that may pin or unpin the context.
  func notePin() {
    isPinned =
      context.queryGenerationToken != nil && !context.automaticallyMergesChangesFromParent
  }

  /// Records that a step changes the visible content of the context.
  func touch() {
    mayHaveChanged = true
    parent?.mayHaveChanged = true
    for child in children {
      child.mayHaveChanged = true
      child.isStale = true
    }
  }

  /// Records that another context has changed the store.
  func noteCommit() {
    guard !isPinned, parent?.isPinned != true else { return }
    isStale = true
    mayHaveChanged = true
  }
}
