import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Results controllers")
struct ResultsTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let ids: [ManagedObjectID]

  init() throws {
    fixture = try GraphFixture(songs)
    ids = try fixture.songs([10, 20, 30, 40])
    context = fixture.context()
  }

  private func ranked(_ least: Int = 0) -> FetchRequest<Song> {
    FetchRequest(where: #Predicate { $0.rank >= least }, sort: [SortDescriptor(\.rank)])
  }

  private func song(_ index: Int) throws -> Song {
    try #require(try context.existingObject(Song.self, with: ids[index]))
  }

  private func offsets(_ change: ResultsChange) -> [[Int?]] {
    change.difference.map { step in
      switch step {
      case .remove(let offset, _, let other): [-1, offset, other]
      case .insert(let offset, _, let other): [1, offset, other]
      }
    }
  }

  @Test(.evidence("LR-10"), arguments: [0, 1, 2, 3])
  func `an iteration visits the objects that were listed when it began`(kind: Int) throws {
    let results = FetchedResultsController(fetchRequest: ranked(), context: context)
    try results.performFetch()
    var seen: [Int] = []
    for song in results {
      seen.append(song.rank)
      switch kind {
      case 0: context.delete(song)
      case 1: song.rank = -1
      case 2: Song(context: context).rank = song.rank + 1
      default:
        context.delete(song)
        try context.save()
      }
    }
    #expect(seen == [10, 20, 30, 40])
    #expect(results.count == [0, 0, 8, 0][kind] && Array(results).count == results.count)
  }

  @Test(.evidence("LR-01"), .evidence("C-05"))
  func `a results controller removes objects that others have deleted`() throws {
    let results = FetchedResultsController(fetchRequest: ranked(), context: context)
    try results.performFetch()
    try song(0).rank = 10
    let other = fixture.context()
    other.delete(other.object(Song.self, with: ids[0]))
    try other.save()
    #expect(results.count == 3)
    #expect(try context.count(for: ranked()) == 3 && !context.hasChanges)
  }

  @Test(.evidence("LR-01"), .evidence("LR-02"))
  func `a results controller shows unsaved changes with their kinds`() throws {
    let live = try FollowedResults(ranked(15), context)
    #expect(live.ids == Array(ids[1...]))
    let new = Song(context: context)
    new.rank = 35
    live.check()
    #expect(live.news().map(offsets) == [[[1, 2, nil]]])
    // The song's position changes, so it is reported as moved, and not also as updated.
    try song(1).rank = 37
    live.check()
    let moved = live.news()
    #expect(moved.map(offsets) == [[[-1, 0, 2], [1, 2, 0]]] && moved[0].updated.isEmpty)
    // The song's position stays the same, so it is reported as updated, and not as moved.
    try song(2).rank = 31
    live.check()
    let stayed = live.news()
    #expect(stayed.map(offsets) == [[]] && stayed[0].updated == [ids[2]])
    try song(3).rank = 5
    context.delete(try song(2))
    live.check()
    #expect(live.news().map(offsets) == [[[-1, 3, nil], [-1, 0, nil]]])
    try context.save()
    // The first save changes the new song's ID, so the list reports a removal and an insertion.
    let saved = live.news()
    #expect(saved.map(offsets) == [[[-1, 0, nil], [1, 0, nil]]])
    #expect(live.check().ids == [new.objectID, ids[1]])
  }

  @Test(.evidence("LR-03")) func `a results controller reports nothing if no value has changed`()
    throws
  {
    let live = try FollowedResults(ranked(), context)
    try song(0).rank = 10
    try song(1).title += ""
    live.check()
    try context.save()
    try fixture.changeSong(ids[2]) { $0.rank += 0 }
    try fixture.change(all: "song 30", to: "song 30")
    live.check()
    context.refreshAllObjects()
    try context.setQueryGenerationFrom(.current)
    Album(context: context).name = "of another entity"
    try context.save()
    live.check()
    // Adding a song to an album is not a change to the album.
    let album = try #require(try context.fetch(FetchRequest<Album>()).first)
    let albums = try FollowedResults(FetchRequest<Album>(), context)
    try song(3).album = album
    albums.check()
    #expect(albums.news().isEmpty)
    live.check()
    // Assigning another album to the song is a change to the song.
    #expect(live.news().map(\.updated) == [[ids[3]]])
    try context.save()
    live.check()
    #expect(live.news().isEmpty && albums.check().news().isEmpty)
  }

  @Test(.evidence("LR-03"))
  func `a results controller reports a change once, not again when it is saved`() throws {
    let live = try FollowedResults(ranked(), context)
    try song(1).title = "other"
    live.check()
    #expect(live.news().map(\.updated) == [[ids[1]]])
    try context.save()
    live.check()
    #expect(live.news().isEmpty)
    try song(1).title = "again"
    try song(1).title = "other"
    live.check()
    #expect(live.news().isEmpty)
    let album = Album(context: context)
    try song(1).album = album
    live.check()
    #expect(live.news().count == 1)
    // The save changes the album's ID, but the song still refers to the same album.
    try context.save()
    live.check()
    #expect(live.news().isEmpty)
  }

  @Test(.evidence("LR-06")) func `a results controller follows the pin in both directions`() throws
  {
    try context.setQueryGenerationFrom(.current)
    let live = try FollowedResults(ranked(), context)
    let first = try #require(context.queryGenerationToken)
    let keeper = try fixture.container.newContext(pinnedTo: first)
    try fixture.changeSong(ids[0]) { $0.rank = 25 }
    try fixture.songs([27])
    live.check("pinned")
    #expect(live.news().isEmpty && live.ids == ids)
    try context.setQueryGenerationFrom(.current)
    let forwards = live.check().news()
    #expect(forwards.count == 1 && live.ids.count == 5 && live.ids[1] == ids[0])
    #expect(forwards[0].generation == context.queryGenerationToken)
    try context.setQueryGenerationFrom(first)
    let back = live.check().news()
    #expect(back.count == 1 && live.ids == ids && back[0].generation == first)
    #expect(try song(0).rank == 10)
    try context.setQueryGenerationFrom(nil)
    #expect(live.check().ids.count == 5)
    withExtendedLifetime(keeper) {}
  }

  @Test(.evidence("LR-06")) func `a results controller shows merged changes when they are merged`()
    throws
  {
    try context.setQueryGenerationFrom(.current)
    let live = try FollowedResults(ranked(15), context)
    let token = try fixture.container.fetchHistory(after: nil).last?.token
    try fixture.changeSong(ids[0]) { $0.rank = 50 }
    try fixture.context().execute(
      BatchUpdateRequest<Song>(where: #Predicate { $0.rank == 20 }) { $0[\.rank] = 1 })
    live.check()
    #expect(live.news().isEmpty)
    for transaction in try fixture.container.fetchHistory(after: token) {
      try context.mergeChanges(from: transaction)
    }
    #expect(!live.news().isEmpty && live.check().ids == [ids[2], ids[3], ids[0]])
    let before = try #require(context.queryGenerationToken)
    try fixture.context().execute(BatchDeleteRequest<Song>(where: #Predicate { $0.rank == 30 }))
    try context.mergeChanges(fixture.container.changes(from: before, to: .current))
    #expect(live.news().count == 1 && live.check().ids == [ids[3], ids[0]])
    context.automaticallyMergesChangesFromParent = true
    try fixture.changeSong(ids[3]) { $0.rank = 60 }
    #expect(live.check().ids == [ids[0], ids[3]])
  }

  @Test(.evidence("LR-06")) func `a results controller follows undo, rollback and reset`() throws {
    context.tracksUndo = true
    let live = try FollowedResults(ranked(15), context)
    context.delete(try song(1))
    let new = Song(context: context)
    new.rank = 99
    context.endUndoGroup()
    live.check()
    #expect(live.ids.count == 3)
    context.undo()
    #expect(live.ids == Array(ids[1...]))
    context.redo()
    #expect(live.ids.count == 3 && live.ids.last == new.objectID)
    context.rollback()
    #expect(live.check().ids == Array(ids[1...]))
    Song(context: context).rank = 77
    try song(1).rank = 1
    #expect(live.check().ids.count == 3)
    context.reset()
    #expect(live.check().ids == Array(ids[1...]))
    #expect(live.controller.fetchedObjects.allSatisfy { $0.managedObjectContext === context })
  }

  @Test(.evidence("LR-06")) func `a results controller shows changes of parent and child contexts`()
    throws
  {
    let childContext = fixture.child(of: context)
    let live = try FollowedResults(ranked(15), context)
    let child = try FollowedResults(ranked(15), childContext)
    let song = try #require(try childContext.existingObject(Song.self, with: ids[0]))
    song.rank = 22
    #expect(child.check().ids == [ids[1], ids[0], ids[2], ids[3]])
    #expect(live.check().ids == Array(ids[1...]))
    let new = Song(context: childContext)
    new.rank = 21
    try childContext.save()
    #expect(live.check().ids == [ids[1], new.objectID, ids[0], ids[2], ids[3]])
    try self.song(3).rank = 2
    #expect(child.check().ids == [ids[1], new.objectID, ids[0], ids[2]])
    try context.save()
    #expect(live.check().ids == child.check().ids)
    try fixture.songs([23])
    #expect(child.check().ids.count == 5 && live.check().ids.count == 5)
  }

  @Test(.evidence("LR-03"), arguments: [false, true])
  func `a results controller reports changes in the parent context to loaded and unloaded objects`(
    _ isLoaded: Bool
  ) throws {
    let childContext = fixture.child(of: context)
    let child = try FollowedResults(FetchRequest<Song>(), childContext)
    // The list may contain faults, because it has no sort order.
    if isLoaded { #expect(child.controller.fetchedObjects.map(\.rank).count == 4) }
    for index in 0..<3 {
      try song(index).title = "another \(index)"
      try context.save()
      #expect(child.check().news().map(\.updated) == [[ids[index]]])
    }
  }

  @Test(.evidence("LR-03"))
  func `a results controller of a child reports no change if a reference is only renumbered`()
    throws
  {
    try song(0).album = Album(context: context)
    let child = try FollowedResults(FetchRequest<Song>(), fixture.child(of: context))
    #expect(child.check().ids == ids)
    try context.save()
    #expect(child.check().news().isEmpty)
    try song(0).album = Album(context: context)
    #expect(child.check().news().map(\.updated) == [[ids[0]]])
  }

  @Test(.evidence("LR-01"))
  func `an unsaved object that was deleted and inserted again is listed once`() throws {
    let song = Song(context: context)
    let live = try FollowedResults(FetchRequest<Song>(), context)
    #expect(live.ids.count == 5)
    context.delete(song)
    context.insert(song)
    #expect(live.check().ids == ids + [song.objectID])
    try context.save()
    #expect(live.check().ids == ids + [song.objectID] && !context.hasChanges)
  }

  @Test(.evidence("LR-01"), arguments: [false, true])
  func `lists contain early permanent IDs of new objects`(isPinned: Bool) throws {
    if isPinned { try context.setQueryGenerationFrom(.current) }
    let song = Song(context: context)
    let live = try FollowedResults(FetchRequest<Song>(), context)
    try context.obtainPermanentIDs(for: [song])
    #expect(live.check().ids == ids + [song.objectID])
    #expect(live.controller.object(at: 4) === song && live.controller.index(of: song) == 4)
  }

  @Test(.evidence("LR-01"))
  func `a list omits an edited object that others' deletion leaves without members`() throws {
    let fixture = try GraphFixture(crates)
    let (context, others, writer) = (fixture.context(), fixture.context(), fixture.context())
    context.automaticallyMergesChangesFromParent = true
    others.mergePolicy = .mergeByPropertyObjectTrump
    let (first, second) = (Crate(context: writer), Crate(context: writer))
    let item = CrateItem(context: writer)
    try writer.save()
    let filled = FetchRequest<Crate>(where: #Predicate { $0.items.count > 0 })
    let live = try FollowedResults(filled, context)
    func theirs<M: ManagedObject>(_ object: M) throws -> M {
      try #require(try others.existingObject(M.self, with: object.objectID))
    }
    try theirs(item).crate = try theirs(first)
    others.delete(try theirs(second))
    let edited = try #require(try context.existingObject(Crate.self, with: second.objectID))
    edited.number = 1
    item.crate = second
    try writer.save()
    #expect(try context.fetch(FetchRequest<CrateItem>()).first?.tags == [])
    try others.save()
    #expect(try context.fetch(FetchRequest<CrateItem>()).first?.crate != nil)
    context.refreshAllObjects()
    #expect(live.check().ids == (try context.fetchObjectIDs(filled)))
  }

  @Test(.evidence("LR-02"))
  func `as few of the changed objects as possible are reported as moved`() throws {
    let live = try FollowedResults(ranked(), context)
    // The first two songs change their ranks, and pass the third one, which has not changed.
    try fixture.saved { other in
      other.object(Song.self, with: ids[0]).rank = 31
      other.object(Song.self, with: ids[1]).rank = 32
    }
    #expect(live.check().ids == [ids[2], ids[0], ids[1], ids[3]])
    #expect(live.news().map(offsets) == [[[-1, 1, 2], [-1, 0, 1], [1, 1, 0], [1, 2, 1]]])
    // The first of four changed songs moves to the end.
    try fixture.saved { other in
      for (index, rank) in [(2, 50), (0, 11), (1, 12), (3, 13)] {
        other.object(Song.self, with: ids[index]).rank = rank
      }
    }
    #expect(live.check().ids == [ids[0], ids[1], ids[3], ids[2]])
    #expect(live.news().map(offsets) == [[[-1, 0, 3], [1, 3, 0]]])
  }

  @Test(.evidence("LR-01")) func `a controller is empty before the first fetch`() throws {
    let results = FetchedResultsController(fetchRequest: ranked(), context: context)
    let song = try song(0)
    #expect(results.fetchedObjects.isEmpty && results.objectIDs.isEmpty && results.count == 0)
    #expect(results.index(of: song.objectID) == nil)
    #expect(results.indexPath(forObject: song) == nil)
    try results.performFetch()
    #expect(results.index(of: song.objectID) == 0)
    let others = try GraphFixture(songs)
    let other = try others.songs([10])[0]
    #expect(results.index(of: other) == nil)
  }

  @Test(.evidence("LR-05")) func `a list grows to thousands of objects`() throws {
    let results = FetchedResultsController(fetchRequest: ranked(100), context: context)
    try results.performFetch()
    for start in stride(from: 100, to: 2500, by: 8) {
      for rank in start..<start + 8 { Song(context: context).rank = rank }
      #expect(results.count == start - 92)
    }
    #expect(results.map(\.rank) == Array(100..<2500))
  }
}

extension GraphFixture {
  /// Replaces one title with another in all songs, by a batch request.
  func change(all old: String, to new: String) throws {
    try context().execute(
      BatchUpdateRequest<Song>(where: #Predicate { $0.title == old }) { $0[\.title] = new })
  }
}
