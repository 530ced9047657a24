import Foundation
import Heartwood

/// The `quakes at` command, which lists the quakes as they were after an earlier import.
struct AtCommand: Command {
  static let name = "at"
  static let summary = "list quakes as they were after an earlier import"
  static let help = """
    quakes at: \(summary).

    Usage: quakes at [DATE [options]]
    Example: quakes at 24h --min-magnitude 4.5

      DATE                  show the state after the last import before this time:
                            a day (until its end), such as 2019-02-16; a time,
                            such as 2019-02-16T12:00:00Z; or a time before now,
                            such as 90m, 24h, 7d, 2w; without DATE, list the states

    The command also accepts the options of quakes list. Each import keeps the state
    that it creates. If there are more states than quakes import --keep allows, the
    import releases the oldest states.
    """

  private let moment: (text: String, Moment)?
  private let list: ListCommand
  private let wantsJSON: Bool

  init(_ arguments: inout Arguments) throws {
    var own = arguments
    wantsJSON = own.flag("--json")
    list = try ListCommand(&arguments)
    guard let text = arguments.operand() else {
      arguments = own
      moment = nil
      return
    }
    moment = (text, try Self.moment(text))
  }

  /// Parses the DATE operand.
  static func moment(_ text: String) throws -> Moment {
    guard let moment = Moment(text) else {
      throw CommandError.usage("DATE \(text.visible) is not valid. Use \(Moment.wanted).")
    }
    return moment
  }

  func run(in store: QuakeStore) throws {
    let container = try store.openForReading()
    let past = try Past(of: container)
    guard let moment else { return try show(past, container) }
    let state = try past.state(at: moment.1, typed: moment.text)
    try list.show(container, at: state.kept.token, named: state.time)
  }

  /// The JSON form of a kept state.
  private struct ListedState: Encodable {
    let time: Date
    let generation: UInt64
    let quakes: Int
    let madeBy: Past.Origin
  }

  private func show(_ past: Past, _ container: PersistentContainer) throws {
    let generations = try container.store.namedGenerations()
    let all = try past.states.map { state in
      let count = try container.read(at: state.kept.token) {
        try $0.count(for: FetchRequest<Quake>())
      }
      return ListedState(
        time: state.kept.date, generation: generations[state.kept.name]?.frame ?? 0, quakes: count,
        madeBy: state.origin)
    }
    if wantsJSON { return try printJSON(all) }
    guard !all.isEmpty else {
      return print("There are no states yet. Run 'quakes import FILE' first.")
    }
    var table = Table([
      "time (UTC)": .left, "generation": .right, "quakes": .right, "created by": .left,
    ])
    for state in all {
      let origin = state.madeBy == .other ? "not an import" : state.madeBy.rawValue
      table.append(
        [state.time.exact, Int(state.generation).grouped, state.quakes.grouped, origin])
    }
    print(table.text)
  }
}

extension Past {
  /// Returns the newest kept state that is not later than `moment`.
  ///
  /// - Parameter text: The moment as typed by the user, for error messages.
  /// - Throws: ``CommandError`` if all kept states are newer, or if there are none.
  func state(at moment: Moment, typed text: String) throws -> State {
    if let state = state(at: moment) { return state }
    guard let first = states.first else {
      throw CommandError.failure("There are no states yet. Run 'quakes import FILE' first.")
    }
    throw CommandError.failure(
      "No state from \(text.visible) or earlier is kept. The oldest state is from \(first.time). "
        + "Run 'quakes at' to list all states.")
  }
}
