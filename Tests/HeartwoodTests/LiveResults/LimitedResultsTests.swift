import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Limited results controllers")
struct LimitedResultsTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let ids: [ManagedObjectID]

  init() throws {
    fixture = try GraphFixture(songs)
    ids = try fixture.songs([10, 20, 30, 40])
    context = fixture.context()
  }

  /// Returns a request for the songs in the order of their ranks.
  private func ranked() -> FetchRequest<Song> { FetchRequest(sort: [SortDescriptor(\.rank)]) }

  @Test(.evidence("LR-05")) func `a limited list of many objects equals a fetch`() throws {
    let more = try fixture.songs((100..<400).map { $0 })
    var request = ranked()
    (request.fetchOffset, request.fetchLimit) = (2, 3)
    let live = try FollowedResults(request, context)
    func check() throws {
      #expect(try live.controller.objectIDs == context.fetchObjectIDs(request))
      #expect(live.ids == live.controller.objectIDs)
    }
    // After many insertions at the start, the list no longer tracks the objects at its end.
    try fixture.songs((-400..<0).map { $0 })
    context.refreshAllObjects()
    try check()
    // The last objects move to the middle, after the objects that the list still tracks.
    for id in more.prefix(3) { try fixture.changeSong(id) { $0.rank = 50 } }
    try check()
    let front = FetchRequest<Song>(where: #Predicate { $0.rank < 0 }, limit: 100)
    for _ in 0..<4 {
      try fixture.saved { other in
        for song in try other.fetch(front) { other.delete(song) }
      }
      try check()
    }
  }

  @Test(.evidence("LR-05"))
  func `a limited list equals a fetch after each deletion of its first object`() throws {
    var request = ranked()
    (request.fetchOffset, request.fetchLimit) = (2, 3)
    let live = try FollowedResults(request, context)
    // So many objects follow that the list does not track the last ones.
    let more = try fixture.songs((100..<300).map { $0 })
    context.refreshAllObjects()
    for id in more.suffix(4) { try fixture.changeSong(id) { $0.rank += 1000 } }
    #expect(try live.check().ids == context.fetchObjectIDs(request))
    for id in ids + more.prefix(90) {
      try fixture.saved { $0.delete($0.object(Song.self, with: id)) }
      #expect(try live.check().ids == context.fetchObjectIDs(request))
    }
  }

  @Test(.evidence("LR-05"))
  func `a limited list equals a fetch after most objects have moved or been deleted`() throws {
    try fixture.songs((100..<200).map { $0 })
    var request = ranked()
    request.fetchLimit = 3
    let live = try FollowedResults(request, context)
    // All objects that the list tracks move to the end.
    let moved = try context.fetchObjectIDs(ranked()).dropLast(10)
    try fixture.saved { other in
      for id in moved { other.object(Song.self, with: id).rank += 1000 }
    }
    #expect(try live.check().ids == context.fetchObjectIDs(request))
    // Of the objects that the list tracks, only the first two remain, and the first has changed.
    let order = try context.fetchObjectIDs(ranked())
    try fixture.saved { other in
      other.object(Song.self, with: order[0]).rank -= 1
      for id in order[2..<94] { other.delete(other.object(Song.self, with: id)) }
    }
    #expect(live.check().ids == [order[0], order[1], order[94]])
  }

  @Test(.evidence("LR-03"), .evidence("LR-05"))
  func `a changed object that enters a limited list is only inserted`() throws {
    var request = ranked()
    request.fetchLimit = 2
    let live = try FollowedResults(request, context)
    try fixture.saved { other in
      other.delete(other.object(Song.self, with: ids[0]))
      other.object(Song.self, with: ids[2]).title = "changed"
    }
    context.refreshAllObjects()
    #expect(live.ids == [ids[1], ids[2]])
    #expect(live.changes.map(\.updated) == [[]])
  }
}
