import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Changes that a live list could miss")
struct MissedChangesTests {
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

  /// Requests whose lists are updated in different ways.
  private let requests: [FetchRequest<Song>] = [
    FetchRequest(sort: [SortDescriptor(\.rank)]),
    FetchRequest(sort: [SortDescriptor(\.rank)], limit: 2),
    FetchRequest(sort: [SortDescriptor(\.title, comparator: .lexical)]),
    FetchRequest(where: #Predicate { $0.album == nil || $0.album?.name == "a" }),
  ]

  @Test(.evidence("LR-01"), .evidence("LR-06"), arguments: 0..<4, [false, true])
  func `a list that is created while others are updated hides no change from them`(
    kind: Int, isChild: Bool
  ) throws {
    let request = requests[kind]
    let target = isChild ? fixture.child(of: context) : context
    let first = try FollowedResults(request, target)
    var lists = [first, try FollowedResults(requests[0], target)]
    let follow = first.controller.changeHandler
    var result: Result<Void, any Error>?
    defer { first.controller.changeHandler = nil }
    first.controller.changeHandler = { change in
      follow?(change)
      guard result == nil else { return }
      result = Result {
        try fixture.songs([5])
        lists.append(try FollowedResults(requests[(kind + 1) % 4], target))
        lists.append(try FollowedResults(request, target))
      }
    }
    try fixture.songs([1])
    _ = first.controller.count
    try #require(result).get()
    func check() throws {
      for list in lists {
        #expect(try list.check().ids == target.fetchObjectIDs(list.controller.fetchRequest))
      }
    }
    try check()
    try fixture.songs([7])
    try fixture.changeSong(ids[0]) { $0.rank = 2 }
    try check()
  }
}
