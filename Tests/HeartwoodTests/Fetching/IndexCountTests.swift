import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Counts from an index")
struct IndexCountTests {
  private static let long = String(repeating: "e\u{301}", count: 900)
  private static let names = ["", "a", "b", "\u{e9}", "e\u{301}", long, long + "a", long + "b"]
  private static let weights = [
    0, -0.0, 1, -1, 0.5, .nan, .infinity, -.infinity, .leastNonzeroMagnitude,
    .greatestFiniteMagnitude,
  ]
  private static let ranks: [Int?] = [nil, 0, 1, -1, .min, .max]
  private static let operators = ["==", "<", "<=", ">", ">=", "!="]

  /// Returns all values or, in a quick run, every other value.
  ///
  /// In a quick run, consecutive operators are combined with different values.
  private static func chosen<Value>(_ values: [Value], for number: Int) -> [Value] {
    TestScale.some(Array(values.dropFirst(TestScale.pick(quick: number % 2, all: 0))))
  }

  /// Saves animals and dogs with odd values, and returns them in a context without changes.
  private func fixture(seed: UInt64) throws -> (GraphFixture, ManagedObjectContext) {
    var random = SeededGenerator(seed: seed)
    let fixture = try GraphFixture(animals)
    let context = fixture.context()
    let homes = (0..<3).map { _ in Home(context: context) }
    for number in 0..<80 {
      let animal = number % 3 == 0 ? Dog(context: context) : Animal(context: context)
      animal.name = Self.names[random.below(Self.names.count)]
      animal.weight = Self.weights[random.below(Self.weights.count)]
      animal.rank = Self.ranks[random.below(Self.ranks.count)]
      animal.legs = random.below(3)
      animal.home = random.isTrue(in256: 100) ? nil : homes[random.below(3)]
    }
    try context.save()
    return (fixture, fixture.context())
  }

  /// Compares the count with the number of fetched objects, for animals and for dogs.
  private func check(
    _ context: ManagedObjectContext, _ format: String, _ arguments: [any Sendable], _ label: String
  ) throws {
    func check<M: Animal>(_ type: M.Type, includesSubentities: Bool) throws {
      var request = FetchRequest<M>()
      request.predicate = try QueryPredicate<M>(format: format, arguments: arguments)
      request.includesSubentities = includesSubentities
      let (count, found) = (try context.count(for: request), try context.fetch(request))
      #expect(count == found.count, "\(label): \(format) \(arguments), \(type)")
    }
    try check(Animal.self, includesSubentities: true)
    try check(Animal.self, includesSubentities: false)
    try check(Dog.self, includesSubentities: true)
  }

  @Test(
    .evidence("P-09"), .evidence("FO-02"),
    arguments: TestScale.seeds(quick: 1, all: 6, long: 20))
  func `equal the number of fetched objects`(seed: UInt64) throws {
    let (_, context) = try fixture(seed: seed)
    let label = "seed \(seed)"
    for (number, comparison) in Self.operators.enumerated() {
      for name in Self.chosen(Self.names, for: number) {
        try check(context, "name \(comparison) %@", [name], label)
      }
      for weight in Self.chosen(Self.weights, for: number) {
        try check(context, "weight \(comparison) %@", [weight], label)
        try check(context, "weight \(comparison) %@ AND weight >= 0", [weight], label)
        try check(context, "legs \(comparison) %@", [weight], label)
      }
      for rank in Self.chosen(Self.ranks, for: number) {
        if let rank {
          try check(context, "rank \(comparison) %@", [rank], label)
          try check(context, "rank \(comparison) %@ AND rank < 1", [rank], label)
          try check(context, "rank == 1 AND legs \(comparison) %@", [rank], label)
          try check(context, "rank == %@ AND rank == 1", [rank], label)
        }
        try check(context, "rank == %@ AND legs \(comparison) 1", [rank], label)
      }
    }
    for home in try context.fetch(FetchRequest<Home>()) {
      try check(context, "home == %@", [home.objectID], label)
      try check(context, "home == %@ AND legs > 0", [home.objectID], label)
    }
    try check(context, "name IN %@", [["a", "a", "\u{e9}", Self.long]], label)
    try check(context, "name IN %@ AND name != 'a'", [["a", "b"]], label)
    try check(context, "rank IN %@ AND legs == 1", [[1, 0, 1]], label)
    try check(context, "NOT legs < 1 OR legs == 2", [], label)
  }

  @Test(.evidence("FO-02")) func `read no row`() throws {
    let directory = try ScratchDirectory()
    let alias = String(repeating: "x", count: 300)
    let reopened = try Self.reopenedStore(in: directory, count: 3000, alias: alias)
    let fresh = reopened.newContext()
    let before = reopened.store.statistics.activity.verifiedPageCount
    #expect(try fresh.count(for: FetchRequest<Animal>(where: #Predicate { $0.legs == 4 })) == 300)
    #expect(try fresh.count(for: FetchRequest<Animal>(where: #Predicate { $0.legs > 4 })) == 1500)
    // The rows take about 300 pages.
    #expect(reopened.store.statistics.activity.verifiedPageCount - before < 40)
    _ = try fresh.fetch(FetchRequest<Animal>())
    #expect(reopened.store.statistics.activity.verifiedPageCount - before > 250)
    #expect(try reopened.store.verify().findings == [])
  }

  @Test(.evidence("FO-02")) func `with a limit end where the limit is reached`() throws {
    let directory = try ScratchDirectory()
    let reopened = try Self.reopenedStore(in: directory, count: 20_000, alias: "")
    let context = reopened.newContext()
    var request = FetchRequest<Animal>(where: #Predicate { $0.legs >= 1 }, limit: 1, offset: 2)
    let before = reopened.store.statistics.activity.verifiedPageCount
    #expect(try context.count(for: request) == 1)
    let limited = reopened.store.statistics.activity.verifiedPageCount - before
    request.fetchLimit = nil
    #expect(try context.count(for: request) == 17_998)
    #expect(reopened.store.statistics.activity.verifiedPageCount - before > limited + 10)
    #expect(try reopened.store.verify().findings == [])
  }

  /// Saves animals with 0 to 9 legs, and opens their store again.
  static func reopenedStore(
    in directory: ScratchDirectory, count: Int, alias: String
  ) throws -> PersistentContainer {
    let path = directory.path(of: "store")
    do {
      let container = try PersistentContainer(url: URL(filePath: path), schema: animals)
      let context = container.newContext()
      for number in 0..<count {
        let animal = Animal(context: context)
        (animal.legs, animal.alias) = (number % 10, alias)
      }
      try context.save()
    }
    return try PersistentContainer(url: URL(filePath: path), schema: animals)
  }
}
