import Foundation
import Heartwood
import HeartwoodTestSupport

/// A random condition on an animal, both as a predicate format and as a closure.
struct RandomCondition {
  var format: String
  var arguments: [any Sendable] = []
  let holds: (Animal) -> Bool

  static let strings = [
    "", "a", "A", "ab", "B", "\u{e9}", "e\u{301}", "\u{c9}t\u{e9}", "e", "zebra", "K", "\u{212A}",
    "stra\u{df}e", "\u{1F332}", "a*b", "a?b", "'", "\\", "a\u{0}b", "\r\n",
  ]
  static let numbers = [-1.5, -1, -0.0, 0, 0.5, 1, 2.25, 1e300, .infinity, .nan]

  /// Returns a condition that combines other conditions, nested at most `depth` levels deep.
  ///
  /// - Parameter prefix: The text before each property name; it is empty or names a variable.
  static func any(
    _ random: inout SeededGenerator, depth: Int, prefix: String = ""
  ) -> RandomCondition {
    guard depth > 0 else { return leaf(&random, prefix) }
    let first = any(&random, depth: depth - 1, prefix: prefix)
    switch random.below(6) {
    case 0:
      let second = any(&random, depth: depth - 1, prefix: prefix)
      return RandomCondition(
        format: "(\(first.format)) AND (\(second.format))",
        arguments: first.arguments + second.arguments
      ) { first.holds($0) && second.holds($0) }
    case 1:
      let second = any(&random, depth: depth - 1, prefix: prefix)
      return RandomCondition(
        format: "(\(first.format)) || (\(second.format))",
        arguments: first.arguments + second.arguments
      ) { first.holds($0) || second.holds($0) }
    case 2:
      return RandomCondition(format: "NOT (\(first.format))", arguments: first.arguments) {
        !first.holds($0)
      }
    case 3:
      let element = any(&random, depth: depth - 1, prefix: "$v\(depth).")
      let (sign, compare) = comparison(&random, Int.self)
      let bound = random.below(3)
      return RandomCondition(
        format: "SUBQUERY(\(prefix)idols, $v\(depth), \(element.format)).@count \(sign) \(bound)",
        arguments: element.arguments
      ) { compare($0.idols.filter(element.holds).count, bound) }
    default: return first
    }
  }

  static func comparison<Value: Comparable>(
    _ random: inout SeededGenerator, _ type: Value.Type
  ) -> (String, (Value?, Value?) -> Bool) {
    func ordered(_ test: @escaping (Value, Value) -> Bool) -> (Value?, Value?) -> Bool {
      { first, second in first.map { one in second.map { test(one, $0) } ?? false } ?? false }
    }
    switch random.below(6) {
    case 0: return ("==", { $0 == $1 })
    case 1: return ("!=", { $0 != $1 })
    case 2: return ("<", ordered(<))
    case 3: return ("<=", ordered(<=))
    case 4: return (">", ordered(>))
    default: return (">=", ordered(>=))
    }
  }

  private static func leaf(_ random: inout SeededGenerator, _ prefix: String) -> RandomCondition {
    switch random.below(11) {
    case 0, 1: integer(&random, prefix)
    case 10: mixedNumbers(&random, prefix)
    case 2: number(&random, prefix)
    case 3, 4: text(&random, prefix)
    case 5: list(&random, prefix)
    case 6: calculation(&random, prefix)
    case 7: home(&random, prefix)
    default: idols(&random, prefix)
    }
  }

  // MARK: Attributes

  private static func integer(_ random: inout SeededGenerator, _ prefix: String) -> RandomCondition
  {
    let (sign, compare) = comparison(&random, Int.self)
    let places: [(String, (Animal) -> Int?)] = [
      ("legs", { $0.legs }), ("paws", { $0.paws }), ("rank", { $0.rank }),
    ]
    let (name, value) = places[random.below(3)]
    let bound = random.below(7) - 3
    switch random.below(5) {
    case 0:
      return RandomCondition(format: "\(prefix)\(name) \(sign) nil") { compare(value($0), nil) }
    case 1:
      let (other, second) = places[random.below(3)]
      return RandomCondition(format: "\(prefix)\(name) \(sign) \(prefix)\(other)") {
        compare(value($0), second($0))
      }
    case 2:
      return RandomCondition(format: "%d \(sign) \(prefix)\(name)", arguments: [bound]) {
        compare(bound, value($0))
      }
    default:
      return RandomCondition(format: "\(prefix)\(name) \(sign) \(bound)") {
        compare(value($0), bound)
      }
    }
  }

