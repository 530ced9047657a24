import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Random predicates over random animals, beside closures that ask the same.
@Suite("Random predicates")
struct PredicateModelTests {
  @Test(.evidence("P-09"), arguments: 0..<4 as Range<UInt64>)
  func `find what plain closures find`(seed: UInt64) throws {
    let herd = try Herd(seed: seed)
    for number in 0..<100 {
      let condition = RandomCondition.any(&herd.random, depth: number % 4)
      let predicate = try QueryPredicate<Animal>(
        format: condition.format, arguments: condition.arguments)
      try herd.check(
        predicate, condition.holds, "seed \(seed): \(condition.format) \(condition.arguments)")
    }
  }

  @Test(.evidence("P-01"), .evidence("P-09"), arguments: 0..<2 as Range<UInt64>)
  func `mean the same in both languages`(seed: UInt64) throws {
    let herd = try Herd(seed: seed)
    for number in 0..<64 {
      let condition = Self.condition(&herd.random, number % 8)
      let formatted = try QueryPredicate<Animal>(
        format: condition.format, arguments: condition.arguments)
      let place = "seed \(seed): \(condition.format) \(condition.arguments)"
      try herd.check(formatted, condition.holds, place)
      try herd.check(QueryPredicate(condition.predicate), condition.holds, "\(place), #Predicate")
    }
  }

  private typealias Triple = (
    format: String, arguments: [any Sendable], predicate: Predicate<Animal>,
    holds: (Animal) -> Bool
  )

  private static func condition(_ random: inout SeededGenerator, _ kind: Int) -> Triple {
    let (low, high) = (random.below(5) - 3, random.below(5))
    let text = RandomCondition.texts[random.below(RandomCondition.texts.count)]
    let weight = RandomCondition.numbers[random.below(RandomCondition.numbers.count)]
    let rank: Int? = random.isTrue(in256: 80) ? nil : low
    switch kind {
    case 0:
      return (
        "rank == %@ AND legs > %d", [rank, low],
        #Predicate { $0.rank == rank && $0.legs > low }, { $0.rank == rank && $0.legs > low }
      )
    case 1:
      return (
        "name <= %@ OR nick == %@", [text, text],
        #Predicate { $0.name <= text || $0.nick == text }, { $0.name <= text || $0.nick == text }
      )
    case 2:
      return (
        "NOT weight < %@", [weight], #Predicate { !($0.weight < weight) },
        { !($0.weight < weight) }
      )
    case 3:
      return (
        "legs BETWEEN {%d, %d}", [low, high], #Predicate { $0.legs >= low && $0.legs <= high },
        { $0.legs >= low && $0.legs <= high }
      )
    case 4:
      return (
        "SUBQUERY(idols, $i, $i.legs < legs).@count > 0", [],
        #Predicate { one in one.idols.contains { $0.legs < one.legs } },
        { one in one.idols.contains { $0.legs < one.legs } }
      )
    case 5:
      return (
        "home.street == %@", [text], #Predicate { $0.home?.street == text },
        { $0.home?.street == text }
      )
    case 6:
      return (
        "ALL admirers.legs != %d", [low],
        #Predicate { $0.admirers.allSatisfy { $0.legs != low } },
        { $0.admirers.allSatisfy { $0.legs != low } }
      )
    default:
      return (
        "name BEGINSWITH %@ AND legs = %d", [text, low],
        #Predicate { $0.name.starts(with: text) && $0.legs == low },
        { $0.name.starts(with: text) && $0.legs == low }
      )
    }
  }
}

/// Random animals: as they were saved, with changes that were not, and with more in one below.
private final class Herd {
  var random: SeededGenerator
  private let fixture: GraphFixture
  private let contexts: [(name: String, context: ManagedObjectContext)]
  private var all: [[Animal]] = []

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    fixture = try GraphFixture(animals)
    let first = fixture.context()
    let changed = fixture.context()
    let child = ManagedObjectContext(parent: changed)
    contexts = [("clean", fixture.context()), ("changed", changed), ("below", child)]
    try change(first, new: 30)
    try first.save()
    try change(changed, new: 4)
    try change(child, new: 4)
    all = try contexts.map { try $0.context.fetch(FetchRequest<Animal>()) }
  }

  /// Makes animals and homes, and changes and deletes some of those that are there.
  private func change(_ context: ManagedObjectContext, new: Int) throws {
    for _ in 0..<new / 10 { City(context: context).name = text() }
    let towns = try context.fetch(FetchRequest<City>())
    for _ in 0..<new / 4 { _ = Home(context: context) }
    let homes = try context.fetch(FetchRequest<Home>())
    for home in homes where random.isTrue(in256: 128) {
      home.street = text()
      home.rooms = random.isTrue(in256: 60) ? nil : random.below(5)
      home.town = random.isTrue(in256: 60) ? nil : towns[random.below(towns.count)]
    }
    let before = try context.fetch(FetchRequest<Animal>())
    for animal in before where random.isTrue(in256: 16) { context.delete(animal) }
    for number in 0..<new { _ = number % 3 == 0 ? Dog(context: context) : Animal(context: context) }
    let animals = try context.fetch(FetchRequest<Animal>())
    for animal in animals where !before.contains(animal) || random.isTrue(in256: 60) {
      (animal.name, animal.legs) = (text(), random.below(7) - 3)
      (animal.alias, animal.paws) = (animal.name, animal.legs)
      animal.nick = random.isTrue(in256: 80) ? nil : text()
      animal.rank = random.isTrue(in256: 80) ? nil : random.below(7) - 3
      animal.weight = RandomCondition.numbers[random.below(RandomCondition.numbers.count)]
      animal.home = random.isTrue(in256: 60) ? nil : homes[random.below(homes.count)]
      animal.idols = Set((0..<random.below(4)).map { _ in animals[random.below(animals.count)] })
    }
  }

  private func text() -> String {
    RandomCondition.texts[random.below(RandomCondition.texts.count)]
  }

  /// Compares what a predicate finds in each context with what a closure does.
  func check(
    _ predicate: QueryPredicate<Animal>, _ holds: (Animal) -> Bool, _ place: String
  ) throws {
    var request = FetchRequest<Animal>()
    request.predicate = predicate
    for ((name, context), animals) in zip(contexts, all) {
      let found = Set(try context.fetch(request))
      let expected = Set(animals.filter(holds))
      guard found != expected else { continue }
      Issue.record("\(place), \(name): \(found.count) found, \(expected.count) expected")
    }
    let count = try contexts[0].context.count(for: request)
    let ids = try contexts[0].context.fetchObjectIDs(request)
    let expected = all[0].filter(holds)
    #expect(count == expected.count && Set(ids) == Set(expected.map(\.objectID)), "\(place)")
  }
}
