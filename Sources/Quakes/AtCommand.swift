import Foundation
import Heartwood

/// `quakes at`: the list as it was after an earlier import.
struct AtCommand: Command {
  static let name = "at"
  static let summary = "list quakes as an earlier import has left them"
  static let help = """
    quakes at: \(summary).

    Usage: quakes at [DATE [options]]
    Example: quakes at 24h --min-magnitude 4.5

      DATE                  shows what the newest import up to then has left: a day,
                            2019-02-16, to its end; a time, 2019-02-16T12:00:00Z; or
                            90m, 24h, 7d, 2w before now; without it, what is kept

    The options are those of quakes list. An import keeps what it has left, until
    there are more than its --keep says.
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

  /// Makes sense of a DATE.
  static func moment(_ text: String) throws -> Moment {
    guard let moment = Moment(text) else {
      throw Complaint.usage("DATE \(text.visible) makes no sense: type \(Moment.wanted).")
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

  /// What is kept, as `--json` shows it.
  private struct ListedState: Encodable {
    let time: Date
    let generation: UInt64
    let quakes: Int
    let madeBy: Past.Maker
  }

  private func show(_ past: Past, _ container: PersistentContainer) throws {
    let generations = try container.store.keptGenerations()
    let all = try past.states.map { state in
      let count = try container.read(at: state.kept.token) {
        try $0.count(for: FetchRequest<Quake>())
      }
      return ListedState(
        time: state.kept.date, generation: generations[state.kept.name]?.frame ?? 0, quakes: count,
        madeBy: state.maker)
    }
    if wantsJSON { return try printJSON(all) }
    guard !all.isEmpty else { return print("Nothing is kept yet. Type: quakes import FILE") }
    var table = Table([
      "time (UTC)": .left, "generation": .right, "quakes": .right, "left by": .left,
    ])
    for state in all {
      let maker = state.madeBy == .other ? "what was before" : state.madeBy.rawValue
      table.append(
        [state.time.exact, Int(state.generation).grouped, state.quakes.grouped, maker])
    }
    print(table.text)
  }
}

extension Past {
  /// The newest state up to a moment, or a complaint that says what there is.
  func state(at moment: Moment, typed text: String) throws -> State {
    if let state = state(at: moment) { return state }
    guard let first = states.first else {
      throw Complaint.refused("Nothing is kept yet. Type: quakes import FILE")
    }
    throw Complaint.refused(
      "Nothing as old as \(text.visible) is kept: the oldest is \(first.time). Type quakes at to "
        + "see all.")
  }
}
