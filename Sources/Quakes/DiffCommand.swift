import Foundation
import Heartwood

/// The `quakes diff` command, which shows the changes between two kept states.
struct DiffCommand: Command {
  static let name = "diff"
  static let summary = "show the changes between two imports"
  static let help = """
    quakes diff: \(summary).

    Usage: quakes diff A [B] [options]
    Example: quakes diff 7d 24h

      A, B                  dates, as in quakes at; each selects the state after the
                            last import up to that date (default for B: now)
      --json                print a JSON document

    + marks added quakes, ~ changed quakes, and - removed quakes.
    """

  private let source: (text: String, moment: Moment)
  private let target: (text: String, moment: Moment)?
  private let wantsJSON: Bool

  init(_ arguments: inout Arguments) throws {
    wantsJSON = arguments.flag("--json")
    guard let first = arguments.operand() else {
      throw CommandError.usage(
        "Missing argument A. Usage: quakes diff A [B]. Run 'quakes at' to list the dates.")
    }
    source = (first, try AtCommand.moment(first))
    target = try arguments.operand().map { ($0, try AtCommand.moment($0)) }
  }

  func run(in store: QuakeStore) throws {
    let container = try store.openForReading()
    let past = try Past(of: container)
    let from = try past.state(at: source.moment, typed: source.text)
    let to = try target.map { try past.state(at: $0.moment, typed: $0.text) }
    // Pin each context to its state, so that the state remains readable even if another process
    // releases it.
    let before = try container.newContext(pinnedTo: from.kept.token)
    let after = try container.newContext(pinnedTo: to?.kept.token ?? .current)
    _ = try after.count(for: FetchRequest<Quake>())
    let newest = after.queryGenerationToken ?? .current
    let changes = try container.changes(from: from.kept.token, to: newest)
    let difference = try QuakeDifference(
      from: from.time, to: to?.time ?? "now", changes, before, after)
    if wantsJSON { try printJSON(difference) } else { difference.printLines() }
    withExtendedLifetime((before, after)) {}
  }
}

/// The quakes that differ between two states, newest first.
private struct QuakeDifference: Encodable {
  /// A quake that exists in both states, but with different values.
  struct Change: Encodable {
    let before: ListedQuake
    let after: ListedQuake
  }

  let from: String
  let to: String
  let added: [ListedQuake]
  let changed: [Change]
  let removed: [ListedQuake]

  init(
    from: String, to: String, _ changes: ChangeSet, _ before: ManagedObjectContext,
    _ after: ManagedObjectContext
  ) throws {
    func quakes(
      _ ids: some Sequence<ManagedObjectID>, _ context: ManagedObjectContext
    ) throws -> [ListedQuake] {
      try ids.compactMap {
        try context.existingObject(Quake.self, with: $0).map { ListedQuake($0) }
      }
    }
    self.from = from
    self.to = to
    added = try quakes(changes.inserted, after).sorted { $0.time > $1.time }
    removed = try quakes(changes.deleted, before).sorted { $0.time > $1.time }
    // Omit quakes that were rewritten with the same values. They are listed as updated, but without
    // any changed properties.
    let updated = changes.updated.filter { !$0.value.isEmpty }.keys
    changed = zip(try quakes(updated, before), try quakes(updated, after))
      .map { Change(before: $0, after: $1) }.sorted { $0.after.time > $1.after.time }
  }

  func printLines() {
    var table = Table(["": .left, "time (UTC)": .left, "magnitude": .right, "what": .left])
    var rows = added.map { ("+", $0, "\($0.code.visible), \($0.place.visible)", Color.green) }
    rows += changed.map { ("~", $0.after, $0.words, Color.yellow) }
    rows += removed.map { ("-", $0, "\($0.code.visible), \($0.place.visible)", Color.red) }
    rows.sort { $0.1.time > $1.1.time }
    for (mark, quake, words, color) in rows {
      table.append([mark, quake.time.shown, quake.magnitude?.short ?? "-", words], color: color)
    }
    if !rows.isEmpty { print(table.text + "\n") }
    print(
      "\(added.count.grouped) added, \(changed.count.grouped) changed, "
        + "\(removed.count.grouped) removed, from \(from) to \(to)")
  }
}

extension QuakeDifference.Change {
  /// A description of the values that differ.
  fileprivate var words: String {
    func number(_ value: Double?) -> String { value?.short ?? "-" }
    let values = [
      ("magnitude", number(before.magnitude), number(after.magnitude)),
      ("depth", number(before.depth), number(after.depth)),
      ("place", before.place.visible, after.place.visible),
      ("time", before.time.shown, after.time.shown),
      ("kind", before.kind.visible, after.kind.visible),
    ]
    let changed = values.filter { $0.1 != $0.2 }.map { "\($0.0) \($0.1) → \($0.2)" }
    // Show "report" if only values that are not listed above differ, such as the coordinates.
    return "\(after.code.visible), "
      + (changed.isEmpty ? "report" : changed.joined(separator: ", "))
  }
}
