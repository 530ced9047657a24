import Foundation
import Heartwood
import HeartwoodTestSupport

/// Executes commands in the contexts of one process.
final class TileSite {
  let container: PersistentContainer
  private let contexts: [ManagedObjectContext]
  /// The position up to which each context has merged the history.
  private var merged: [PersistentHistoryToken?]
  /// Contexts whose pins keep generations readable.
  private var anchors: [ManagedObjectContext] = []
  private var burst: [ManagedObjectContext] = []

  init(_ url: URL, contextCount: Int) throws {
    container = try PersistentContainer(url: url, schema: tiles)
    let container = container
    contexts = (0..<contextCount).map { _ in container.newContext() }
    let newest = try container.fetchHistory(after: nil).last?.token
    merged = contexts.map { _ in newest }
  }

  /// Pins the newest generation, and returns its token.
  ///
  /// - Parameter count: The number of such pins to retain, including the new one.
  func anchor(_ count: Int = 6) throws -> QueryGenerationToken {
    let context = try container.newContext(pinnedTo: .current)
    _ = try context.count(for: FetchRequest<Box>())
    guard let token = context.queryGenerationToken else { throw GraphMismatch("no pin") }
    anchors = anchors.suffix(count - 1) + [context]
    return token
  }

  func run(_ command: TileCommand) throws -> TileAnswer {
    var answer = TileAnswer()
    switch command {
    case .pin(let number, let token): try contexts[number].setQueryGenerationFrom(token)
    case .edit(let number, let edit, let inChild): try self.edit(contexts[number], edit, inChild)
    case .editMissing(let number, let id, let weight):
      let tile = contexts[number].object(Tile.self, with: id)
      // The context may have loaded the tile in a newer generation.
      try contexts[number].refresh(tile, mergeChanges: false)
      tile.weight = weight
    case .save(let number, let policy, let unpins):
      let context = contexts[number]
      context.mergePolicy = policy.mergePolicy
      context.generationAfterSave = unpins ? .unpin : .advance
      do { try context.save() } catch let error as ObjectGraphError {
        guard error.kind == .mergeConflict else { throw error }
        answer.failure = error.message
      }
      answer.token = context.queryGenerationToken
    case .rollback(let number): contexts[number].rollback()
    case .reset(let number): contexts[number].reset()
    case .merge(let number):
      for transaction in try container.fetchHistory(after: merged[number]) {
        try contexts[number].mergeChanges(from: transaction)
        merged[number] = transaction.token
        answer.count += 1
      }
    case .mergeSince(let number, let token):
      try contexts[number].mergeChanges(container.changes(from: token, to: .current))
    case .batch(let number, let batch): try execute(batch, contexts[number])
    case .read(let number, let inChild, let ids):
      let context = contexts[number]
      if inChild {
        answer.view = try Self.view(ManagedObjectContext(parent: context), ids, fires: false)
      } else {
        answer.view = try Self.view(context, ids, fires: true)
      }
      answer.token = context.queryGenerationToken
    case .changes(let source, let target):
      let changes = try container.changes(from: source, to: target)
      answer.changes = TileChanges(
        inserted: changes.inserted, deleted: changes.deleted, updated: changes.updated)
    case .burst(let seed, let count): answer.commits = try commits(seed, count)
    case .release: burst = []
    }
    return answer
  }

  // MARK: Changing

