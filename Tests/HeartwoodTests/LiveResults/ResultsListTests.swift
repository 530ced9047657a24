import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

@Suite("Results lists")
struct ResultsListTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let other: ManagedObjectContext
  private let ids: [ManagedObjectID]

  init() throws {
    fixture = try GraphFixture(songs)
    ids = try fixture.songs([10, 20, 30, 40])
    (context, other) = (fixture.context(), fixture.context())
    other.mergePolicy = .overwrite
  }

  private func controller() throws -> FetchedResultsController<Song> {
    let request = FetchRequest<Song>(sort: [SortDescriptor(\.rank)])
    let controller = FetchedResultsController(fetchRequest: request, context: context)
    try controller.performFetch()
    return controller
  }

  private func deleteAll() throws {
    for song in try other.fetch(FetchRequest<Song>()) { other.delete(song) }
    try other.save()
  }

  @Test(.evidence("LR-10"), arguments: [false, true])
  func `a walk is not affected by commits that are merged meanwhile`(isMerging: Bool) throws {
    context.automaticallyMergesChangesFromParent = isMerging
    let controller = try controller()
    let list = controller.results
    var counts: [Int] = []
    let walked = try controller.map { song in
      if counts.isEmpty { try deleteAll() }
      counts.append(controller.count)
      return song.objectID
    }
    #expect(walked == ids && counts == [0, 0, 0, 0] && controller.isEmpty)
    #expect(list.count == 4 && list.objectIDs == ids && list.map(\.objectID) == ids)
    #expect(list.sections.map(\.range) == [0..<4] && list.sections[0][3].objectID == ids[3])
  }

  @Test(.evidence("LR-10"), .evidence("I-01"))
  func `a deleted object of a list becomes a single fault without a row`() throws {
    let controller = try controller()
    let list = controller.results
    #expect(list[0].rank == 10)
    try deleteAll()
    #expect(controller.isEmpty)
    // This test keeps no reference to the objects, so the list must retain them.
    let instances = list.map { ObjectIdentifier($0) }
    #expect(Set(instances).count == 4 && list.map { ObjectIdentifier($0) } == instances)
    #expect(list[1].isFault && list[1].rank == 0 && list[1].isDeleted)
    #expect(list[1] === context.registeredObject(for: ids[1]) && !context.hasChanges)
    try context.save()
    #expect(list[1].objectID == ids[1] && list.sections[0].objects.map(\.objectID) == ids)
  }

  @Test(.evidence("LR-10"), .evidence("I-04"))
  func `an object of a list without a row in the pinned generation stays a fault`() throws {
    try context.setQueryGenerationFrom(.current)
    let controller = try controller()
    let list = controller.results
    try deleteAll()
    #expect(list.map(\.rank) == [10, 20, 30, 40])
    let more = try fixture.songs([50])
    try context.setQueryGenerationFrom(.current)
    let later = controller.results
    #expect(later.objectIDs == more)
    context.reset()
    #expect(list.map(\.rank) == [0, 0, 0, 0] && list.allSatisfy { $0.isFault && !$0.isDeleted })
    #expect(list.objectIDs == ids && later[0].rank == 50)
  }

  @Test(.evidence("LR-10")) func `a list follows new objects to their permanent IDs`() throws {
    let new = Song(context: context)
    new.rank = 25
    Song(context: context).rank = 35
    let controller = try controller()
    let list = controller.results
    try context.save()
    #expect(list[2] === new && list.objectIDs == controller.objectIDs && list.count == 6)
    // The context has released the second new object, so the list loads it by its permanent ID.
    #expect(!list[4].isFault && list[4].rank == 35)
    Song(context: context).rank = 26
    let unsaved = controller.results
    context.rollback()
    #expect(unsaved.count == 7 && unsaved[3].isFault && unsaved[3].title.isEmpty)
    #expect(unsaved.objectIDs.filter { !$0.isTemporary } == controller.objectIDs)
    try context.save()
  }

  @Test(.evidence("LR-10")) func `a list outlives its controller and the open store`() throws {
    var controller: FetchedResultsController? = try controller()
    let list = try #require(controller?.results)
    try fixture.container.suspend()
    try fixture.container.resume()
    #expect(list[0].rank == 10 && context.faultError == nil)
    controller = nil
    #expect(list.map(\.rank) == [10, 20, 30, 40])
  }

  @Test(.spawning, .mustEnd, .evidence("LR-10"))
  func `walks are not affected by commits of another process`() async throws {
    let scratch = try ScratchDirectory()
    let url = URL(filePath: scratch.path(of: "store"))
    let container = try PersistentContainer(url: url, schema: songs)
    let context = container.newContext()
    context.automaticallyMergesChangesFromParent = true
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context: context)
    try controller.performFetch()
    let isDone = Atomic(false)
    var counts: Set<Int> = []
    async let process: Void = {
      await #expect(processExitsWith: .success) { [path = url.path as String] in
        try addAndDeleteSongs(at: path)
      }
      isDone.store(true, ordering: .releasing)
    }()
    while !isDone.load(ordering: .acquiring) {
      let list = controller.results
      let ranks = controller.map(\.rank)
      #expect(ranks.count == ranks.filter { $0 >= 0 }.count)
      counts.insert(list.map(\.rank).count)
      #expect(list.sections.reduce(0) { $0 + $1.map(\.rank).count } == list.count)
      await Task.yield()
    }
    await process
    #expect(counts.count > 1 && controller.map(\.rank) == Array(0..<5))
  }
}

/// Makes commits for about a second.
///
/// The commits add five songs at a time, and delete them when there are twenty.
private func addAndDeleteSongs(at path: String) throws {
  let container = try PersistentContainer(url: URL(filePath: path), schema: songs)
  let context = container.newContext()
  let end = Date.now + 1
  var count = 0
  while Date.now < end || count != 5 {
    if count == 20 {
      for song in try context.fetch(FetchRequest<Song>()) { context.delete(song) }
      count = 0
    }
    for rank in count..<count + 5 { Song(context: context).rank = rank }
    count += 5
    try context.save()
  }
  try container.store.close()
}
