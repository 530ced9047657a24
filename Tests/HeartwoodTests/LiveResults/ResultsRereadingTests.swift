import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Objects that live lists reread")
struct ResultsRereadingTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let ids: [ManagedObjectID]
  private let albumID: ManagedObjectID

  /// Requests whose lists are updated in different ways, and contain the songs ranked 20 and 30.
  private let requests: [FetchRequest<Song>] = [
    FetchRequest(where: #Predicate { $0.rank > 15 }, sort: [SortDescriptor(\.rank)]),
    FetchRequest(sort: [SortDescriptor(\.rank, order: .reverse)], limit: 2),
    FetchRequest(
      where: #Predicate { $0.rank > 15 && ($0.album == nil || $0.album?.name == "x") }),
  ]

  init() throws {
    fixture = try GraphFixture(songs)
    ids = try fixture.songs([10, 20, 30])
    albumID = try fixture.saved { Album(context: $0) }.objectID
    context = fixture.context()
  }

  private func changeAll() throws {
    try fixture.saved { other in
      for id in ids { other.object(Song.self, with: id).title = "theirs" }
      other.object(Album.self, with: albumID).name = "theirs"
    }
  }

  @Test(
    .evidence("LR-11"), .evidence("QG-30"), .evidence("C-02"), arguments: 0..<3, [false, true])
  func `an update rereads only the objects that the list contains`(
    kind: Int, suspends: Bool
  ) throws {
    let live = try FollowedResults(requests[kind], context)
    let all = try context.fetch(FetchRequest<Song>(sort: [SortDescriptor(\.rank)]))
    let album = try #require(try context.existingObject(Album.self, with: albumID))
    try changeAll()
    // After a suspension, the lists are refetched.
    if suspends {
      try fixture.container.suspend()
      try fixture.container.resume()
    }
    context.processPendingChanges()
    #expect(all.map(\.title) == ["song 10", "theirs", "theirs"] && album.name.isEmpty)
    #expect(Set(live.news().flatMap(\.updated)) == [ids[1], ids[2]])
    album.name = "mine"
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .mergeConflict)
  }

  @Test(.evidence("LR-11"), .evidence("F-09"), arguments: 0..<3)
  func `a new list rereads only the objects that it contains`(kind: Int) throws {
    let all = try context.fetch(FetchRequest<Song>(sort: [SortDescriptor(\.rank)]))
    all[2].rank = 31
    try changeAll()
    let controller = FetchedResultsController(
      fetchRequest: requests[kind], context: context)
    try controller.performFetch()
    #expect(controller.results.count == 2)
    #expect(all.map(\.title) == ["song 10", "theirs", "song 30"])
    #expect(Set(controller.results.map(\.title)) == ["theirs", "song 30"])
  }

  /// The order depends on values in memory, which may be those of any object.
  @Test(.evidence("LR-11"), arguments: [false, true])
  func `an update of a list with a comparator rereads all loaded objects`(suspends: Bool) throws {
    let live = try FollowedResults(
      FetchRequest<Song>(
        where: #Predicate { $0.rank > 15 }, sort: [SortDescriptor(\.title, comparator: .lexical)]),
      context)
    let other = try #require(try context.existingObject(Song.self, with: ids[0]))
    let album = try #require(try context.existingObject(Album.self, with: albumID))
    try changeAll()
    if suspends {
      try fixture.container.suspend()
      try fixture.container.resume()
    }
    context.processPendingChanges()
    #expect(other.title == "theirs" && album.name == "theirs" && live.check().ids.count == 2)
  }

  @Test(.evidence("LR-11"), .evidence("LR-01"), .evidence("F-09"), arguments: 0..<3)
  func `an update rereads an object that enters the list because other objects change`(
    kind: Int
  ) throws {
    let requests: [FetchRequest<Song>] = [
      FetchRequest(sort: [SortDescriptor(\.rank)], limit: 1),
      FetchRequest(sort: [SortDescriptor(\.rank, order: .reverse)], offset: 2),
      FetchRequest(where: #Predicate { $0.album?.name == "x" }),
    ]
    try fixture.changeSong(ids[1]) { song in
      song.album = song.managedObjectContext?.object(Album.self, with: albumID)
    }
    let song = try #require(try context.existingObject(Song.self, with: ids[1]))
    let live = try FollowedResults(requests[kind], context)
    try fixture.changeSong(ids[1]) { $0.title = "theirs" }
    context.processPendingChanges()
    #expect(song.title == "song 20")
    try fixture.saved { other in
      other.delete(other.object(Song.self, with: ids[0]))
      other.object(Album.self, with: albumID).name = "x"
      Song(context: other).rank = 40
    }
    context.processPendingChanges()
    #expect(song.title == "theirs" && live.check().ids == [ids[1]])
    song.title = "mine"
    try context.save()
  }
}