  private static func tile(_ name: String, _ context: ManagedObjectContext) throws -> Tile {
    let request = FetchRequest<Tile>(where: #Predicate { $0.name == name })
    guard let tile = try context.fetch(request).first else { throw GraphMismatch("no \(name)") }
    return tile
  }

  private static func box(_ name: String?, _ context: ManagedObjectContext) throws -> Box? {
    guard let name else { return nil }
    let request = FetchRequest<Box>(where: #Predicate { $0.name == name })
    return try context.fetch(request).first
  }

  private func edit(_ own: ManagedObjectContext, _ edit: TileEdit, _ inChild: Bool) throws {
    let context = inChild ? ManagedObjectContext(parent: own) : own
    // Fetch the boxes first, so that the context reads the versions that it is about to change.
    let boxes = try context.fetch(FetchRequest<Box>())
    defer { withExtendedLifetime(boxes) {} }
    switch edit {
    case .insert(let name, let row):
      let tile = Tile(context: context)
      (tile.name, tile.weight, tile.colour) = (name, row.weight, row.colour)
      tile.box = try Self.box(row.box, context)
    case .weight(let name, let weight): try Self.tile(name, context).weight = weight
    case .colour(let name, let colour): try Self.tile(name, context).colour = colour
    case .move(let name, let box):
      try Self.tile(name, context).box = try Self.box(box, context)
    case .delete(let name): context.delete(try Self.tile(name, context))
    }
    if inChild { try context.save() }
  }

  private func execute(_ batch: TileBatch, _ context: ManagedObjectContext) throws {
    switch batch {
    case .insert(let names, let weight):
      var rest = names[...]
      try context.execute(
        BatchInsertRequest<Tile> { row in
          guard let name = rest.popFirst() else { return true }
          row[\.name] = name
          row[\.weight] = weight
          return false
        })
    case .raise(let least):
      try context.execute(
        BatchUpdateRequest<Tile>(where: #Predicate { $0.weight >= least }) { row in
          row[\.weight] += 1
        })
    case .delete(let limit):
      try context.execute(BatchDeleteRequest<Tile>(where: #Predicate { $0.weight < limit }))
    }
  }

  /// Makes random commits, and returns the token and content of each commit.
  private func commits(_ seed: UInt64, _ count: Int) throws -> [TileCommit] {
    var random = SeededGenerator(seed: seed)
    var commits: [TileCommit] = []
    for number in 0..<count {
      let context = try container.newContext(pinnedTo: .current)
      let all = try context.fetch(FetchRequest<Tile>(sort: [SortDescriptor(\.name)]))
      for tile in all where random.isTrue(in256: 40) {
        switch random.below(4) {
        case 0: tile.weight = (tile.weight + 1) % 7
        case 1: tile.colour = tile.colour == nil ? "red" : nil
        case 2:
          let name = boxNames[random.below(3)]
          tile.box = try Self.box(tile.box?.name == name ? nil : name, context)
        default: context.delete(tile)
        }
      }
      let tile = Tile(context: context)
      (tile.name, tile.weight) = ("burst \(seed) \(number)", random.below(7))
      try context.save()
      guard let token = context.queryGenerationToken else { throw GraphMismatch("no pin") }
      commits.append(TileCommit(token: token, view: try Self.view(context, [], fires: false)))
      burst.append(context)
    }
    return commits
  }

  // MARK: Reading

  /// Returns the complete content of a context.
  ///
  /// - Parameter fires: `true` to turn some unchanged objects into faults before reading them.
  static func view(
    _ context: ManagedObjectContext, _ ids: [ManagedObjectID], fires: Bool
  ) throws -> TileView {
    var view = TileView()
    for tile in try context.fetch(FetchRequest<Tile>()) {
      if fires, !tile.hasChanges, tile.weight % 2 == 0 {
        try context.refresh(tile, mergeChanges: false)
      }
      view.tiles[tile.name] = TileRow(
        weight: tile.weight, colour: tile.colour, box: tile.box?.name)
      if !tile.objectID.isTemporary { view.ids[tile.name] = tile.objectID }
    }
    for box in try context.fetch(FetchRequest<Box>()) {
      // Skip deleted tiles. If another context has added a tile to a box in the store, the box
      // contains the tile even if this context or a parent has deleted it.
      view.boxes[box.name] = Set(
        box.tiles.compactMap { tile in
          let name = tile.name
          return tile.isDeleted ? nil : name
        })
      let name = box.name
      let request = FetchRequest<Tile>(where: #Predicate { $0.box?.name == name })
      view.byBox[name] = Set(try context.fetch(request).map(\.name))
    }
    let light = FetchRequest<Tile>(where: #Predicate { $0.weight < 3 })
    view.light = Set(try context.fetch(light).map(\.name))
    view.plainCount = try context.count(
      for: FetchRequest<Tile>(where: #Predicate { $0.colour == nil }))
    for id in ids {
      // `existingObject` returns a registered object without rereading it, so refresh it first.
      let known = context.registeredObject(Tile.self, for: id)
      if let known, !known.hasChanges { try context.refresh(known, mergeChanges: false) }
      if let tile = try context.existingObject(Tile.self, with: id), !tile.isDeleted {
        view.found.insert(tile.name)
      }
    }
    return view
  }
}
