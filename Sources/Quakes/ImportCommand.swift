import Foundation
import Heartwood

/// `quakes import`: takes the quakes of a feed into the store.
struct ImportCommand: Command {
  static let name = "import"
  static let summary = "take in what is new or changed in a feed"
  static let help = """
    quakes import: \(summary).

    Usage: quakes import FILE|-
    Example: quakes import all_week.geojson

      FILE                  a GeoJSON feed; - reads it from the standard input

    The feeds are at https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php
    """

  /// Who makes the changes, as the history of the store says.
  private static let author = "import"

  private let path: String

  init(_ arguments: inout Arguments) throws {
    guard let path = arguments.operand() else {
      throw Complaint.usage("FILE is missing. Type: quakes import FILE, or - to read a pipe.")
    }
    self.path = path
  }

  func run(in store: QuakeStore) async throws {
    let progress = ProgressLine()
    progress.show("reading \(Feed.name(of: path))")
    let features = try Feed(contentsOf: path).features
    let container = try store.openForWriting()
    let start = try container.fetchHistory(after: nil as PersistentHistoryToken?).last?.token
    try await container.performBackgroundTask(author: Self.author) { context in
      try insert(features, context, progress)
    }
    progress.clear()
    let (added, updated) = try counts(in: container, since: start)
    let total = Set(features.map(\.code)).count
    let unchanged = total - added - updated
    print(
      "\(total.grouped) quakes in \(Feed.name(of: path)): \(added.grouped) added, "
        + "\(updated.grouped) updated, \(unchanged.grouped) unchanged")
    try container.store.close()
  }

  /// Writes all quakes at once: another program sees all of them or none.
  private func insert(
    _ features: [Feed.Feature], _ context: ManagedObjectContext, _ progress: ProgressLine
  ) throws {
    // A quake with the code of another is that one, and takes the place of what was known of it.
    context.mergePolicy = .mergeByPropertyObjectTrump
    var next = 0
    let request = BatchInsertRequest<Quake> { row in
      guard next < features.count else { return true }
      features[next].fill(row)
      next += 1
      if next % 1000 == 0 {
        progress.show("importing \(next.grouped) of \(features.count.grouped)")
      }
      return false
    }
    try context.execute(request)
  }

  /// How many quakes this process has added and updated; what stays as it was is in no history.
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

extension Feed.Feature {
  /// What no other quake is called.
  var code: String { properties.net + properties.code }

  /// Sets the attributes of a new row.
  fileprivate func fill(_ row: BatchRow<Quake>) {
    row[\.code] = code
    row[\.magnitude] = properties.mag
    row[\.place] = properties.place ?? ""
    row[\.time] = Date(timeIntervalSince1970: properties.time / 1000)
    row[\.updated] = Date(timeIntervalSince1970: (properties.updated ?? properties.time) / 1000)
    row[\.longitude] = coordinate(0)
    row[\.latitude] = coordinate(1)
    row[\.depth] = coordinate(2)
    row[\.kind] = properties.type ?? ""
  }

  private func coordinate(_ index: Int) -> Double? {
    guard let geometry, index < geometry.coordinates.count else { return nil }
    return geometry.coordinates[index]
  }
}
