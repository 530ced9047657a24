import Foundation
import Heartwood
import HeartwoodTestSupport

/// Performs random work in the contexts of two processes, and models every generation.
struct TileRun {
  /// The number of contexts in this process; these contexts have the lowest numbers.
  static let ownCount = 3
  static let otherCount = 2

  let site: TileSite
  private var pipe: TilePipe
  var reference: TileReference
  var random: SeededGenerator
  /// The IDs of all tiles, including deleted ones.
  private(set) var ids: [String: ManagedObjectID] = [:]
  /// The generations that this process keeps readable.
  private var anchored: [Int] = [0]
  /// The history transactions of each generation.
  var histories: [[PersistentHistoryTransaction]] = [[]]
  let firstToken: PersistentHistoryToken?
  private var nameCount = 0
  /// The steps performed so far, for debugging.
  private var trace: [String] = []

  /// Creates a store with three boxes and some tiles.
  static func fill(_ url: URL) throws {
    let container = try PersistentContainer(url: url, schema: tiles)
    let context = container.newContext()
    for name in boxNames { Box(context: context).name = name }
    for number in 0..<8 {
      let tile = Tile(context: context)
      (tile.name, tile.weight) = ("first \(number)", number % 7)
    }
    try context.save()
    try container.store.close()
  }

  init(_ store: URL, _ pipe: TilePipe, seed: UInt64) throws {
    self.pipe = pipe
    site = try TileSite(store, contextCount: Self.ownCount)
    random = SeededGenerator(seed: seed)
    firstToken = try site.container.fetchHistory(after: nil).last?.token
    let token = try site.anchor()
    let view = try site.container.read(at: token) { try TileSite.view($0, [], fires: false) }
    ids = view.ids
    let rows = view.tiles.mapValues { TileReference.Stored(row: $0, version: 0) }
    reference = TileReference(
      generations: [.init(tiles: rows, boxes: [:], token: token)],
      contexts: Array(repeating: .init(), count: Self.ownCount + Self.otherCount))
  }

  /// Performs the given number of random steps, and checks a context after each step.
  mutating func run(steps: Int) throws {
    for step in 0..<steps {
      do {
        try self.step()
        try check(random.below(reference.contexts.count))
      } catch {
        let last = trace.suffix(30).joined(separator: "\n")
        throw GraphMismatch("step \(step): \(error)\nThe steps before:\n\(last)")
      }
    }
    for context in reference.contexts.indices { try check(context) }
    let findings = try site.container.store.verify().findings
    guard findings.isEmpty else { throw GraphMismatch("\(findings)") }
  }

  mutating func begin(_ step: String) { trace.append(step) }

  private mutating func step() throws {
    let context = random.below(reference.contexts.count)
    switch random.below(30) {
    case 0..<10: try edit(context)
    case 10..<15: try save(context)
    case 15: try forget(context)
    case 16..<20: try pin(context)
    case 20, 21: try merge(context)
    case 22: try mergeSince(context)
    case 23, 24: try execute(context)
    case 25: try compareChanges()
    case 26: try editMissing(context)
    case 27: try followHistory()
    case 28 where random.isTrue(in256: 100): try burst()
    default: try readGeneration()
    }
  }

  // MARK: Commands

  mutating func ask(
    _ context: Int, _ command: (Int) -> TileCommand
  ) throws -> TileAnswer {
    if context < Self.ownCount { return try site.run(command(context)) }
    try pipe.send(command(context - Self.ownCount))
    return try answer()
  }

  private mutating func answer() throws -> TileAnswer {
    guard let answer = try pipe.receive(TileAnswer.self) else {
      throw GraphMismatch("the other process has ended")
    }
    return answer
  }

