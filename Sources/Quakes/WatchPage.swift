import Foundation
import Heartwood

/// A formatter for the output of `quakes watch`, on the screen and in a pipe.
@MainActor struct WatchPage {
  private let controller: FetchedResultsController<Quake>
  private let container: PersistentContainer
  /// The quakes that were added by the last change.
  private var added: Set<ManagedObjectID> = []
  private var changed: Set<ManagedObjectID> = []
  private var goneCount = 0
  /// The last transaction that was merged into the list's context, or `nil` if there is none.
  private var written: PersistentHistoryTransaction?

  private static let titles = "  time (UTC)           magnitude  depth km  code        place"

  init(_ controller: FetchedResultsController<Quake>, _ container: PersistentContainer) {
    self.controller = controller
    self.container = container
  }

  // MARK: Events

  /// Records a transaction that was merged into the list's context.
  mutating func record(_ transaction: PersistentHistoryTransaction) { written = transaction }

  /// Records a change to the list.
  mutating func record(_ change: ResultsChange) {
    (added, changed, goneCount) = ([], Set(change.updated), 0)
    for step in change.difference {
      switch step {
      // Record a moved quake as changed, although it is reported as a removal and an insertion.
      case .insert(_, let id, .some): changed.insert(id)
      case .insert(_, let id, nil): added.insert(id)
      case .remove(_, _, nil): goneCount += 1
      case .remove: break
      }
    }
  }

  // MARK: Piped output

  /// Returns the text to print at the start: a title and up to `limit` of the newest quakes.
  func firstLines(_ limit: Int) throws -> String {
    let count = controller.count
    let rows = (0..<min(limit, count)).map { row(controller.object(at: $0)) }
    return block(try title, rows, more: count - rows.count)
  }

  /// Returns the text to print after a change to the list: a title, a summary of the change, and up
  /// to `limit` added or changed quakes.
  func changeLines(_ limit: Int) throws -> String {
    let positions = added.union(changed).compactMap { controller.index(of: $0) }.sorted()
    let rows = positions.prefix(limit).map { row(controller.object(at: $0)) }
    return "\n" + block("\(try title)\n\(news)", rows, more: positions.count - rows.count)
  }

  private func block(_ head: String, _ rows: [String], more: Int) -> String {
    let rest = more > 0 ? ["  and \(more.grouped) more"] : []
    return ([head] + rows + rest).map { $0 + "\n" }.joined()
  }

  // MARK: JSON output

  /// The content of one line of JSON.
  ///
  /// The first line contains the newest quakes. Each later line describes one change to the list.
  private struct Report: Encodable {
    let count: Int
    let generation: UInt64?
    var quakes: [ListedQuake]?
    var added: [ListedQuake]?
    var changed: [ListedQuake]?
    var goneCount: Int?
    var author: String?
    var time: Date?
  }

  /// Returns up to `limit` of the newest quakes as one line of JSON.
  func firstJSON(_ limit: Int) throws -> String {
    let count = controller.count
    let quakes = (0..<min(limit, count)).map { ListedQuake(controller.object(at: $0)) }
    return try line(Report(count: count, generation: generation, quakes: quakes))
  }

  /// Returns one line of JSON that describes the last change.
  func changeJSON() throws -> String {
    func quakes(_ ids: Set<ManagedObjectID>) -> [ListedQuake] {
      ids.compactMap { controller.index(of: $0) }.sorted()
        .map { ListedQuake(controller.object(at: $0)) }
    }
    return try line(
      Report(
        count: controller.count, generation: generation, added: quakes(added),
        changed: quakes(changed), goneCount: goneCount, author: written?.author,
        time: written?.timestamp))
  }

  private func line(_ report: Report) throws -> String {
    try json(report, isOneLine: true) + "\n"
  }

  // MARK: Screen output

  /// Returns the lines to show, truncated to the size of the screen.
  func screenLines() throws -> [String] {
    let (width, height) = (Terminal.width, Terminal.height)
    let key = "q quits"
    let title = try title
    let top = title.padded(to: max(title.count + 2, width - key.count)) + key
    var lines = [top, news, "", Self.titles].map { String($0.prefix(width)) }
    for index in 0..<min(controller.count, max(0, height - lines.count)) {
      let quake = controller.object(at: index)
      let line = String(row(quake).prefix(width))
      lines.append(color(quake)?.applied(to: line) ?? line)
    }
    return Array(lines.prefix(height))
  }

  /// The title, with the number of quakes and the generation.
  private var title: String {
    get throws {
      let number = try generation.map { Int($0).grouped } ?? "-"
      return "\(controller.count.quakes), generation \(number)"
    }
  }

  /// The generation that the list shows.
  ///
  /// The value is the newest generation read by a snapshot in this process, or `nil` if the process
  /// has no snapshot.
  private var generation: UInt64? {
    get throws {
      try container.store.liveGenerations().last { $0.snapshotCount > 0 }?.generation.frame
    }
  }

  private var news: String {
    guard let written else { return "Waiting for an import." }
    return
      "\(added.count.grouped) new, \(changed.count.grouped) changed, \(goneCount.grouped) gone; "
      + "written by \(written.author?.visible ?? "others"), \(written.timestamp.shown) UTC"
  }

  private func row(_ quake: Quake) -> String {
    let mark =
      added.contains(quake.objectID) ? "+" : changed.contains(quake.objectID) ? "~" : " "
    let magnitude = (quake.magnitude?.short ?? "-").leftPadded(to: 9)
    let depth = (quake.depth?.short ?? "-").leftPadded(to: 8)
    let code = quake.code.visible.padded(to: 10)
    return "\(mark) \(quake.time.shown)  \(magnitude)  \(depth)  \(code)  \(quake.place.visible)"
  }

  private func color(_ quake: Quake) -> Color? {
    if added.contains(quake.objectID) { return .green }
    return changed.contains(quake.objectID) ? .yellow : ListCommand.color(quake.magnitude)
  }
}
