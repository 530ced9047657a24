import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Offsets over an index")
struct OffsetTests {
  /// Long names have shortened index keys, which do not determine the order of their entries.
  private static let long = String(repeating: "o", count: 900)
  private static let names = ["", "a", "b", long, long + "a", long + "b"]

  private static func orders<M: Animal>(_ type: M.Type) -> [[SortDescriptor<M>]] {
    [
      [], [SortDescriptor(\.legs)], [SortDescriptor(\.name)], [SortDescriptor(\.weight)],
      [SortDescriptor(\.name, order: .reverse)], [SortDescriptor(\.legs, order: .reverse)],
      [SortDescriptor(\.rank), SortDescriptor(\.legs)], [SortDescriptor(\.paws)],
    ]
  }

  private static let formats = [
    "TRUEPREDICATE", "legs > 0", "legs == 1", "name >= 'a'", "weight < 3", "weight >= 0",
    "rank == 1", "rank == 1 AND legs > 0", "paws > 0", "legs > 0 AND paws > 0", "legs IN {0, 2}",
  ]

  /// Saves animals and dogs with odd values.
  private func fixture(_ random: inout SeededGenerator) throws -> GraphFixture {
    let fixture = try GraphFixture(animals)
    let context = fixture.context()
    for number in 0..<90 {
      let animal = number % 3 == 0 ? Dog(context: context) : Animal(context: context)
      animal.name = Self.names[random.below(Self.names.count)]
      animal.weight = [0, -0.0, 1, .nan, .infinity, -1][random.below(6)]
      animal.rank = [nil, 0, 1][random.below(3)]
      (animal.legs, animal.paws) = (random.below(3), random.below(3))
    }
    try context.save()
    return fixture
  }

  /// Returns a context, its child, and copies of both with unsaved changes.
  private func contexts(
    _ fixture: GraphFixture, _ random: inout SeededGenerator
  ) throws -> [(String, ManagedObjectContext)] {
    let (clean, changed) = (fixture.context(), fixture.context())
    let all = try changed.fetch(FetchRequest<Animal>())
    for animal in all where random.isTrue(in256: 30) { animal.legs = random.below(3) }
    for animal in all where random.isTrue(in256: 20) { changed.delete(animal) }
    Dog(context: changed).name = "a"
    return [
      ("clean", clean), ("changed", changed), ("child", fixture.child(of: clean)),
      ("child of changed", fixture.child(of: changed)),
    ]
  }

  @Test(.evidence("FO-06"), arguments: TestScale.seeds(quick: 1, all: 30))
  func `yield the rest of what a fetch without an offset yields`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try fixture(&random)
    for (name, context) in try contexts(fixture, &random) {
      for order in Self.orders(Animal.self).indices {
        let format = Self.formats[random.below(Self.formats.count)]
        func check<M: Animal>(_ type: M.Type, includesSubentities: Bool) throws {
          var request = FetchRequest<M>()
          request.predicate = try QueryPredicate<M>(format: format)
          request.sortDescriptors = Self.orders(type)[order]
          request.includesSubentities = includesSubentities
          request.includesPendingChanges = random.isTrue(in256: 200)
          let all = try context.fetch(request).map(\.objectID)
          request.fetchOffset = [1, 2, random.below(40), all.count, all.count + 1][random.below(5)]
          request.fetchLimit = random.isTrue(in256: 60) ? nil : random.below(20)
          let page = Array(
            all.dropFirst(request.fetchOffset).prefix(request.fetchLimit ?? all.count))
          let what: Comment = """
            seed \(seed), \(name), \(format), order \(order), \(type), \
            offset \(request.fetchOffset), limit \(request.fetchLimit ?? -1), \
            pending \(request.includesPendingChanges)
            """
          let (found, batched) = (try context.fetch(request), try context.fetchBatched(request))
          #expect(found.map(\.objectID) == page, what)
          #expect(batched.map(\.objectID) == page, what)
          #expect(try context.fetchObjectIDs(request) == page, what)
          if request.includesPendingChanges {
            #expect(try context.fetchValues(request, \.legs) == found.map(\.legs), what)
          }
          #expect(try context.count(for: request) == page.count, what)
        }
        for _ in 0..<3 {
          try check(Animal.self, includesSubentities: true)
          try check(Animal.self, includesSubentities: false)
          try check(Dog.self, includesSubentities: true)
        }
      }
    }
  }

  @Test(.evidence("FO-02"), arguments: [false, true])
  func `read no skipped row`(hasPredicate: Bool) throws {
    let directory = try ScratchDirectory()
    let alias = String(repeating: "x", count: 300)
    let container = try IndexCountTests.reopenedStore(in: directory, count: 3000, alias: alias)
    let context = container.newContext()
    var request = FetchRequest<Animal>(sort: [SortDescriptor(\.legs)], limit: 10, offset: 2500)
    if hasPredicate { request.predicate = try QueryPredicate(format: "legs >= 0") }
    let before = container.store.statistics.activity.verifiedPageCount
    let found = try context.fetch(request)
    #expect(found.map(\.legs) == Array(repeating: 8, count: 10))
    // The rows take about 300 pages.
    #expect(container.store.statistics.activity.verifiedPageCount - before < 60)
    #expect(try container.store.verify().findings == [])
  }
}
