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
    for number in 0..<Herd.questionCount(100) {
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
    for number in 0..<Herd.questionCount(64) {
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
