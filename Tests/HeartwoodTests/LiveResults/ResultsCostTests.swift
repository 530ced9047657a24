import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("The cost of live results")
struct ResultsCostTests {
  /// Returns the work for updating a list of `count` songs after `changed` of them have changed.
  private func work(count: Int, changed: Int) throws -> (examined: Int, comparisons: Int) {
    let fixture = try GraphFixture(songs)
    let ids = try fixture.songs(Array(0..<count))
    let context = fixture.context()
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context: context)
    try controller.performFetch()
    #expect(controller.count == count)
    let before = controller.work
    let writer = fixture.context()
    for step in 0..<changed {
      let song = try #require(
        try writer.existingObject(Song.self, with: ids[step * count / changed]))
      let rank = (step * 7919) % count
      // Avoid assigning the current value, because unchanged objects are not written.
      song.rank = rank == song.rank ? rank + 1 : rank
    }
    try writer.save()
    #expect(controller.count == count)
    let after = controller.work
    return (after.examined - before.examined, after.comparisons - before.comparisons)
  }

  @Test(.evidence("LR-07"))
  func `the cost of an update depends on the changes, not on the size of the list`() throws {
    let few = try work(count: 500, changed: 20)
    let many = try work(count: 8000, changed: 20)
    #expect(few.examined == 20)
    #expect(many.examined == 20)
    // In a list 16 times as long, a binary search takes four more comparisons.
    #expect(many.comparisons <= few.comparisons + 20 * 6)
    #expect(many.comparisons < 20 * 24)
  }

  @Test(arguments: TestScale.seeds(quick: 1, all: 30))
  func `a list whose nodes split and become empty stays in order`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try GraphFixture(songs)
    let ids = try fixture.songs(Array(0..<600))
    let (context, writer) = (fixture.context(), fixture.context())
    let request = FetchRequest<Song>(sort: [SortDescriptor(\.rank)])
    let controller = FetchedResultsController(fetchRequest: request, context: context)
    try controller.performFetch()
    for round in 0..<12 {
      // Most songs move into one narrow range. The moves split the nodes in this range and empty
      // other nodes.
      let start = Int(random.below(600))
      for id in ids where random.isTrue(in256: 100) {
        try writer.existingObject(Song.self, with: id)?.rank = start + Int(random.below(40))
      }
      try writer.save()
      let expected = try fixture.context().fetchObjectIDs(request)
      #expect(controller.objectIDs == expected, "seed \(seed), round \(round)")
    }
  }

  @Test(.evidence("LR-07")) func `changes of other entities cost nothing`() throws {
    let fixture = try GraphFixture(songs)
    try fixture.songs([1, 2, 3])
    let context = fixture.context()
    let songs = try FollowedResults(FetchRequest<Song>(), context)
    let albums = try (0..<50).map { _ in try FollowedResults(FetchRequest<Album>(), context) }
    let onAlbum = try FollowedResults(
      FetchRequest<Song>(where: #Predicate { $0.album?.name == "x" }), context)
    let before = songs.controller.work
    try fixture.songs(Array(10..<110))
    #expect(songs.check().ids.count == 103)
    let after = songs.controller.work
    #expect(after.examined - before.examined == 100)
    #expect(albums.allSatisfy { $0.controller.work.comparisons == 0 && $0.news().isEmpty })
    #expect(onAlbum.check().news().isEmpty)
  }

  /// Each change moves a song from one list to another.
  ///
  /// The update finds both lists by the rank of the song.
  @Test(.evidence("LR-07")) func `an update of a thousand lists examines only the affected lists`()
    throws
  {
    let fixture = try GraphFixture(songs)
    let ids = try fixture.songs(Array(0..<1000))
    let context = fixture.context()
    let lists = try (0..<1000).map { rank in
      try FollowedResults(FetchRequest<Song>(where: #Predicate { $0.rank == rank }), context)
    }
    let all = try FollowedResults(FetchRequest<Song>(), context)
    let before = lists[0].controller.work
    let writer = fixture.context()
    for id in ids[..<100] {
      try #require(try writer.existingObject(Song.self, with: id)).rank += 500
    }
    try writer.save()
    context.processPendingChanges()
    let after = lists[0].controller.work
    #expect(after.examined - before.examined == 100)
    #expect(after.evaluated - before.evaluated == 300)
    #expect(all.news().map(\.updated.count) == [100])
    #expect(lists.count { !$0.news().isEmpty } == 200)
    #expect(lists[..<100].allSatisfy { $0.ids.isEmpty })
    #expect(lists[500..<600].allSatisfy { $0.ids.count == 2 })
  }

  @Test(.evidence("LR-07"), arguments: [true, false])
  func `after a large import an update costs as much as a fetch`(hasIndex: Bool) throws {
    let fixture = try GraphFixture(songs)
    let ids = try fixture.songs(Array(stride(from: 0, to: 4000, by: 4)))
    let context = fixture.context()
    let sort = hasIndex ? SortDescriptor(\Song.rank) : SortDescriptor(\Song.title)
    let live = try FollowedResults(FetchRequest<Song>(sort: [sort], limit: 50, offset: 3), context)
    let all = try FollowedResults(FetchRequest<Song>(sort: [sort]), fixture.context())
    let shown: Song = live.controller.object(at: 0)
    let before = live.controller.work
    let writer = fixture.context()
    // Even the smaller number is too large for the lists to be updated row by row.
    let count = TestScale.pick(quick: 3000, all: 10_000)
    for rank in 0..<count {
      let song = Song(context: writer)
      song.rank = rank
      song.title = "song \(rank)"
    }
    try #require(try writer.existingObject(Song.self, with: shown.objectID)).genre = "jazz"
    writer.delete(try #require(try writer.existingObject(Song.self, with: ids[4])))
    try writer.save()
    context.processPendingChanges()
    let after = live.controller.work
    if hasIndex { #expect(after.examined == before.examined) }
    // Like a fetch, the update refreshes a registered object.
    #expect(shown.genre == "jazz")
    let expected = try fixture.context().fetchObjectIDs(live.controller.fetchRequest)
    #expect(live.check().ids == expected && expected.count == 50)
    #expect(all.check().ids.count == count + 999)
    for step in 0..<200 {
      context.delete(live.controller.object(at: step % 7))
      live.check()
    }
  }

  @Test(.evidence("LR-05")) func `a list with a limit is refetched only now and then`() throws {
    let fixture = try GraphFixture(songs)
    let ids = try fixture.songs(Array(0..<500))
    let context = fixture.context()
    let request = FetchRequest<Song>(sort: [SortDescriptor(\.rank)], limit: 10, offset: 5)
    let live = try FollowedResults(request, context)
    for gone in 0..<300 {
      context.delete(try #require(try context.existingObject(Song.self, with: ids[gone])))
      #expect(live.check().ids == Array(ids[(gone + 6)..<(gone + 16)]))
    }
    #expect(live.news().allSatisfy { $0.difference.count == 2 })
    context.rollback()
    #expect(live.check().ids == Array(ids[5..<15]))
  }
}
