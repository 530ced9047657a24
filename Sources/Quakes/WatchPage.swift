import Foundation
import Heartwood

/// What `quakes watch` shows of a list: on the screen, and in a pipe.
@MainActor struct WatchPage {
  private let controller: FetchedResultsController<Quake>
  private let container: PersistentContainer
  /// What the last change has brought, changed and taken away.
  private var added: Set<ManagedObjectID> = []
  private var changed: Set<ManagedObjectID> = []
  private var goneCount = 0
  /// Who has written last, and when.
  private var writer: String?

  private static let titles = "  time (UTC)           magnitude  depth km  code        place"

  init(_ controller: FetchedResultsController<Quake>, _ container: PersistentContainer) {
    self.controller = controller
    self.container = container
  }

  // MARK: What happens

  /// Somebody has written.
  mutating func note(_ transaction: PersistentHistoryTransaction) {
    let author = transaction.author?.visible ?? "somebody"
    writer = "\(author), \(transaction.timestamp.shown) UTC"
  }

  /// The list has changed.
  mutating func note(_ change: ResultsChange) {
    (added, changed, goneCount) = ([], Set(change.updated), 0)
    for step in change.difference {
      switch step {
      // One that has moved goes and comes.
      case .insert(_, let id, .some): changed.insert(id)
      case .insert(_, let id, nil): added.insert(id)
      case .remove(_, _, nil): goneCount += 1
      case .remove: break
      }
    }
  }

  // MARK: In a pipe

  /// The newest quakes.
  func firstLines(_ limit: Int) throws -> String {
    let count = controller.count
    let rows = (0..<min(limit, count)).map { row(controller.object(at: $0)) }
    return block(try title, rows, more: count - rows.count)
  }

  /// What the last change has done.
  func changeLines(_ limit: Int) throws -> String {
    let places = added.union(changed).compactMap { controller.index(of: $0) }.sorted()
    let rows = places.prefix(limit).map { row(controller.object(at: $0)) }
    return "\n" + block("\(try title)\n\(news)", rows, more: places.count - rows.count)
  }

  private func block(_ head: String, _ rows: [String], more: Int) -> String {
    let rest = more > 0 ? ["  and \(more.grouped) more"] : []
    return ([head] + rows + rest).map { $0 + "\n" }.joined()
  }

  // MARK: On the screen

  /// All lines that there is room for.
  func screenLines() throws -> [String] {
    let (width, height) = (Terminal.width, Terminal.height)
    let key = "q quits"
    let title = try title
    let top = title.padded(to: max(title.count + 2, width - key.count)) + key
    var lines = [top, news, "", Self.titles].map { String($0.prefix(width)) }
    for place in 0..<min(controller.count, max(0, height - lines.count)) {
      let quake = controller.object(at: place)
      let line = String(row(quake).prefix(width))
      lines.append(color(quake)?.applied(to: line) ?? line)
    }
    return Array(lines.prefix(height))
  }

  /// How many there are, and in which generation.
  private var title: String {
    get throws {
      // The one that this process holds: its list is pinned to it.
      let own = try container.store.liveGenerations().last { $0.snapshotCount > 0 }
      let number = own.map { Int($0.generation.frame).grouped } ?? "-"
      return "\(controller.count.grouped) quakes, generation \(number)"
    }
  }

  private var news: String {
    guard let writer else { return "Waiting for an import." }
    return
      "\(added.count.grouped) new, \(changed.count.grouped) changed, \(goneCount.grouped) gone; "
      + "written by \(writer)"
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
