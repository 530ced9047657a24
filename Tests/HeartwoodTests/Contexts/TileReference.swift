import Heartwood
import HeartwoodTestSupport

/// Models all generations of a store of tiles, and the changes in contexts, as plain collections.
struct TileReference {
  struct Stored: Equatable {
    var row: TileRow
    /// The generation that wrote the row.
    var version: Int
  }

  struct Generation {
    var tiles: [String: Stored]
    /// The last generation that may have written each box, by the name of the box.
    var boxes: [String: Int]
    let token: QueryGenerationToken
  }

  enum Pin: Equatable { case none, atNextRead, at(Int) }

  /// A tile that was changed in a context.
  struct Copy {
    /// The version that was read, or `nil` for a new tile.
    var version: Int?
    var row: TileRow
    /// For each changed field, the row before its first change.
    var originals: [TileRow.Field: TileRow] = [:]
    var isDeleted = false
    /// A Boolean value that indicates whether the tile is new, deleted, or different in any
    /// attribute from the row that was read.
    var hasEdits: Bool {
      version == nil || isDeleted || originals.contains { row.differs(from: $1, in: $0) }
    }
  }

  struct Context {
    var pin = Pin.none
    var copies: [String: Copy] = [:]
    /// The boxes whose tiles the context has changed, each with the generation that the context
    /// read.
    var boxes: [String: Int] = [:]
    /// The last generation that was merged from the history.
    var merged = 0
  }

  var generations: [Generation]
  var contexts: [Context]

  var last: Int { generations.count - 1 }

  // MARK: Reading

  /// Returns the generation that a context reads, and pins it if the pin awaits the first read.
  mutating func view(of context: Int) -> Int {
    switch contexts[context].pin {
    case .none: return last
    case .atNextRead:
      contexts[context].pin = .at(last)
      return last
    case .at(let generation): return generation
    }
  }

  /// Returns the rows that a fetch in the context finds.
  ///
  /// A tile whose values equal those that were read is treated as unchanged (C-05).
  mutating func rows(_ context: Int) -> [String: TileRow] {
    contexts[context].copies = contexts[context].copies.filter(\.value.hasEdits)
    var rows = generations[view(of: context)].tiles.mapValues(\.row)
    for (name, copy) in contexts[context].copies { rows[name] = copy.isDeleted ? nil : copy.row }
    return rows
  }

  // MARK: Changing

  mutating func edit(_ context: Int, _ edit: TileEdit) {
    let view = view(of: context)
    func touch(_ box: String?) {
      guard let box else { return }
      contexts[context].boxes[box] = contexts[context].boxes[box] ?? view
    }
    func change(_ name: String, _ field: TileRow.Field, _ body: (inout TileRow) -> Void) {
      guard var copy = copy(name, context, view) else { return }
      if copy.version != nil, copy.originals[field] == nil { copy.originals[field] = copy.row }
      body(&copy.row)
      contexts[context].copies[name] = copy
    }
    switch edit {
    case .insert(let name, let row):
      contexts[context].copies[name] = Copy(version: nil, row: row)
      touch(row.box)
    case .weight(let name, let weight): change(name, .weight) { $0.weight = weight }
    case .colour(let name, let colour): change(name, .colour) { $0.colour = colour }
    case .move(let name, let box):
      change(name, .box) { row in
        touch(row.box)
        touch(box)
        row.box = box
      }
    case .delete(let name):
      guard var copy = copy(name, context, view) else { return }
      touch(copy.row.box)
      copy.isDeleted = true
      contexts[context].copies[name] = copy.version == nil ? nil : copy
    }
  }

  private func copy(_ name: String, _ context: Int, _ view: Int) -> Copy? {
    if let copy = contexts[context].copies[name] { return copy }
    return generations[view].tiles[name].map { Copy(version: $0.version, row: $0.row) }
  }

  mutating func rollback(_ context: Int) {
    contexts[context].copies = [:]
    contexts[context].boxes = [:]
  }

  mutating func reset(_ context: Int) {
    rollback(context)
    advance(context)
  }

  mutating func advance(_ context: Int) {
    if case .at = contexts[context].pin { contexts[context].pin = .atNextRead }
  }

