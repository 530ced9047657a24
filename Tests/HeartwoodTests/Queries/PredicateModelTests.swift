import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Compares random predicates with equivalent closures, on random animals.
@Suite("Random predicates")
struct PredicateModelTests {
  @Test(.evidence("P-09"), arguments: 0..<2 as Range<UInt64>)
  func `random predicates equal plain closures`(seed: UInt64) throws {
    let herd = try Herd(seed: seed)
    for number in 0..<TestScale.pick(quick: 50, all: 2000) {
      let condition = RandomCondition.any(&herd.random, depth: number % 4)
      let predicate = try QueryPredicate<Animal>(
        format: condition.format, arguments: condition.arguments)
      try herd.check(
        predicate, condition.holds, "seed \(seed): \(condition.format) \(condition.arguments)")
    }
  }

  @Test(.evidence("P-01"), .evidence("P-09"), arguments: 0..<2 as Range<UInt64>)
  func `random predicates mean the same in both languages`(seed: UInt64) throws {
    let herd = try Herd(seed: seed)
    for number in 0..<TestScale.pick(quick: 24, all: 1280) {
      let condition = Self.condition(&herd.random, number % 24)
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
    let text = RandomCondition.strings[random.below(RandomCondition.strings.count)]
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
    case 8...15: return attributeCondition(&random, kind, low, text)
    case 16...22: return relatedCondition(kind, low, text)
    default:
      return (
        "name BEGINSWITH %@ AND legs = %d", [text, low],
        #Predicate { $0.name.starts(with: text) && $0.legs == low },
        { $0.name.starts(with: text) && $0.legs == low }
      )
    }
  }

  private static func attributeCondition(
    _ random: inout SeededGenerator, _ kind: Int, _ low: Int, _ text: String
  ) -> Triple {
    let high = low + random.below(4)
    let date = Date(timeIntervalSinceReferenceDate: Double(random.below(5)) / 3)
    let price = Decimal(random.below(40)) / 8
    let (length, big) = (Float(random.below(5)) / 10, UInt64.max - UInt64(random.below(4)))
    switch kind {
    case 8:
      let legs = [low, high, 0]
      return (
        "legs IN %@", [legs], #Predicate { legs.contains($0.legs) }, { legs.contains($0.legs) }
      )
    case 9:
      return (
        "legs BETWEEN {%d, %d}", [low, high], #Predicate { (low...high).contains($0.legs) },
        { (low...high).contains($0.legs) }
      )
    case 10:
      return (
        "legs + 2 * paws > %d", [low], #Predicate { $0.legs + 2 * $0.paws > low },
        { $0.legs + 2 * $0.paws > low }
      )
    case 11:
      return (
        "rank > %d", [low], #Predicate { if let rank = $0.rank { rank > low } else { false } },
        { $0.rank.map { $0 > low } ?? false }
      )
    case 12:
      return (
        "isTame == TRUE AND born >= %@", [date], #Predicate { $0.isTame && $0.born >= date },
        { $0.isTame && $0.born >= date }
      )
    case 13:
      return (
        "price < %@ OR big = %@", [price, big], #Predicate { $0.price < price || $0.big == big },
        { $0.price < price || $0.big == big }
      )
    case 14:
      return (
        "(length > %@ AND name == %@) OR (NOT length > %@ AND alias < %@)",
        [length, text, length, text],
        #Predicate { $0.length > length ? $0.name == text : $0.alias < text },
        { $0.length > length ? $0.name == text : $0.alias < text }
      )
    default:
      return (
        "name CONTAINS %@ AND NOT nick = nil", [text],
        #Predicate { $0.name.contains(text) && $0.nick != nil },
        { (text.isEmpty || $0.name.contains(text)) && $0.nick != nil }
      )
    }
  }

  private static func relatedCondition(_ kind: Int, _ low: Int, _ text: String) -> Triple {
    let least = Int.min
    switch kind {
    case 16:
      return (
        "idols.@count >= %d", [low], #Predicate { $0.idols.count >= low },
        { $0.idols.count >= low }
      )
    case 17:
      return (
        "ANY idols.name == %@", [text], #Predicate { $0.idols.contains { $0.name == text } },
        { $0.idols.contains { $0.name == text } }
      )
    case 18:
      return (
        "NONE admirers.legs > %d", [low], #Predicate { !$0.admirers.contains { $0.legs > low } },
        { !$0.admirers.contains { $0.legs > low } }
      )
    case 19:
      return (
        "home.town.name == %@ OR home = nil", [text],
        #Predicate { $0.home?.town?.name == text || $0.home == nil },
        { $0.home?.town?.name == text || $0.home == nil }
      )
    case 20:
      return (
        "home.rooms != nil AND home.rooms > %d", [low],
        #Predicate { ($0.home?.rooms ?? least) > low }, { ($0.home?.rooms ?? least) > low }
      )
    case 21:
      return (
        "SUBQUERY(idols, $i, $i.legs > %d).@count = idols.@count", [low],
        #Predicate { $0.idols.filter { $0.legs > low }.count == $0.idols.count },
        { $0.idols.allSatisfy { $0.legs > low } }
      )
    default:
      return (
        "isTame == TRUE AND home.animals.@count > 1", [],
        #Predicate { $0.isTame && ($0.home?.animals.count ?? 0) > 1 },
        { $0.isTame && ($0.home?.animals.count ?? 0) > 1 }
      )
    }
  }
}
