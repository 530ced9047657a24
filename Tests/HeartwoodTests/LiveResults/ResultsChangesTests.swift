import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

@Suite("Changes of results")
struct ResultsChangesTests {
  private func ids(_ changes: [ResultsChange], from first: [ManagedObjectID]) -> [ManagedObjectID]?
  {
    changes.reduce(.some(first)) { ids, change in ids?.applying(change.difference) }
  }

  @Test(.evidence("LR-02"), .evidence("LR-08"))
  func `every observer receives the changes, until the controller ends`() async throws {
    let fixture = try GraphFixture(songs)
    let first = try fixture.songs([1, 2, 3])
    let context = fixture.context()
    var controller: FetchedResultsController<Song>? = FetchedResultsController(
      fetchRequest: FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context: context)
    try controller?.performFetch()
    let all = [controller?.changes, controller?.changes].compactMap(\.self)
    for step in 0..<3 {
      Song(context: context).rank = step
      try context.save()
    }
    let late = try #require(controller?.changes)
    try fixture.songs([50])
    context.processPendingChanges()
    let last = try #require(controller?.objectIDs)
    controller = nil
    for stream in all {
      var changes: [ResultsChange] = []
      for await change in stream { changes.append(change) }
      #expect(changes.count == 4 && ids(changes, from: first) == last)
      #expect(changes.allSatisfy { $0.generation != nil })
    }
    var count = 0
    for await _ in late { count += 1 }
    #expect(count == 1)
  }

  @Test(.evidence("LR-08")) @MainActor
  func `results in the view context update automatically`() async throws {
    let container = try PersistentContainer.inMemory(schema: songs)
    let view = container.viewContext
    view.automaticallyMergesChangesFromParent = true
    let controller = FetchedResultsController(fetchRequest: FetchRequest<Song>(), context: view)
    try controller.performFetch()
    var changes = controller.changes.makeAsyncIterator()
    let song = Song(context: view)
    #expect(await changes.next()?.difference.count == 1)
    song.title = "other"
    let updated = await changes.next()?.updated
    #expect(updated == [song.objectID])
    try view.save()
    #expect(await changes.next()?.difference.count == 2)
    try await container.newBackgroundContext().perform { context in
      Song(context: context).title = "theirs"
      try context.save()
    }
    #expect(await changes.next()?.difference.insertions.count == 1)
    #expect(controller.fetchedObjects.map(\.title) == ["other", "theirs"])
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("LR-08")) func `results update at the end of a block of a background context`()
    async throws
  {
    let container = try PersistentContainer.inMemory(schema: songs)
    let background = container.newBackgroundContext()
    let changes = try await background.perform { context in
      let controller = FetchedResultsController(
        fetchRequest: FetchRequest<Song>(), context: context)
      try controller.performFetch()
      let changes = controller.changes
      Held.controllers.withLock { $0.append(Held(controller)) }
      Song(context: context).rank = 1
      return changes
    }
    var iterator = changes.makeAsyncIterator()
    #expect(await iterator.next()?.difference.count == 1)
    try await background.perform { context in
      Held.controllers.withLock { $0 = [] }
      context.rollback()
    }
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.spawning, .evidence("LR-06")) func `results show changes of another process`() async throws
  {
    let scratch = try ScratchDirectory()
    let url = URL(filePath: scratch.path(of: "store"))
    let container = try PersistentContainer(url: url, schema: songs)
    let context = container.newContext()
    let old = Song(context: context)
    old.rank = 3
    try context.save()
    try context.setQueryGenerationFrom(.current)
    let live = try FollowedResults(FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context)
    await #expect(processExitsWith: .success) { [path = url.path as String] in
      let container = try PersistentContainer(url: URL(filePath: path), schema: songs)
      let context = container.newContext()
      try #require(try context.fetch(FetchRequest<Song>()).first).rank = 9
      Song(context: context).rank = 5
      try context.save()
    }
    #expect(live.check().news().isEmpty && live.ids.count == 1)
    for transaction in try container.fetchHistory(after: nil) {
      try context.mergeChanges(from: transaction)
    }
    #expect(!live.news().isEmpty && live.check().ids.count == 2)
    #expect(live.ids.last == old.objectID && old.rank == 9)
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("LR-06")) func `results follow the store of their objects`() throws {
    let fixture = try StoresFixture()
    let id = try fixture.memo("first", rank: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let memos = try FollowedResults(FetchRequest<Memo>(sort: [SortDescriptor(\.rank)]), context)
    let people = try FollowedResults(FetchRequest<Person>(), context)
    try fixture.memo("second", rank: 0)
    try fixture.person("Ada")
    #expect(memos.check().ids == [id] && people.check().ids.isEmpty)
    try context.setQueryGenerationFrom(.current)
    #expect(memos.check().ids.last == id && memos.ids.count == 2 && people.check().ids.count == 1)
    #expect(memos.news().count == 1 && people.news().count == 1)
    try context.setQueryGenerationFrom(nil)
    try fixture.container.removeStore(url: fixture.memos)
    #expect(memos.check().ids.isEmpty && people.check().ids.count == 1)
    _ = (memos.news(), people.news())
    // Adding the store again does not refill the list. Only a new fetch refills it.
    try fixture.addMemos()
    #expect(memos.check().ids.isEmpty && people.check().ids.count == 1)
    try memos.controller.performFetch()
    #expect(memos.check().ids.last == id && memos.ids.count == 2 && memos.news().count == 1)
    fixture.letGo()
  }

  @Test(.evidence("LR-01"), .evidence("LR-03"))
  func `a new request reports its differences like other changes`() throws {
    let fixture = try GraphFixture(songs)
    let ids = try fixture.songs([1, 2, 3, 4])
    let context = fixture.context()
    let live = try FollowedResults(FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context)
    live.controller.fetchRequest.sortDescriptors = [SortDescriptor(\.rank, order: .reverse)]
    live.controller.fetchRequest.predicate = QueryPredicate(#Predicate { $0.rank > 1 })
    #expect(live.check().ids == ids)
    try live.controller.performFetch()
    #expect(live.check().ids == ids[1...].reversed())
    let news = live.news()
    #expect(news.count == 1 && news[0].generation != nil)
    try live.controller.performFetch()
    #expect(live.news().isEmpty)
    try fixture.changeSong(ids[2]) { $0.rank = 30 }
    #expect(live.check().ids.first == ids[2])
  }

  @Test(.evidence("LR-09")) func `results wait until the context can be read again`() throws {
    let fixture = try GraphFixture(songs)
    let ids = try fixture.songs([1, 2])
    let context = fixture.context()
    let live = try FollowedResults(FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context)
    try fixture.container.suspend()
    #expect(live.check().ids == ids && context.faultError != nil)
    try fixture.container.resume()
    context.reset()
    try fixture.songs([3])
    #expect(live.check().ids.count == 3 && context.faultError == nil)
  }
}

/// Retains a controller that was created within a block of a background context.
private final class Held: @unchecked Sendable {
  // @unchecked because each `Held` is created and released only within blocks of its context.
  static let controllers = Mutex<[Held]>([])
  private let controller: FetchedResultsController<Song>

  init(_ controller: FetchedResultsController<Song>) { self.controller = controller }
}
