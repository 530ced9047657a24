import Foundation
import Heartwood

/// The `quakes follow` command, which imports feeds and shows that a pinned view does not change
/// until the imports' transactions are merged into it.
///
/// A program with a user interface can work in the same way: its screen does not change while other
/// processes write, and is updated when the program merges new transactions from the history.
struct FollowCommand: Command {
  static let name = "follow"
  static let summary = "import feeds, and show how a pinned view advances"
  static let help = """
    quakes follow: \(summary).

    Usage: quakes follow FILE...
    Example: quakes follow day.geojson week.geojson

      FILE                  a GeoJSON feed; each feed is imported separately

    Immediately after an import, the view is unchanged. The command then merges the
    new transactions from the history into the view, which then shows the new
    quakes.
    """

  /// The minimum magnitude of the quakes to print.
  private static let magnitude = 4.5
  private static let shownCount = 3

  private let paths: [String]

  init(_ arguments: inout Arguments) throws {
    var paths: [String] = []
    while let path = arguments.operand() { paths.append(path) }
    guard !paths.isEmpty else {
      throw CommandError.usage(
        "Missing argument FILE. Usage: quakes follow FILE... (one or more feeds)")
    }
    self.paths = paths
  }

  func run(in store: QuakeStore) async throws {
    let container = try store.openForWriting()
    try await follow(container)
    try container.store.close()
  }

  @MainActor private func follow(_ container: PersistentContainer) async throws {
    let view = container.viewContext
    try view.setQueryGenerationFrom(.current)
    let background = container.newBackgroundContext()
    // The history position up to which the view is current.
    var position = try container.currentHistoryToken
    print("The view is pinned.")
    try show(view)
    for path in paths {
      let features = try await Feed(contentsOf: path).features
      let progress = ProgressLine()
      try await background.perform { context in
        context.transactionAuthor = "follow"
        try features.insert(into: context, progress)
      }
      progress.clear()
      print("\n\(Feed.name(of: path)) was imported in the background. The view does not change.")
      try show(view)
      showCost(of: container)
      let transactions = try container.fetchHistory(after: position)
      for transaction in transactions {
        try view.mergeChanges(from: transaction)
        position = transaction.token
        print(
          "\nMerged the changes by \(transaction.author ?? "an unknown author"): "
            + Self.words(transaction.changes) + ".")
      }
      if transactions.isEmpty { print("\nThe history has no new transactions.") }
      try show(view)
    }
    try view.setQueryGenerationFrom(nil)
  }

  @MainActor private func show(_ view: ManagedObjectContext) throws {
    let least = Self.magnitude
    let request = FetchRequest<Quake>(
      where: #Predicate { ($0.magnitude ?? 0) >= least },
      sort: [SortDescriptor(\.time, order: .reverse)], limit: Self.shownCount)
    let total = try view.count(for: FetchRequest<Quake>())
    print("  \(total.quakes); the newest of magnitude \(least.short) and above:")
    let found = try view.fetch(request)
    for quake in found {
      let magnitude = quake.magnitude?.short ?? "-"
      print("  \(quake.time.shown)  \(magnitude)  \(quake.place.visible)")
    }
    if found.isEmpty { print("  none") }
  }

  /// Prints the generation of the view, the newest generation, and the disk space retained by the
  /// pin.
  private func showCost(of container: PersistentContainer) {
    let statistics = container.store.statistics
    guard let held = statistics.oldestHeldGeneration else { return }
    let frames = [held.generation, statistics.newestGeneration].map { Int($0.frame).grouped }
    let cost = held.retainedByteCount.grouped
    print(
      "  The view shows generation \(frames[0]); the newest is \(frames[1]). "
        + "The pin retains \(cost) bytes.")
  }

  private static func words(_ changes: [PersistentHistoryChange]) -> String {
    var (inserted, updated, deleted) = (0, 0, 0)
    for change in changes {
      switch change.kind {
      case .insert: inserted += 1
      case .update: updated += 1
      case .delete: deleted += 1
      }
    }
    return "\(inserted.grouped) inserted, \(updated.grouped) updated, \(deleted.grouped) deleted"
  }
}
