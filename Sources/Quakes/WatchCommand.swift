import Foundation
import Heartwood

/// The `quakes watch` command, which shows a live list that updates after each import.
///
/// The list is fetched in a pinned context, so all its quakes are from one generation, even while
/// other programs write. When ``RemoteChanges`` reports a commit by another program, the command
/// merges the new transactions into the context. The merge advances the context to a newer
/// generation, and the results controller reports how the list has changed.
struct WatchCommand: Command {
  static let name = "watch"
  static let summary = "show a live list that updates after each import"
  static let help = """
    quakes watch: \(summary).

    Usage: quakes watch [options]
    Example: quakes watch --min-magnitude 2.5

      --min-magnitude M     only quakes of this magnitude and above
      --changes N           end after N changes
      --limit N             in a pipe, print at most N quakes of each change
                            (default: 10)
      --json                print a line of JSON with at most N quakes, then, for
                            each change, a line with all quakes that it affects

    On a terminal, the list fills the screen, newest quakes first. + marks quakes
    that the last change added, and ~ marks quakes that it changed. Press q to quit.
    In a pipe, the command prints the newest quakes, and then a few lines for each
    change.
    """

  private static let defaultLimit = 10

  private let minimum: Double?
  private let changeCount: Int?
  private let limit: Int
  private let wantsJSON: Bool

  init(_ arguments: inout Arguments) throws {
    minimum = try arguments.value(of: "--min-magnitude", "a number, such as 4.5") {
      Double($0).flatMap { $0.isFinite ? $0 : nil }
    }
    func count(_ name: String) throws -> Int? {
      try arguments.value(of: name, "a positive number, such as 20") { text in
        Int(text).flatMap { $0 > 0 ? $0 : nil }
      }
    }
    changeCount = try count("--changes")
    limit = try count("--limit") ?? Self.defaultLimit
    wantsJSON = arguments.flag("--json")
  }

  /// An event that the command waits for.
  private enum Event {
    case written
    case changed(ResultsChange)
    case screen(Screen.Event)
    case closed
  }

  func run(in store: QuakeStore) async throws {
    let container = try store.openForReading()
    try await watch(container)
  }

  @MainActor private func watch(_ container: PersistentContainer) async throws {
    let (events, happens) = AsyncStream.makeStream(of: Event.self)
    let written = container.remoteChanges
    // Read the position before fetching the list, so that no transaction is missed. A transaction
    // that is committed in between is merged again, which is harmless.
    var position = try container.currentHistoryToken
    let view = container.viewContext
    try view.setQueryGenerationFrom(.current)
    let controller = FetchedResultsController(fetchRequest: try request, context: view)
    try controller.performFetch()
    let changes = controller.changes
    let tasks = [
      Task {
        for await _ in written { happens.yield(.written) }
        happens.yield(.closed)
      },
      Task { for await change in changes { happens.yield(.changed(change)) } },
    ]
    defer { for task in tasks { task.cancel() } }

    let isOnScreen = isatty(1) == 1 && !wantsJSON
    let screen = isOnScreen ? Screen { happens.yield(.screen($0)) } : nil
    defer { screen?.close() }
    var page = WatchPage(controller, container)
    func show() throws { screen?.show(try page.screenLines()) }
    if isOnScreen {
      try show()
    } else {
      Screen.write(try wantsJSON ? page.firstJSON(limit) : page.firstLines(limit))
    }

    var seen = 0
    for await event in events {
      switch event {
      case .written:
        for transaction in try container.fetchHistory(after: position) {
          try view.mergeChanges(from: transaction)
          position = transaction.token
          page.record(transaction)
        }
      case .changed(let change):
        page.record(change)
        if !isOnScreen {
          Screen.write(try wantsJSON ? page.changeJSON() : page.changeLines(limit))
        }
        seen += 1
      case .screen(.key(let key)) where [3, UInt8(ascii: "q"), UInt8(ascii: "Q")].contains(key):
        return
      case .screen(.ended): return
      case .screen: break
      case .closed:
        throw CommandError.failure("The store can no longer be read. Run 'quakes watch' again.")
      }
      try show()
      if seen == changeCount { return }
    }
  }

  private var request: FetchRequest<Quake> {
    get throws {
      var request = FetchRequest<Quake>(sort: [SortDescriptor(\.time, order: .reverse)])
      if let minimum {
        request.predicate = try QueryPredicate(format: "magnitude >= %@", minimum)
      }
      return request
    }
  }
}
