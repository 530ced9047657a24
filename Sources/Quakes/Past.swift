import Foundation
import Heartwood

/// The states of a store that imports have left, as far as they are kept.
///
/// Each is a generation that is kept by a name, which says what made it and when. What comes before
/// the first import, or after changes that no import has made, is kept too when the next one comes,
/// so that there is something to go back to.
struct Past {
  /// What made a state.
  enum Maker: String, Encodable {
    /// Something else than an import; it was found by one.
    case other = "before"
    case anImport = "import"
    case undo
  }

  struct State {
    let maker: Maker
    let kept: KeptGeneration

    /// The time, in words that `quakes at` takes.
    var time: String { kept.date.exact }
  }

  /// An import that can be undone.
  struct Undoable {
    let imported: State
    /// The state that has what it brought, and nothing else since.
    let last: State
    /// The state to go back to.
    let previous: State
  }

  /// How many imports can be undone, unless `--keep` says otherwise.
  static let usualCount = 10
  /// Each of them keeps the older images of some pages.
  static let counts = 1...100

  private let container: PersistentContainer
  /// The states that are kept, the oldest first.
  let states: [State]

  init(of container: PersistentContainer) throws {
    self.container = container
    let all = try container.keptGenerations.compactMap { kept -> State? in
      let word = kept.name.prefix { $0 != " " }
      return Maker(rawValue: String(word)).map { State(maker: $0, kept: kept) }
    }
    // What was found by one import can be what another has made a moment ago.
    let made = Set(all.filter { $0.maker != .other }.map(\.kept.token))
    states = all.filter { $0.maker != .other || !made.contains($0.kept.token) }
  }

  // MARK: Going back

  /// The newest state that was there at the end of a moment.
  func state(at moment: Moment) -> State? { states.last { $0.kept.date <= moment.end } }

  /// The last import that was not undone; `nil` if what was before it is not kept.
  var undoable: Undoable? {
    // The states that can be gone back to in turn, with the import that each is the result of.
    var way: [(state: State, imported: State)] = []
    for state in states {
      switch state.maker {
      case .other: way = [(state, state)]
      case .anImport: way.append((state, state))
      case .undo:
        // It has what was there before the import that it has undone.
        way = way.dropLast()
        let earlier = way.popLast()
        way.append((state, earlier?.imported ?? state))
      }
    }
    guard way.count > 1, let last = way.popLast(), let previous = way.last else { return nil }
    return Undoable(imported: last.imported, last: last.state, previous: previous.state)
  }

  // MARK: Keeping

  /// Keeps what was there before an import, unless the last state has it.
  func keepFound(_ token: QueryGenerationToken) throws {
    // There can be another generation with the same quakes.
    if let last = states.last?.kept.token,
      try container.changes(from: last, to: token).isEmpty
    {
      return
    }
    try keep(token, madeBy: .other)
  }

  /// Keeps a generation by a name of its own.
  func keep(_ token: QueryGenerationToken, madeBy maker: Maker) throws {
    var time = Date.now
    // Another one may have the name of this millisecond.
    while try container.keptGeneration(Self.name(maker, time)) != nil { time += 0.001 }
    try container.keepGeneration(token, as: Self.name(maker, time))
  }

  private static func name(_ maker: Maker, _ time: Date) -> String {
    "\(maker.rawValue) \(time.exact)"
  }

  /// Lets go of the oldest states, so that the last `count` steps can be gone back.
  static func release(allBut count: Int, of container: PersistentContainer) throws {
    for state in try Past(of: container).states.dropLast(count + 1) {
      try container.releaseGeneration(state.kept.name)
    }
  }
}