  func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw GraphMismatch(message()) }
  }

  mutating func one<Element>(of elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[random.below(elements.count)]
  }

  // MARK: Steps

  private mutating func edit(_ context: Int) throws {
    let rows = reference.rows(context)
    let inChild = random.isTrue(in256: 50)
    let name = one(of: rows.keys.sorted())
    let edit: TileEdit
    switch (random.below(9), name.flatMap { name in rows[name].map { (name, $0) } }) {
    case (0, _), (_, nil):
      nameCount += 1
      let box = random.isTrue(in256: 128) ? one(of: boxNames) : nil
      let row = TileRow(weight: random.below(7), colour: nil, box: box)
      edit = .insert("new \(nameCount)", row)
    case (1, .some(let (name, _))): edit = .delete(name)
    case (2...4, .some(let (name, row))):
      edit = .weight(name, weight(name, row, isOther: inChild))
    case (5...6, .some(let (name, row))):
      edit = .colour(name, row.colour == nil ? one(of: ["red", "green"]) : nil)
    case (_, .some(let (name, row))):
      let others = ([nil] + boxNames.map { $0 as String? }).filter { $0 != row.box }
      edit = .move(name, to: others[random.below(others.count)])
    }
    begin("context \(context)\(inChild ? ", in a child" : ""): \(edit)")
    _ = try ask(context) { .edit($0, edit, inChild: inChild) }
    reference.edit(context, edit)
  }

  /// Returns a weight that a tile is set to.
  ///
  /// Unless `isOther` is `true`, the weight may equal the one that the context shows, or the one in
  /// the newest generation.
  private mutating func weight(_ name: String, _ row: TileRow, isOther: Bool) -> Int {
    let other = (row.weight + 1 + random.below(5)) % 7
    if isOther { return other }
    let newest = reference.generations[reference.last].tiles[name]?.row.weight
    return [other, other, row.weight, newest ?? other][random.below(4)]
  }

  /// Pins a context to a generation, changes a tile that the generation lacks, and then saves, or
  /// reads the newest generation.
  ///
  /// In the pinned generation, the tile has default values, which are the base of the edit.
  private mutating func editMissing(_ context: Int) throws {
    let newest = reference.generations[reference.last].tiles
    guard let generation = one(of: held) else { return }
    let missing = Set(newest.keys).subtracting(reference.generations[generation].tiles.keys)
    guard let name = one(of: missing.sorted()), let stored = newest[name], let id = ids[name]
    else { return }
    let weight = 1 + random.below(6)
    begin("context \(context): rollback, pin \(generation), set the missing \(name) to \(weight)")
    _ = try ask(context) { .rollback($0) }
    reference.rollback(context)
    let token = reference.generations[generation].token
    _ = try ask(context) { .pin($0, token) }
    _ = try ask(context) { .editMissing($0, id, weight: weight) }
    reference.contexts[context].pin = .at(generation)
    var copy = TileReference.Copy(version: -1, row: stored.row, originals: [.weight: TileRow()])
    copy.row.weight = weight
    reference.contexts[context].copies[name] = copy
    if random.isTrue(in256: 128) {
      try save(context)
      _ = try ask(context) { .rollback($0) }
      return reference.rollback(context)
    }
    begin("context \(context): unpin")
    _ = try ask(context) { .pin($0, nil) }
    reference.contexts[context].pin = .none
    copy.version = stored.version
    copy.originals = [.weight: stored.row]
    reference.contexts[context].copies[name] = copy
    try check(context)
  }

  private mutating func save(_ context: Int) throws {
    let policy = TilePolicy.allCases[random.below(TilePolicy.allCases.count)]
    let unpins = random.isTrue(in256: 80)
    let expected = reference.saving(context, policy)
    let before = reference.contexts[context]
    begin("context \(context): save, \(policy), \(unpins ? "unpins" : "advances")")
    let answer = try ask(context) { .save($0, policy: policy, unpins: unpins) }
    if let failure = answer.failure {
      try require(expected.mayBeRefused, "refused by \(policy): \(failure)")
      return begin("refused")
    }
    try require(!expected.isRefused, "a conflict was not noticed")
    // A save may count an edit that changes nothing as a change.
    let hasChanges = !before.copies.isEmpty || !before.boxes.isEmpty
    try record(expected.tiles, boxes: before.boxes.keys.sorted())
    reference.rollback(context)
    if before.pin != .none {
      reference.contexts[context].pin =
        answer.token == nil ? .none : answer.token == .current ? .atNextRead : .at(reference.last)
    }
    if before.copies.contains(where: \.value.hasEdits), before.pin != .none {
      let token = unpins ? nil : reference.generations[reference.last].token
      try require(answer.token == token, "the context is not pinned to the save's generation")
    } else if !hasChanges, case .at = before.pin {
      let token = unpins ? nil : QueryGenerationToken.current
      try require(answer.token == token, "a save without changes left the context pinned")
    }
  }

  /// Adds the newest generation to the reference, and expects it to contain the given tiles.
  private mutating func record(
    _ tiles: [String: TileReference.Stored], boxes: [String] = []
  ) throws {
    let token = try site.anchor()
    if token == reference.generations[reference.last].token {
      try require(tiles == reference.generations[reference.last].tiles, "nothing was written")
    } else {
      reference.append(tiles, token, boxes: boxes)
      let view = try site.container.read(at: token) { try TileSite.view($0, [], fires: false) }
      ids.merge(view.ids) { $1 }
      let rows = tiles.mapValues(\.row)
      try require(view.tiles == rows, "saved: \(Self.difference(view.tiles, rows))")
      try readHistory(generationCount: 1)
    }
    anchored = anchored.suffix(5) + [reference.last]
  }

  private mutating func forget(_ context: Int) throws {
    if random.isTrue(in256: 128) {
      begin("context \(context): rollback")
      _ = try ask(context) { .rollback($0) }
      reference.rollback(context)
    } else {
      begin("context \(context): reset")
      _ = try ask(context) { .reset($0) }
      reference.reset(context)
    }
  }

  /// The retained generations; a context can be pinned to any of them.
  var held: [Int] {
    let pinned = reference.contexts.compactMap { context -> Int? in
      if case .at(let generation) = context.pin { return generation }
      return nil
    }
    return (anchored + pinned).sorted()
  }

  private mutating func pin(_ context: Int) throws {
    switch random.below(5) {
    case 0: reference.contexts[context].pin = .none
    case 1, 2: reference.contexts[context].pin = .atNextRead
    default:
      guard let generation = one(of: held) else { return }
      reference.contexts[context].pin = .at(generation)
    }
    let pin = reference.contexts[context].pin
    begin("context \(context): pin \(pin)")
    let token = token(of: pin)
    _ = try ask(context) { .pin($0, token) }
  }

  private mutating func merge(_ context: Int) throws {
    begin("context \(context): merge of the history")
    let first = reference.contexts[context].merged
    let answer = try ask(context) { .merge($0) }
    let news = histories[(first + 1)...].reduce(0) { $0 + $1.count }
    try require(answer.count == news, "\(answer.count) transactions merged, not \(news)")
    let generations = reference.generations
    if news > 0 {
      reference.merge(context) { name in
        generations.indices.contains { $0 > first && generations[$0].tiles[name]?.version == $0 }
      }
    }
    reference.contexts[context].merged = reference.last
  }

  private mutating func mergeSince(_ context: Int) throws {
    guard let source = one(of: held) else { return }
    begin("context \(context): merge of the changes since \(source)")
    let before = reference.generations[source]
    _ = try ask(context) { .mergeSince($0, before.token) }
    let after = reference.generations[reference.last]
    reference.merge(context) { name in
      after.tiles[name].map { $0.version != before.tiles[name]?.version } ?? false
    }
  }

  private mutating func execute(_ context: Int) throws {
    let batch: TileBatch
    switch random.below(4) {
    case 0: batch = .delete(below: random.below(2))
    case 1, 2: batch = .raise(from: random.below(7))
    default:
      let names = (0..<random.below(3)).map { "batch \(nameCount) \($0)" }
      nameCount += 1
      batch = .insert(names, weight: random.below(7))
    }
    begin("context \(context): \(batch)")
    let expected = reference.executing(batch)
    _ = try ask(context) { .batch($0, batch) }
    try record(expected)
  }

  /// Lets the other process make several commits, and reads pinned generations meanwhile.
  private mutating func burst() throws {
    let (seed, count) = (UInt64(nameCount), 3 + random.below(4))
    nameCount += 1
    begin("burst of \(count)")
    try pipe.send(TileCommand.burst(seed: seed, count: count))
    for _ in 0..<6 {
      let context = random.below(Self.ownCount)
      if case .at = reference.contexts[context].pin { try check(context) }
    }
    let commits = try answer().commits
    try require(commits.count == count, "\(commits.count) commits, not \(count)")
    for commit in commits {
      let (before, next) = (reference.generations[reference.last].tiles, reference.last + 1)
      var rows: [String: TileReference.Stored] = [:]
      for (name, row) in commit.view.tiles {
        let version = before[name].flatMap { $0.row == row ? $0.version : nil }
        rows[name] = TileReference.Stored(row: row, version: version ?? next)
      }
      reference.append(rows, commit.token, boxes: [])
      ids.merge(commit.view.ids) { $1 }
    }
    try readHistory(generationCount: count)
    let newest = try site.anchor()
    try require(newest == commits.last?.token, "the newest generation is not the last commit")
    anchored = anchored.suffix(5) + [reference.last]
    // Pin a context to one of these generations while the other process still retains it.
    let (context, middle) = (random.below(Self.ownCount), reference.last - random.below(count))
    _ = try site.run(.pin(context, reference.generations[middle].token))
    reference.contexts[context].pin = .at(middle)
    try check(context)
    try pipe.send(TileCommand.release)
    _ = try answer()
  }
}
