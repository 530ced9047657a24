import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Performs random work in several contexts, and expects each list to equal a fetch after each
/// step.
final class ResultsRun {
  /// A list, and the data to compare it with.
  private struct Watched {
    let name: String
    let context: ManagedObjectContext
    let followed: FollowedResults<Song>
    /// The request that returns the expected objects, in order.
    let request: FetchRequest<Song>
    /// The values of the objects at the last check, by ID.
    var values: [ManagedObjectID: [String]] = [:]
    var wasSuspended = false
  }

  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let other: ManagedObjectContext
  private let child: ManagedObjectContext
  /// A context that reads its list and performs no other work.
  private let idle: ManagedObjectContext
  /// Loaded objects of the idle context that its list does not contain, with their names.
  private var outside: [(album: Album, name: String)] = []
  private var random: SeededGenerator
  private var watched: [Watched] = []
  private var tokens: [QueryGenerationToken] = []
  private var lastTitle = 0
  private var trace: [String] = []
  private(set) var counts: [String: Int] = [:]
  private(set) var changeCount = 0
  private(set) var moveCount = 0

  private static let genres = [nil, "folk", "jazz", "pop"]
  private static let albumNames = ["blue", "green", "red"]

  init(seed: UInt64) throws {
    fixture = try GraphFixture(songs)
    random = SeededGenerator(seed: seed)
    context = fixture.context()
    other = fixture.context()
    child = fixture.child(of: context)
    idle = fixture.context()
    context.mergePolicy = .overwrite
    other.mergePolicy = .overwrite
    context.tracksUndo = true
    for name in Self.albumNames { Album(context: other).name = name }
    for _ in 0..<12 { try insert(into: other) }
    try other.save()
    try watchAll()
    try loadOutside()
  }

  // MARK: The lists

  private func watch(
    _ name: String, _ request: FetchRequest<Song>, in target: ManagedObjectContext? = nil,
    sectionedBy: PartialKeyPath<Song>? = nil, before: [SortDescriptor<Song>] = []
  ) throws {
    var same = request
    same.sortDescriptors = before + request.sortDescriptors
    let target = target ?? context
    watched.append(
      Watched(
        name: name, context: target,
        followed: try FollowedResults(request, target, sectionedBy: sectionedBy), request: same))
  }

