import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Random work in several contexts, and lists that must show what a fetch finds after each step.
final class ResultsRun {
  /// A list, and what it is compared with.
  private struct Watched {
    let name: String
    let context: ManagedObjectContext
    let followed: FollowedResults<Song>
    /// The request whose objects the list must have, in their order.
    let request: FetchRequest<Song>
    /// What objects were, by ID, when this was looked at last.
    var values: [ManagedObjectID: [String]] = [:]
  }

  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let other: ManagedObjectContext
  private let child: ManagedObjectContext
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
    context.mergePolicy = .overwrite
    other.mergePolicy = .overwrite
    context.tracksUndo = true
    for name in Self.albumNames { Album(context: other).name = name }
    for _ in 0..<12 { try insert(into: other) }
    try other.save()
    child = fixture.child(of: context)
    try watchAll()
  }

  // MARK: The lists

  private func watch(
    _ name: String, _ request: FetchRequest<Song>, in place: ManagedObjectContext? = nil,
    sectionBy: PartialKeyPath<Song>? = nil, before: [SortDescriptor<Song>] = []
  ) throws {
    var same = request
    same.sortDescriptors = before + request.sortDescriptors
    let place = place ?? context
    watched.append(
      Watched(
        name: name, context: place,
        followed: try FollowedResults(request, place, sectionBy: sectionBy), request: same))
  }

  private func watchAll() throws {
    let ranked = FetchRequest<Song>(
      where: #Predicate { $0.rank > 20 }, sort: [SortDescriptor(\.rank), SortDescriptor(\.title)])
    try watch("ranked", ranked, sectionBy: \Song.genre, before: [SortDescriptor(\Song.genre)])
    try watch("all", FetchRequest())
    let page = FetchRequest<Song>(
      sort: [SortDescriptor(\.genre, order: .reverse), SortDescriptor(\.rank, order: .reverse)],
      limit: 5, offset: 2)
    try watch("page", page, sectionBy: \Song.genre)
    let first = FetchRequest<Song>(sort: [SortDescriptor(\.rank)], limit: 4)
    try watch("first", first)
    let onAlbum = FetchRequest<Song>(
      where: #Predicate { $0.album?.name != "blue" }, sort: [SortDescriptor(\.album?.name)],
      limit: 9)
    try watch("on an album", onAlbum, sectionBy: \Song.album?.name)
    let compared = FetchRequest<Song>(sort: [SortDescriptor(\.title, comparator: .lexical)])
    try watch("compared", compared)
    var saved = ranked
    saved.includesPendingChanges = false
    try watch("saved", saved)
    try watch("below", ranked, in: child)
    var own = FetchRequest<Song>(sort: [SortDescriptor(\.isLoved.description)])
    own.sortDescriptors = []
    own.includesSubentities = false
    try watch("own", own, sectionBy: \Song.isLoved, before: [])
  }
}
