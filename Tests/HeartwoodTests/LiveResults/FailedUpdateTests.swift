import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Live lists after failed updates and suspensions")
struct FailedUpdateTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let ids: [ManagedObjectID]

  init() throws {
    fixture = try GraphFixture(songs)
    ids = try fixture.songs([10, 20, 30])
    context = fixture.context()
  }

  private func song(_ index: Int) throws -> Song {
    try #require(try context.existingObject(Song.self, with: ids[index]))
  }

  private func suspendAndResume(_ container: PersistentContainer) throws {
    try container.suspend()
    try container.resume()
  }

  @Test(.evidence("LR-06"), .evidence("LR-03"), arguments: [nil, QueryGenerationToken.current])
  func `edits made before a suspension stay and are reported`(pin: QueryGenerationToken?) throws {
    try context.setQueryGenerationFrom(pin)
    let live = try FollowedResults(FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context)
    let (moved, edited) = (try song(0), try song(1))
    moved.rank = 40
    edited.title = "mine"
    // The list has not processed the edits yet.
    try suspendAndResume(fixture.container)
    #expect(live.check().ids == [ids[1], ids[2], ids[0]] && context.faultError == nil)
    #expect(live.news().map(\.updated) == [[ids[1]]])
    try context.save()
    let stored = try fixture.context().fetch(live.controller.fetchRequest)
    #expect(stored.map(\.title) == ["mine", "song 30", "song 10"])
  }

  @Test(.evidence("LR-03"), .evidence("D-10"))
  func `after a suspension, a list reports changes to derived attributes`() throws {
    let fixture = try GraphFixture(towns)
    let ids = try fixture.saved { context in
      let (town, house) = (Town(context: context), House(context: context))
      (town.name, house.rooms, house.town) = ("Rome", 1, town)
      return [town, house]
    }.map(\.objectID)
    let live = try FollowedResults(FetchRequest<Town>(), fixture.context())
    #expect(live.controller.first?.rooms == 1)
    try fixture.saved { $0.object(House.self, with: ids[1]).rooms = 5 }
    try suspendAndResume(fixture.container)
    #expect(live.check().news().map(\.updated) == [[ids[0]]])
    #expect(live.controller.first?.rooms == 5)
  }

  @Test(.evidence("LR-09"), arguments: [true, false])
  func `a failed update changes no list, and a reset updates all lists`(
    isSortedFirst: Bool
  ) throws {
    let lost = try fixture.songs([0])[0]
    try fixture.changeSong(lost) { $0.managedObjectContext?.delete($0) }
    context.shouldDeleteInaccessibleFaults = false
    // The first request refetches the list, and the second one updates it row by row.
    var requests = [
      FetchRequest<Song>(sort: [SortDescriptor(\.title, comparator: .lexical)]),
      FetchRequest<Song>(sort: [SortDescriptor(\.rank)]),
    ]
    if !isSortedFirst { requests.reverse() }
    let lists = try requests.map { try FollowedResults($0, context) }
    let (first, last) = (try song(0), try song(2))
    #expect(context.object(Song.self, with: lost).title.isEmpty && context.faultError != nil)
    first.rank = 90
    for list in lists { #expect(list.check().ids == ids) }
    last.title = "a"
    for list in lists { #expect(list.check().ids == ids && list.news().isEmpty) }
    context.reset()
    #expect(context.faultError == nil)
    for list in lists { #expect(list.check().ids == ids && list.news().isEmpty) }
    try fixture.changeSong(ids[0]) { ($0.rank, $0.title) = (90, "z") }
    for list in lists { #expect(list.check().ids == [ids[1], ids[2], ids[0]]) }
  }

  @Test(.evidence("LR-09"))
  func `an update that finds a damaged row changes no list, even after a reset`() throws {
    let all = try ids + fixture.songs((100..<120).map { $0 })
    let live = try FollowedResults(FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context)
    let edited = try all.map { try #require(try context.existingObject(Song.self, with: $0)) }
    for song in edited { song.rank = -song.rank }
    let store = fixture.container.store
    let entity = try StoredObjects(store, at: store.snapshot()).entity(named: "Song")
    let keyspace = try #require(entity?.keyspace)
    let row = try #require(try store.snapshot().keyspace(keyspace)?.get(1))
    try store.write { try $0.keyspace(keyspace).put(1, []) }
    #expect(live.check().ids == all && live.news().isEmpty)
    #expect((context.faultError as? StorageError)?.kind == .corrupt)
    try store.write { try $0.keyspace(keyspace).put(1, row) }
    context.reset()
    #expect(live.check().ids == all && live.news().isEmpty && context.faultError == nil)
    withExtendedLifetime(edited) {}
  }
}
