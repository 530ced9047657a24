import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Results of a read-only container")
struct ReadOnlyResultsTests {
  private let scratch: ScratchDirectory
  private let url: URL

  init() throws {
    scratch = try ScratchDirectory()
    url = URL(filePath: scratch.path(of: "store"))
  }

  private func open(isReadOnly: Bool) throws -> PersistentContainer {
    var options = ContainerOptions()
    options.store.isReadOnly = isReadOnly
    return try PersistentContainer(url: url, schema: songs, options: options)
  }

  private func add(_ rank: Int, _ container: PersistentContainer) throws {
    let context = container.newContext()
    Song(context: context).rank = rank
    try context.save()
  }

  @Test(
    .evidence("LR-01"), .evidence("LR-06"),
    arguments: [nil, QueryGenerationToken.current], [true, false])
  func `are updated when a store is first opened for writing`(
    pin: QueryGenerationToken?, hasCounters: Bool
  ) throws {
    do {
      let first = try open(isReadOnly: false)
      try add(1, first)
      try first.store.close()
    }
    // After a restart of the system, no counters are shared until a process writes.
    if !hasCounters { try FileManager.default.removeItem(at: url.appending(path: "counters")) }
    let reader = try open(isReadOnly: true)
    let context = reader.newContext()
    try context.setQueryGenerationFrom(pin)
    let live = try FollowedResults(FetchRequest<Song>(sort: [SortDescriptor(\.rank)]), context)
    let song = try #require(live.controller.fetchedObjects.first)
    let writer = try open(isReadOnly: false)
    for rank in 2..<5 {
      try add(rank, writer)
      try context.setQueryGenerationFrom(pin)
      #expect(live.check("rank \(rank)").ids.count == rank && context.faultError == nil)
      #expect(live.news().map(\.difference.insertions.count) == [1])
    }
    let edited = writer.newContext()
    edited.object(Song.self, with: song.objectID).rank = 9
    try edited.save()
    try context.setQueryGenerationFrom(pin)
    #expect(live.check().ids.last == song.objectID && song.rank == 9)
    context.reset()
    #expect(try context.count(for: FetchRequest<Song>()) == 4)
    #expect(live.check().ids.count == 4 && context.faultError == nil)
    #expect(try writer.store.verify().findings.isEmpty)
    try writer.store.close()
  }
}
