import Foundation
import Heartwood

/// The kept states of a store after imports.
///
/// Each is a named generation, whose name says what created it and when. The state before the first
/// import, or after changes that no import made, is kept by the next import, so that its undo has a
/// state to return to.
struct Past {
  /// The origin of a state.
  enum Origin: String, Encodable {
    /// Not an import; an import found the state.
    case other = "before"
    case fileImport = "import"
    case undo
  }

  struct State {
    let origin: Origin
    let kept: NamedGeneration

    /// The time, in a form that `quakes at` accepts.
    var time: String { kept.date.exact }
  }

  /// An import that can be undone.
  struct Undoable {
    let imported: State
    /// The state with the changes of the import and no others.
    let last: State
    /// The state to return to.
    let previous: State
  }

  /// The default number of imports that can be undone.
  static let defaultCount = 10
  /// The valid numbers.
  ///
  /// Each kept state retains older images of some pages.
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
    // The state that one import found can be the one that another has just created.
    let made = Set(all.filter { $0.origin != .other }.map(\.kept.token))
    states = all.filter { $0.origin != .other || !made.contains($0.kept.token) }
  }

  // MARK: Undo

  /// Returns the newest state that existed at the end of a moment.
  func state(at moment: Moment) -> State? { states.last { $0.kept.date <= moment.end } }

  /// The last import that was not undone; `nil` if the state before it is not kept.
  var undoable: Undoable? {
    // The states that undo can return to in turn, each with the import that created it.
    var path: [(state: State, imported: State)] = []
    for state in states {
      switch state.origin {
      case .other: path = [(state, state)]
      case .fileImport: path.append((state, state))
      case .undo:
        // The state equals the one before the import that was undone.
        path = path.dropLast()
        let earlier = path.popLast()
        path.append((state, earlier?.imported ?? state))
      }
    }
    guard path.count > 1, let last = path.popLast(), let previous = path.last else { return nil }
    return Undoable(imported: last.imported, last: last.state, previous: previous.state)
  }

  // MARK: Keeping states

  /// Keeps the state before an import, unless it equals the last kept one.
  func keepFound(_ token: QueryGenerationToken) throws {
    // Another generation may have the same quakes.
    if let last = states.last?.kept.token,
      try container.changes(from: last, to: token).isEmpty
    {
      return
    }
    try keep(token, madeBy: .other)
  }

  /// Names a generation.
  func keep(_ token: QueryGenerationToken, madeBy origin: Origin) throws {
    var time = Date.now
    // The name for this millisecond may already exist.
    while try container.keptGeneration(Self.name(origin, time)) != nil { time += 0.001 }
    try container.keepGeneration(token, as: Self.name(origin, time))
  }

  private static func name(_ origin: Origin, _ time: Date) -> String {
    "\(origin.rawValue) \(time.exact)"
  }

  /// Releases the oldest states, except those needed to undo the last `count` imports.
  static func release(allBut count: Int, of container: PersistentContainer) throws {
    for state in try Past(of: container).states.dropLast(count + 1) {
      try container.releaseGeneration(state.kept.name)
    }
  }
}
