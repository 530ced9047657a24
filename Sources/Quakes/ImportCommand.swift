import Foundation
import Heartwood

/// The `quakes import` command, which imports the quakes of a feed into the store.
struct ImportCommand: Command {
  static let name = "import"
  static let summary = "import new and changed quakes from a feed"
  static let help = """
    quakes import: \(summary).

    Usage: quakes import FILE|URL|- [options]
    Example: quakes import all_week.geojson

      FILE                  a GeoJSON feed; - reads standard input
      URL                   a feed on a server, such as
        https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_day.geojson
      --keep N              keep the newest N + 1 states for at, diff and undo
                            (1 to 100, default: 10): enough to undo N imports,
                            or fewer if undos or other changes have added states

    The feeds are at https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php
    """

  /// The author that the history records for the changes made by an import.
  private static let author = "import"

  private let path: String
  private let keptCount: Int

  init(_ arguments: inout Arguments) throws {
    let range = "a number from \(Past.counts.lowerBound) to \(Past.counts.upperBound)"
    keptCount =
      try arguments.value(of: "--keep", range) { text in
        Int(text).flatMap { Past.counts.contains($0) ? $0 : nil }
      } ?? Past.defaultCount
    guard let path = arguments.operand() else {
      throw CommandError.usage(
        "Missing argument FILE. Specify a file, a URL, or - for standard input.")
    }
    self.path = path
  }

  func run(in store: QuakeStore) async throws {
    let progress = ProgressLine()
    progress.show("reading \(Feed.name(of: path))")
    let features = try await Feed(contentsOf: path).features
    let container = try store.openForWriting()
    let start = try container.currentHistoryToken
    // Pin the state before the import, so that it can be kept under a name if the import changes
    // something.
    let before = try container.newContext(pinnedTo: .current)
    _ = try before.count(for: FetchRequest<Quake>())
    try await container.performBackgroundTask(author: Self.author) { context in
      try features.insert(into: context, progress)
    }
    progress.clear()
    let (added, updated) = try counts(in: container, since: start)
    if added + updated > 0 {
      let past = try Past(of: container)
      try past.keepFound(before.queryGenerationToken ?? .current)
      try past.keep(.current, madeBy: .fileImport)
      try Past.release(allBut: keptCount, of: container)
    }
    let total = Set(features.map(\.code)).count
    let unchanged = total - added - updated
    print(
      "\(total.quakes) in \(Feed.name(of: path)): \(added.grouped) added, "
        + "\(updated.grouped) updated, \(unchanged.grouped) unchanged")
    try container.store.close()
  }

  /// Returns the numbers of quakes added and updated by this process, according to the history.
  ///
  /// The history has no entries for quakes left unchanged by the import.
  private func counts(
    in container: PersistentContainer, since start: PersistentHistoryToken?
  ) throws -> (added: Int, updated: Int) {
    var added: Set<ManagedObjectID> = []
    var updated: Set<ManagedObjectID> = []
    for transaction in try container.fetchHistory(after: start)
    where transaction.author == Self.author
      && transaction.processID == ProcessInfo.processInfo.processIdentifier
    {
      for change in transaction.changes {
        if change.kind == .insert {
          added.insert(change.objectID)
        } else {
          updated.insert(change.objectID)
        }
      }
    }
    return (added.count, updated.subtracting(added).count)
  }
}