  private static func number(_ random: inout SeededGenerator, _ prefix: String) -> RandomCondition {
    let (sign, compare) = comparison(&random, Double.self)
    let bound = numbers[random.below(numbers.count)]
    if random.isTrue(in256: 100) {
      return RandomCondition(format: "\(prefix)legs \(sign) %f", arguments: [bound]) {
        compare(Double($0.legs), bound)
      }
    }
    return RandomCondition(format: "\(prefix)weight \(sign) %@", arguments: [bound]) {
      compare($0.weight, bound)
    }
  }

  private static func text(_ random: inout SeededGenerator, _ prefix: String) -> RandomCondition {
    let places: [(String, (Animal) -> String?)] = [
      ("name", { $0.name }), ("alias", { $0.alias }), ("nick", { $0.nick }),
    ]
    let (name, value) = places[random.below(3)]
    let wanted = strings[random.below(strings.count)]
    let tests: [(String, (String, String) -> Bool)] = [
      ("CONTAINS", { $1.isEmpty || !$0.ranges(of: $1).isEmpty }),
      ("BEGINSWITH", { $0.starts(with: $1) }),
      ("ENDSWITH", { $0.reversed().starts(with: $1.reversed()) }),
      (
        "==[cd]",
        { first, second in
          func folded(_ text: String) -> String {
            text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
          }
          return folded(first) == folded(second)
        }
      ),
    ]
    if random.isTrue(in256: 128) {
      let (sign, compare) = comparison(&random, String.self)
      return RandomCondition(format: "\(prefix)\(name) \(sign) %@", arguments: [wanted]) {
        compare(value($0), wanted)
      }
    }
    let (sign, test) = tests[random.below(tests.count)]
    return RandomCondition(format: "%K \(sign) %@", arguments: [name, wanted]) {
      value($0).map { test($0, wanted) } ?? false
    }.prefixed(prefix, name)
  }

  /// Returns the condition with a prefix before its property name.
  ///
  /// With a prefix, the name becomes part of the format instead of being passed as an argument.
  private func prefixed(_ prefix: String, _ name: String) -> RandomCondition {
    guard !prefix.isEmpty else { return self }
    return RandomCondition(
      format: prefix + name + format.dropFirst(2), arguments: Array(arguments.dropFirst()),
      holds: holds)
  }

  private static func list(_ random: inout SeededGenerator, _ prefix: String) -> RandomCondition {
    let (lower, upper) = (random.below(5) - 3, random.below(4))
    let names = (0..<random.below(4)).map { _ in strings[random.below(strings.count)] }
    let ranks: [Int?] = [lower, nil, upper]
    switch random.below(4) {
    case 0:
      return RandomCondition(
        format: "\(prefix)legs BETWEEN {\(lower), %@}", arguments: [upper]
      ) { $0.legs >= lower && $0.legs <= upper }
    case 1:
      return RandomCondition(format: "\(prefix)rank IN %@", arguments: [ranks]) {
        ranks.contains($0.rank)
      }
    case 2:
      return RandomCondition(format: "\(prefix)name IN %@", arguments: [names]) {
        names.contains($0.name)
      }
    default:
      let weights = (0..<3).map { _ in numbers[random.below(numbers.count)] }
      return RandomCondition(format: "\(prefix)weight IN {%@, %@, %@}", arguments: weights) {
        weights.contains($0.weight)
      }
    }
  }

  private static func calculation(
    _ random: inout SeededGenerator, _ prefix: String
  ) -> RandomCondition {
    let (sign, compare) = comparison(&random, Int.self)
    let (factor, bound) = (random.below(7) - 3, random.below(9) - 4)
    switch random.below(3) {
    case 0:
      return RandomCondition(
        format: "\(prefix)legs + \(prefix)rank * \(factor) \(sign) \(bound)"
      ) { animal in compare(animal.rank.map { animal.legs + $0 * factor }, bound) }
    case 1:
      return RandomCondition(format: "-\(prefix)legs - \(factor) \(sign) \(bound)") {
        compare(-$0.legs - factor, bound)
      }
    default:
      return RandomCondition(format: "\(bound) / \(prefix)legs \(sign) \(factor)") {
        compare($0.legs == 0 ? nil : bound / $0.legs, factor)
      }
    }
  }

  // MARK: Relationships

