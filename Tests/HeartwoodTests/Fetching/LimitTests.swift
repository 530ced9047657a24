import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Limits and offsets")
struct LimitTests {
  private static let numbers: [Int] = [.min, -3, -1, 0, 1, 2, 5, 9, 1 << 41, .max / 2 + 1, .max]

  private let fixture: GraphFixture

  init() throws { fixture = try GraphFixture(songs) }

  private enum Order: CaseIterable { case none, byIndex, byTitle, byObject }

  private func request(_ order: Order, _ limit: Int?, _ offset: Int) -> FetchRequest<Song> {
    let sort: [SortDescriptor<Song>] =
      switch order {
      case .none: []
      case .byIndex: [SortDescriptor(\.rank)]
      case .byTitle: [SortDescriptor(\.title)]
      // The store cannot evaluate this comparator, so the context sorts objects.
      case .byObject: [SortDescriptor(\.title, comparator: .lexical)]
      }
    return FetchRequest(sort: sort, limit: limit, offset: offset)
  }

  @Test(.evidence("FO-06"), arguments: [false, true])
  func `limits and offsets of any size apply to every kind of fetch`(
    hasChanges: Bool
  ) throws {
    try fixture.songs([1, 2, 3, 4, 5])
    let context = fixture.context()
    let child = fixture.child(of: context)
    var titles = (1...5).map { "song \($0)" }
    if hasChanges {
      let song = Song(context: context)
      (song.title, song.rank) = ("song 6", 6)
      titles.append("song 6")
    }
    for (start, order) in Order.allCases.enumerated() {
      for (number, limit) in (Self.numbers.map(Optional.some) + [nil]).enumerated() {
        // A quick run tests each combination of order and limit with a third of the offsets.
        let first = TestScale.pick(quick: (start + number) % 3, all: 0)
        for offset in TestScale.some(Array(Self.numbers.dropFirst(first)), every: 3) {
          let page = titles.dropFirst(max(0, offset)).prefix(max(0, limit ?? .max))
          let request = request(order, limit, offset)
          let what: Comment = "\(order), limit \(limit ?? -99), offset \(offset)"
          for context in [context, child] {
            let fetched = try context.fetch(request).map(\.title)
            #expect(fetched == Array(page), what)
            let count = try context.count(for: request)
            #expect(count == page.count, what)
          }
          #expect(try context.fetchObjectIDs(request).count == page.count, what)
          #expect(try context.fetchBatched(request).map(\.title) == Array(page), what)
          #expect(try context.fetchValues(request, \.title) == Array(page), what)
          let distinct = try context.fetchValues(request, \.title, isDistinct: true)
          #expect(distinct == Array(page), what)
          let (counted, least) = try context.aggregate(request, .count, .min(\.rank))
          #expect(counted == page.count && least == page.first?.last?.wholeNumberValue, what)
        }
      }
    }
  }

  @Test(.evidence("FO-06"))
  func `limits and offsets of any size apply to live results`() throws {
    try fixture.songs([1, 2, 3, 4, 5])
    for (number, limit) in (Self.numbers.map(Optional.some) + [nil]).enumerated() {
      let first = TestScale.pick(quick: number % 2, all: 0)
      for offset in TestScale.some(Array(Self.numbers.dropFirst(first))) {
        let context = fixture.context()
        let live = try FollowedResults(request(.byIndex, limit, offset), context)
        let song = Song(context: context)
        (song.title, song.rank) = ("new", 0)
        live.check()
        let page = (["new"] + (1...5).map { "song \($0)" })
          .dropFirst(max(0, offset)).prefix(max(0, limit ?? .max))
        #expect(
          live.controller.fetchedObjects.map(\.title) == Array(page),
          "limit \(limit ?? -99), offset \(offset)")
        context.delete(song)
        live.check()
      }
    }
  }

  @Test(.evidence("FO-06")) func `limits and offsets of any size apply to asynchronous fetches`()
    async throws
  {
    try fixture.songs([1, 2, 3])
    let context = fixture.context()
    for (limit, offset) in [(Int.max, 1), (.max, .max), (-1, 0), (1, -1), (.max / 2 + 1, 1)] {
      let request = request(.byTitle, limit, offset)
      let found = try await context.fetchAsync(request).map(\.title)
      let fetched = try context.fetch(request).map(\.title)
      #expect(found == fetched, "limit \(limit), offset \(offset)")
    }
  }
}