  /// Updates a context to the newest generation.
  ///
  /// Tiles that other contexts have written are reread, and the context's own changes are reapplied
  /// to them.
  mutating func merge(_ context: Int, written: (_ name: String) -> Bool) {
    if contexts[context].pin != .none { contexts[context].pin = .at(last) }
    for (name, copy) in contexts[context].copies where copy.version != nil {
      guard written(name), let stored = generations[last].tiles[name] else { continue }
      var merged = Copy(version: stored.version, row: stored.row)
      merged.isDeleted = copy.isDeleted
      for (field, original) in copy.originals where copy.row.differs(from: original, in: field) {
        merged.originals[field] = stored.row
        merged.row.copy(field, from: copy.row)
      }
      contexts[context].copies[name] = merged
    }
  }

  // MARK: Saving

  /// The outcome of a save.
  struct Save {
    var tiles: [String: Stored]
    /// A Boolean value that indicates whether the save must fail.
    var isRefused = false
    /// A Boolean value that indicates whether the save may fail.
    ///
    /// The commits that wrote the boxes are not known exactly.
    var mayBeRefused = false
  }

  func saving(_ context: Int, _ policy: TilePolicy) -> Save {
    let next = last + 1
    var save = Save(tiles: generations[last].tiles)
    for (name, copy) in contexts[context].copies where copy.hasEdits {
      let stored = generations[last].tiles[name]
      let isConflict = copy.version != nil && stored?.version != copy.version
      if isConflict, !(copy.isDeleted && stored == nil) { save.isRefused = true }
      let row = resolved(copy, stored, isConflict: isConflict, policy)
      switch row {
      case .none: continue
      // None of the edits is stored, so the row stays unchanged.
      case .some(let row) where isConflict && row != nil && row == stored?.row: continue
      case .some(let row): save.tiles[name] = row.map { Stored(row: $0, version: next) }
      }
    }
    let boxes = contexts[context].boxes
    save.isRefused = save.isRefused && policy == .error
    save.mayBeRefused =
      policy == .error
      && (save.isRefused
        || boxes.contains { generations[last].boxes[$0.key, default: 0] > $0.value })
    return save
  }

  /// Returns the row of a tile after a save.
  ///
  /// An inner `nil` means that the row is deleted. An outer `nil` means that the row is unchanged.
  private func resolved(
    _ copy: Copy, _ stored: Stored?, isConflict: Bool, _ policy: TilePolicy
  ) -> TileRow?? {
    let mineWins = policy == .objectTrump || policy == .overwrite
    guard isConflict else { return .some(copy.isDeleted ? nil : copy.row) }
    if copy.isDeleted { return mineWins || stored == nil ? .some(nil) : nil }
    guard let stored else { return mineWins ? .some(copy.row) : nil }
    if policy == .rollback { return nil }
    if policy == .overwrite { return .some(copy.row) }
    var row = stored.row
    for (field, original) in copy.originals
    where mineWins || !stored.row.differs(from: original, in: field) {
      row.copy(field, from: copy.row)
    }
    return .some(row)
  }

  /// Adds a generation.
  mutating func append(_ tiles: [String: Stored], _ token: QueryGenerationToken, boxes: [String]) {
    var written = generations[last].boxes
    let next = last + 1
    for box in boxes { written[box] = next }
    for name in Set(tiles.keys).union(generations[last].tiles.keys) {
      let (before, after) = (generations[last].tiles[name]?.row.box, tiles[name]?.row.box)
      guard before != after else { continue }
      for box in [before, after] { if let box { written[box] = next } }
    }
    generations.append(Generation(tiles: tiles, boxes: written, token: token))
  }

  /// Returns the tiles after executing a batch request on the newest generation.
  func executing(_ batch: TileBatch) -> [String: Stored] {
    var tiles = generations[last].tiles
    let next = last + 1
    switch batch {
    case .insert(let names, let weight):
      for name in names { tiles[name] = Stored(row: TileRow(weight: weight), version: next) }
    case .raise(let least):
      for (name, stored) in tiles where stored.row.weight >= least {
        tiles[name] = Stored(row: stored.row, version: next)
        tiles[name]?.row.weight += 1
      }
    case .delete(let limit): tiles = tiles.filter { $0.value.row.weight >= limit }
    }
    return tiles
  }
}
