import Foundation
import Heartwood

/// The states that `quakes import` and `quakes undo` have kept.
///
/// Each state is a named generation. The generation's name contains the state's origin and the time
/// at which the state was kept. To make undo possible, an import also keeps the state that precedes
/// it, unless that state equals the last kept state.
struct Past {
  /// The kind of change that created a state.
  enum Origin: String, Encodable {
    /// A change other than an import or an undo.
    ///
    /// The next import keeps the resulting state.
    case other = "before"
    case fileImport = "import"
    case undo
  }

  struct State {
    let origin: Origin
    let kept: NamedGeneration

    /// The time of the state, in a form that `quakes at` accepts.
    var time: String { kept.date.exact }
  }

  /// An import that can be undone.
  struct Undoable {
    let imported: State
    /// The newest kept state that equals the result of the import.
    ///
    /// If a later import was undone, this is the state that the undo created.
    let last: State
    /// The state before the import.
    ///
    /// Undoing the import restores this state.
    let previous: State
  }

  /// The default value of the option `--keep`.
  static let defaultCount = 10
  /// The valid values of the option `--keep`.
  ///
  /// The number is limited because each kept state retains old versions of pages on disk.
  static let counts = 1...100

  private let container: PersistentContainer
  /// The kept states, oldest first.
  let states: [State]

  init(of container: PersistentContainer) throws {
    self.container = container
    let all = try container.namedGenerations.compactMap { kept -> State? in
      let word = kept.name.prefix { $0 != " " }
      return Origin(rawValue: String(word)).map { State(origin: $0, kept: kept) }
    }
    // The same state may be kept twice: by the import that created the state, and by the next
    // import, which keeps the state that it finds. List such a state only once.
    let made = Set(all.filter { $0.origin != .other }.map(\.kept.token))
    states = all.filter { $0.origin != .other || !made.contains($0.kept.token) }
  }

  // MARK: Undo

  /// Returns the newest kept state from `moment` or earlier, or `nil` if there is none.
  ///
  /// If `moment` is an entire day or second, the state may be from any time within it.
  func state(at moment: Moment) -> State? { states.last { $0.kept.date <= moment.end } }

  /// The last import that has not been undone.
  ///
  /// The value is `nil` if there is no such import, or if the state before the import is no longer
  /// kept.
  var undoable: Undoable? {
    // Collect the states that repeated undos would restore. Store each state together with the
    // import that created it.
    var path: [(state: State, imported: State)] = []
    for state in states {
      switch state.origin {
      case .other: path = [(state, state)]
      case .fileImport: path.append((state, state))
      case .undo:
        // Remove the undone import, and replace the state before that import with `state`, which is
        // the equal state that the undo created.
        path = path.dropLast()
        let earlier = path.popLast()
        path.append((state, earlier?.imported ?? state))
      }
    }
    guard path.count > 1, let last = path.popLast(), let previous = path.last else { return nil }
    return Undoable(imported: last.imported, last: last.state, previous: previous.state)
  }

  // MARK: Keeping states

  /// Keeps the state before an import, unless it equals the last kept state.
  func keepFound(_ token: QueryGenerationToken) throws {
    // Compare the quakes, because the generations can differ even if the quakes are the same.
    if let last = states.last?.kept.token,
      try container.changes(from: last, to: token).isEmpty
    {
      return
    }
    try keep(token, madeBy: .other)
  }

  /// Keeps a generation under a name that consists of the generation's origin and the current time.
  func keep(_ token: QueryGenerationToken, madeBy origin: Origin) throws {
    var time = Date.now
    // If a name for this millisecond already exists, use the next free millisecond.
    while try container.keptGeneration(Self.name(origin, time)) != nil { time += 0.001 }
    try container.keepGeneration(token, as: Self.name(origin, time))
  }

  private static func name(_ origin: Origin, _ time: Date) -> String {
    "\(origin.rawValue) \(time.exact)"
  }

  /// Releases all kept states except the newest `count + 1` states.
  ///
  /// The remaining states suffice to undo `count` imports if nothing else has changed the store.
  static func release(allBut count: Int, of container: PersistentContainer) throws {
    for state in try Past(of: container).states.dropLast(count + 1) {
      try container.releaseGeneration(state.kept.name)
    }
  }
}
