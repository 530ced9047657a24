import Foundation
import Heartwood
import HeartwoodTestSupport

extension TileRun {
  /// Compares the complete content of a context, or of a new child of it, with the reference.
  mutating func check(_ context: Int) throws {
    let rows = reference.rows(context)
    let inChild = random.isTrue(in256: 40)
    // A child context may show older values of the parent's objects, so do not look up objects by
    // ID there.
    let some = ids.keys.sorted().filter { _ in !inChild && random.isTrue(in256: 40) }
    let asked = some.compactMap { ids[$0] }
    let answer = try ask(context) { .read($0, inChild: inChild, asked) }
    guard let view = answer.view else { throw GraphMismatch("nothing was read") }
    let own = reference.contexts[context]
    let label = "context \(context)\(inChild ? ", in a child" : "") at \(own.pin)"
    try require(view.tiles == rows, "\(label): \(Self.difference(view.tiles, rows))")
    let light = Set(rows.filter { $0.value.weight < 3 }.keys)
    try require(view.light == light, "\(label), light: \(view.light), not \(light)")
    let plain = rows.count { $0.value.colour == nil }
    try require(view.plainCount == plain, "\(label): \(view.plainCount) plain, not \(plain)")
    let found = Set(some.filter { rows[$0] != nil })
    try require(view.found == found, "\(label), by ID: \(view.found), not \(found)")
    for box in boxNames {
      let inside = Set(rows.filter { $0.value.box == box }.keys)
      let byBox = view.byBox[box] ?? []
      try require(byBox == inside, "\(label), asked for \(box): \(byBox), not \(inside)")
      // If this context moved a tile that another context has also changed, the box may or may not
      // contain the tile.
      guard own.boxes[box] == nil else { continue }
      let members = (view.boxes[box] ?? []).subtracting(own.copies.keys)
      let expected = inside.subtracting(own.copies.keys)
      try require(members == expected, "\(label), in \(box): \(members), not \(expected)")
    }
    try require(answer.token == token(of: own.pin), "\(label): another token")
  }

  /// Returns the query generation token that a context with the given pin must have.
  func token(of pin: TileReference.Pin) -> QueryGenerationToken? {
    switch pin {
    case .none: nil
    case .atNextRead: .current
    case .at(let generation): reference.generations[generation].token
    }
  }

  static func difference(
    _ found: [String: TileRow], _ expected: [String: TileRow]
  ) -> String {
    Set(found.keys).union(expected.keys).sorted()
      .filter { found[$0] != expected[$0] }
      .map { "\($0) is \(found[$0] as Any), not \(expected[$0] as Any)" }.joined(separator: "; ")
  }

  /// Reads a generation in a separate context, and compares it with the reference.
  mutating func readGeneration() throws {
    guard let generation = one(of: held) else { return }
    let expected = reference.generations[generation]
    let view = try site.container.read(at: expected.token) {
      try TileSite.view($0, [], fires: true)
    }
    let rows = expected.tiles.mapValues(\.row)
    try require(view.tiles == rows, "at \(generation): \(Self.difference(view.tiles, rows))")
  }

  // MARK: Differences

  private func ids(_ names: some Sequence<String>) -> Set<ManagedObjectID> {
    Set(names.compactMap { ids[$0] })
  }

  /// Returns the names of the fields in which two rows differ.
  private static func fields(_ before: TileRow, _ after: TileRow) -> Set<String> {
    Set(TileRow.Field.allCases.filter { before.differs(from: after, in: $0) }.map(\.rawValue))
  }

  /// Computes the change set between two generations in either process, and compares it with the
  /// reference.
  mutating func compareChanges() throws {
    guard let source = one(of: held), let target = one(of: held) else { return }
    let (before, after) = (reference.generations[source], reference.generations[target])
    let asker = random.below(reference.contexts.count)
    guard let changes = try ask(asker, { _ in .changes(before.token, after.token) }).changes else {
      throw GraphMismatch("no changes")
    }
    let (old, new) = (Set(before.tiles.keys), Set(after.tiles.keys))
    let label = "changes from \(source) to \(target)"
    try require(changes.inserted == ids(new.subtracting(old)), "\(label): inserted")
    try require(changes.deleted == ids(old.subtracting(new)), "\(label): deleted")
    var updated: [ManagedObjectID: Set<String>] = [:]
    for (name, stored) in after.tiles {
      guard let earlier = before.tiles[name], let id = ids[name],
        earlier.version != stored.version
      else { continue }
      updated[id] = Self.fields(earlier.row, stored.row)
    }
    let tilesOnly = changes.updated.filter { $0.key.entityName == "Tile" }
    try require(tilesOnly == updated, "\(label): updated \(tilesOnly), not \(updated)")
    let boxes = changes.updated.filter { $0.key.entityName == "Box" && !$0.value.isEmpty }
    let others = boxNames.filter { name in
      func members(_ generation: TileReference.Generation) -> Set<String> {
        Set(generation.tiles.filter { $0.value.row.box == name }.keys)
      }
      return members(before) != members(after)
    }
    try require(boxes.count == others.count, "\(label): boxes \(boxes), not \(others)")
  }

  /// Reads the new history transactions, and assigns them to the generations that they created.
  mutating func readHistory(generationCount: Int) throws {
    let token = histories.joined().last?.token ?? firstToken
    let news = try site.container.fetchHistory(after: token)
    if generationCount == 1 {
      histories.append(news)
    } else {
      try require(news.count == generationCount, "\(news.count) transactions of a burst")
      histories += news.map { [$0] }
    }
  }

  /// Applies the history to one generation, and compares the result with a later generation.
  mutating func followHistory() throws {
    let (first, second) = (
      random.below(reference.generations.count), random.below(reference.generations.count)
    )
    let (source, target) = (min(first, second), max(first, second))
    var rows = reference.generations[source].tiles.mapValues(\.row)
    let names = Dictionary(uniqueKeysWithValues: ids.map { ($0.value, $0.key) })
    for generation in source..<target {
      let made = reference.generations[generation + 1].tiles
      for change in histories[generation + 1].flatMap(\.changes) {
        guard let name = names[change.objectID] else { continue }
        switch change.kind {
        case .insert: rows[name] = made[name]?.row
        case .delete: rows[name] = nil
        case .update(let properties):
          guard let row = made[name]?.row else { throw GraphMismatch("\(name) is updated") }
          for field in TileRow.Field.allCases where properties.contains(field.rawValue) {
            rows[name]?.copy(field, from: row)
          }
        }
      }
    }
    let expected = reference.generations[target].tiles.mapValues(\.row)
    try require(
      rows == expected,
      "history from \(source) to \(target): \(Self.difference(rows, expected))")
  }
}