  private func watchAll() throws {
    let ranked = FetchRequest<Song>(
      where: #Predicate { $0.rank > 20 }, sort: [SortDescriptor(\.rank), SortDescriptor(\.title)])
    try watch("ranked", ranked, sectionedBy: \Song.genre, before: [SortDescriptor(\Song.genre)])
    try watch("all", FetchRequest())
    let page = FetchRequest<Song>(
      sort: [SortDescriptor(\.genre, order: .reverse), SortDescriptor(\.rank, order: .reverse)],
      limit: 5, offset: 2)
    try watch("page", page, sectionedBy: \Song.genre)
    let first = FetchRequest<Song>(sort: [SortDescriptor(\.rank)], limit: 4)
    try watch("first", first)
    let onAlbum = FetchRequest<Song>(
      where: #Predicate { $0.album?.name != "blue" }, sort: [SortDescriptor(\.album?.name)],
      limit: 9)
    try watch("on an album", onAlbum, sectionedBy: \Song.album?.name)
    let compared = FetchRequest<Song>(sort: [SortDescriptor(\.title, comparator: .lexical)])
    try watch("compared", compared)
    var saved = ranked
    saved.includesPendingChanges = false
    try watch("saved", saved)
    try watch("child", ranked, in: child)
    try watch("idle", ranked, in: idle)
    var own = FetchRequest<Song>()
    own.includesSubentities = false
    try watch("own", own, sectionedBy: \Song.isLoved)
    try watchParts()
  }

  /// Creates so many lists that a change finds the affected lists by the values in their
  /// predicates.
  ///
  /// The predicates cover every form of this lookup.
  private func watchParts() throws {
    for start in stride(from: 0, to: 60, by: 12) {
      let end = start + 12
      let part = #Predicate<Song> { $0.rank >= start && $0.rank < end }
      try watch("from \(start)", FetchRequest(where: part, sort: [SortDescriptor(\.title)]))
    }
    let ranks = [3, 7, 25, 26, 59]
    try watch("some ranks", FetchRequest(where: #Predicate { ranks.contains($0.rank) }))
    try watch("folk", FetchRequest(where: #Predicate { $0.genre == "folk" }))
    try watch("without a genre", FetchRequest(where: #Predicate { $0.genre == nil }))
    let low = #Predicate<Song> { $0.rank < 30 && $0.title <= "song 3" }
    try watch("low", FetchRequest(where: low, sort: [SortDescriptor(\.rank)], limit: 3))
    var saved = FetchRequest<Song>(where: #Predicate { $0.rank >= 10 && $0.rank <= 40 })
    saved.includesPendingChanges = false
    try watch("saved part", saved)
  }

  // MARK: Steps

  /// Performs the given number of steps, and checks the lists between steps.
  func run(steps: Int) throws {
    let all: [(name: String, weight: Int, run: () throws -> Void)] = [
      ("insert", 10, { try self.insert(into: self.context) }),
      ("change", 24, { try self.change(in: self.context) }),
      ("delete", 5, { try self.delete(in: self.context) }),
      ("rename album", 3, { try self.renameAlbum(in: self.context) }),
      ("save", 8, { try self.context.save() }),
      ("rollback", 2, { self.context.rollback() }),
      ("undo", 6, { self.context.undo() }),
      ("redo", 4, { self.context.redo() }),
      ("reset", 1, { self.context.reset() }),
      ("refresh", 2, { self.context.refreshAllObjects() }),
      ("other", 16, workInOther), ("batch", 6, batch), ("merge", 6, merge),
      ("child", 8, changeChild), ("save child", 3, { try self.child.save() }),
      ("pin", 5, { try self.context.setQueryGenerationFrom(.current) }),
      ("go back", 8, goBack), ("unpin", 3, { try self.context.setQueryGenerationFrom(nil) }),
      ("suspend", 3, suspend), ("fail", 2, failUpdate), ("load", 2, loadOutside),
    ]
    for step in 0..<steps {
      var choice = random.below(all.reduce(0) { $0 + $1.weight })
      for candidate in all {
        choice -= candidate.weight
        guard choice < 0 else { continue }
        trace.append("\(step) \(candidate.name)")
        counts[candidate.name, default: 0] += 1
        try candidate.run()
        context.endUndoGroup()
        break
      }
      for index in watched.indices where random.isTrue(in256: 180) { try check(index) }
    }
    for index in watched.indices { try check(index) }
  }

  private func one<M: ManagedObject>(_ type: M.Type, in context: ManagedObjectContext) throws -> M?
  {
    let all = try context.fetch(FetchRequest<M>())
    return all.isEmpty ? nil : all[random.below(all.count)]
  }

  private func insert(into context: ManagedObjectContext) throws {
    lastTitle += 1
    let song = random.isTrue(in256: 60) ? Recording(context: context) : Song(context: context)
    song.title = "song \(lastTitle % 7)"
    song.genre = Self.genres[random.below(4)]
    song.rank = random.below(60)
    song.isLoved = random.isTrue(in256: 90)
    if random.isTrue(in256: 128) { song.album = try one(Album.self, in: context) }
  }

  private func change(in context: ManagedObjectContext) throws {
    guard let song = try one(Song.self, in: context) else { return }
    switch random.below(6) {
    case 0: song.title = "song \(random.below(7))"
    case 1: song.genre = Self.genres[random.below(4)]
    case 2: song.rank = random.below(60)
    case 3: song.isLoved.toggle()
    case 4: song.album = try one(Album.self, in: context)
    // Assigning the same value is not a change.
    default: song.rank += 0
    }
  }

  private func delete(in context: ManagedObjectContext) throws {
    if let song = try one(Song.self, in: context) { context.delete(song) }
  }

  private func renameAlbum(in context: ManagedObjectContext) throws {
    try one(Album.self, in: context)?.name = Self.albumNames[random.below(3)]
  }

  private func workInOther() throws {
    other.refreshAllObjects()
    for _ in 0...random.below(4) {
      switch random.below(8) {
      case 0, 1: try insert(into: other)
      case 2: try delete(in: other)
      case 3: try renameAlbum(in: other)
      default: try change(in: other)
      }
    }
    try other.save()
    if random.isTrue(in256: 100) { try retainGeneration() }
  }

  /// Retains the newest generation, so that a later step can pin the context to it again.
  private func retainGeneration() throws {
    let keeper = fixture.context()
    try keeper.setQueryGenerationFrom(.current)
    _ = try keeper.count(for: FetchRequest<Song>())
    tokens.append(try #require(keeper.queryGenerationToken))
  }

  private func batch() throws {
    let target = random.isTrue(in256: 128) ? context : other
    let limit = random.below(60)
    switch random.below(3) {
    case 0:
      try target.execute(
        BatchUpdateRequest<Song>(where: #Predicate { $0.rank > limit }) { $0[\.rank] += 1 })
    case 1:
      try target.execute(BatchDeleteRequest<Song>(where: #Predicate { $0.rank == limit }))
    default:
      var left = 2
      let rank = random.below(60)
      try target.execute(
        BatchInsertRequest<Song> { row in
          guard left > 0 else { return true }
          left -= 1
          row[\.title] = "song"
          row[\.rank] = rank
          return false
        })
    }
  }

  private func merge() throws {
    for transaction in try fixture.container.fetchHistory(after: nil).suffix(3) {
      try context.mergeChanges(from: transaction)
    }
  }

  private func changeChild() throws {
    switch random.below(5) {
    case 0: try insert(into: child)
    case 1: try delete(in: child)
    default: try change(in: child)
    }
  }

  private func goBack() throws {
    if tokens.isEmpty { try retainGeneration() }
    try context.setQueryGenerationFrom(tokens[random.below(tokens.count)])
  }

  private func suspend() throws {
    tokens = []
    // After the suspension, the list cannot read the values it shows, so it may report unchanged
    // objects.
    for index in watched.indices { watched[index].wasSuspended = true }
    // Usually, the lists have not processed this edit yet.
    if random.isTrue(in256: 128) { try change(in: context) }
    try fixture.container.suspend()
    try fixture.container.resume()
  }

  /// Makes the updates of the lists fail, and then resets the contexts.
  private func failUpdate() throws {
    let lost = Song(context: other)
    try other.save()
    let id = lost.objectID
    other.delete(lost)
    try other.save()
    try change(in: context)
    context.shouldDeleteInaccessibleFaults = false
    _ = context.object(Song.self, with: id).title
    for this in watched { _ = this.followed.controller.count }
    context.shouldDeleteInaccessibleFaults = true
    // The child reads from its parent, so its lists may have failed, too.
    context.reset()
    child.reset()
  }

  /// Loads objects that the list of the idle context does not contain.
  private func loadOutside() throws {
    idle.refreshAllObjects()
    outside = try idle.fetch(FetchRequest<Album>()).map { ($0, $0.name) }
  }

  // MARK: Checks

  private func check(_ index: Int) throws {
    let this = watched[index]
    let label = "\(this.name) after \(trace.suffix(12).joined(separator: ", "))"
    let shown = this.followed.controller.fetchedObjects
    if let changed = outside.first(where: { $0.album.name != $0.name }) {
      throw GraphMismatch("\(label): rereads an album, which was \(changed.name)")
    }
    let found = try reference(this)
    guard shown == found else {
      let differences = found.map(text).difference(from: shown.map(text))
      throw GraphMismatch("\(label): shows \(shown.count), and should: \(differences)")
    }
    guard this.followed.ids == found.map(\.objectID) else {
      throw GraphMismatch("\(label): the reported changes lead elsewhere")
    }
    try checkSections(this, found, label)
    try checkUpdates(index, found, label)
  }

  private func reference(_ this: Watched) throws -> [Song] {
    let found = try this.context.fetch(this.request)
    guard this.followed.controller.sectionKeyPath == \Song.isLoved else { return found }
    return found.filter { !$0.isLoved } + found.filter(\.isLoved)
  }

  private func text(_ song: Song) -> String {
    "\(song.objectID.uriRepresentation.lastPathComponent) \(values(song))"
  }

  private func values(_ song: Song) -> [String] {
    [
      song.title, song.genre ?? "-", "\(song.rank)", "\(song.isLoved)",
      song.album?.objectID.description ?? "-",
    ]
  }

  private func checkSections(_ this: Watched, _ found: [Song], _ label: String) throws {
    let controller = this.followed.controller
    guard let path = controller.sectionKeyPath else { return }
    var expected: [(name: String?, ids: [ManagedObjectID])] = []
    for song in found {
      let value = song[keyPath: path]
      let name =
        (value as? String) ?? (value as? String?).flatMap(\.self) ?? (value as? Bool)?.description
      if expected.isEmpty || expected[expected.count - 1].name != name {
        expected.append((name, []))
      }
      expected[expected.count - 1].ids.append(song.objectID)
    }
    let sections = controller.sections
    guard sections.map(\.name) == expected.map(\.name), this.followed.names == sections.map(\.name),
      sections.map({ $0.objects.map(\.objectID) }) == expected.map(\.ids)
    else {
      throw GraphMismatch("\(label): sections \(sections.map(\.name)) not \(expected)")
    }
  }

  /// Expects the list to have reported every object with changed values, and no other object.
  private func checkUpdates(_ index: Int, _ found: [Song], _ label: String) throws {
    let news = watched[index].followed.news()
    changeCount += news.count
    var reported: Set<ManagedObjectID> = []
    for change in news {
      reported.formUnion(change.updated)
      for case .insert(_, let id, let source) in change.difference {
        reported.insert(id)
        if source != nil { moveCount += 1 }
      }
    }
    let this = watched[index]
    let before = this.values
    let after = Dictionary(uniqueKeysWithValues: found.map { ($0.objectID, values($0)) })
    // If the list excludes unsaved changes, do not compare values, because its objects show these
    // changes anyway.
    guard this.request.includesPendingChanges else { return }
    for (id, values) in after where before[id].map({ $0 != values }) ?? !before.isEmpty {
      guard reported.contains(id) else {
        throw GraphMismatch("\(label): no report that \(before[id] ?? []) is \(values)")
      }
    }
    if news.count == 1, !this.wasSuspended {
      for id in news[0].updated where before[id] == after[id] {
        throw GraphMismatch("\(label): reports \(after[id] ?? []), which did not change")
      }
    }
    watched[index].values = after
    watched[index].wasSuspended = false
  }
}