  private static func home(_ random: inout SeededGenerator, _ prefix: String) -> RandomCondition {
    let (sign, compare) = comparison(&random, String.self)
    let (other, compareNumbers) = comparison(&random, Int.self)
    let wanted = strings[random.below(strings.count)]
    let bound = random.below(4)
    switch random.below(5) {
    case 0:
      return RandomCondition(format: "\(prefix)home.street \(sign) %@", arguments: [wanted]) {
        compare($0.home?.street, wanted)
      }
    case 1:
      return RandomCondition(format: "\(prefix)home.town.name \(sign) %@", arguments: [wanted]) {
        compare($0.home?.town?.name, wanted)
      }
    case 2:
      return RandomCondition(format: "\(prefix)home.rooms \(other) %d", arguments: [bound]) {
        compareNumbers($0.home?.rooms, bound)
      }
    case 3:
      return RandomCondition(format: "\(prefix)home.animals.@count \(other) \(bound)") {
        compareNumbers($0.home?.animals.count ?? 0, bound)
      }
    default: return RandomCondition(format: "\(prefix)home = nil") { $0.home == nil }
    }
  }

  private static func idols(_ random: inout SeededGenerator, _ prefix: String) -> RandomCondition {
    let (sign, compare) = comparison(&random, Int.self)
    let bound = random.below(5) - 2
    switch random.below(6) {
    case 0:
      return RandomCondition(format: "ANY \(prefix)idols.legs \(sign) \(bound)") {
        $0.idols.contains { compare($0.legs, bound) }
      }
    case 1:
      return RandomCondition(format: "ALL \(prefix)admirers.rank \(sign) \(bound)") {
        $0.admirers.allSatisfy { compare($0.rank, bound) }
      }
    case 2:
      return RandomCondition(format: "NONE \(prefix)home.animals.legs \(sign) \(bound)") {
        !($0.home?.animals ?? []).contains { compare($0.legs, bound) }
      }
    case 3:
      return RandomCondition(format: "\(prefix)idols.@sum.legs \(sign) \(bound)") {
        compare($0.idols.reduce(0) { $0 + $1.legs }, bound)
      }
    case 4:
      return RandomCondition(format: "\(prefix)idols.@max.rank \(sign) \(bound)") {
        compare($0.idols.compactMap(\.rank).max(), bound)
      }
    default:
      return RandomCondition(format: "\(prefix)home.town.homes.@count \(sign) \(bound)") {
        compare($0.home?.town?.homes.count ?? 0, bound)
      }
    }
  }
}

extension RandomCondition {
  /// Returns a conjunction of terms on indexed attributes, which indexes can serve.
  static func lookup(_ random: inout SeededGenerator) -> RandomCondition {
    let parts = (0...random.below(3)).map { _ in simpleLookup(&random) }
    return RandomCondition(
      format: parts.map { "(\($0.format))" }.joined(separator: " AND "),
      arguments: parts.flatMap(\.arguments)
    ) { animal in parts.allSatisfy { $0.holds(animal) } }
  }

  private static func simpleLookup(_ random: inout SeededGenerator) -> RandomCondition {
    let (low, high) = (random.below(7) - 3, random.below(7) - 3)
    let text = strings[random.below(strings.count)]
    let number = numbers[random.below(numbers.count)]
    switch random.below(11) {
    case 9:
      return RandomCondition(
        format: "weight >= %@ OR weight == %@", arguments: [number, Double(low)]
      ) { $0.weight >= number || $0.weight == Double(low) }
    case 10:
      let other = numbers[random.below(numbers.count)]
      return RandomCondition(
        format: "weight < %@ OR weight > %@", arguments: [number, other]
      ) { $0.weight < number || $0.weight > other }
    case 0: return RandomCondition(format: "legs == %d", arguments: [low]) { $0.legs == low }
    case 1:
      return RandomCondition(
        format: "rank == %d AND legs >= %f", arguments: [low, Double(high) - 0.5]
      ) { $0.rank == low && $0.legs >= high }
    case 2: return RandomCondition(format: "rank == nil") { $0.rank == nil }
    case 3: return RandomCondition(format: "name == %@", arguments: [text]) { $0.name == text }
    case 4:
      return RandomCondition(format: "name BEGINSWITH %@", arguments: [text]) {
        $0.name.starts(with: text)
      }
    case 5:
      return RandomCondition(format: "legs IN {%d, %d, 2.0}", arguments: [low, high]) {
        [low, high, 2].contains($0.legs)
      }
    case 6:
      return RandomCondition(format: "weight BETWEEN {%@, 1}", arguments: [number]) {
        $0.weight >= number && $0.weight <= 1
      }
    case 7:
      return RandomCondition(format: "name == %@ OR name == 'zebra'", arguments: [text]) {
        $0.name == text || $0.name == "zebra"
      }
    default:
      return RandomCondition(format: "weight > %@", arguments: [number]) { $0.weight > number }
    }
  }
}
