import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Parses random sequences of words of the format language, and randomly altered valid formats.
@Suite("Randomised predicate formats")
struct FormatFuzzTests {
  private static let words = [
    "legs", "name", "rank", "weight", "nick", "idols", "home", "home.town.name", "idols.legs",
    "price", "born", "isTame", "code", "big", "mood", "place", "SELF", "unknown", "$i", "$",
    "(", ")", "{", "}", "[", "]", ",", ".", "@count", "@sum.legs", "@max.name", "@", "#",
    "==", "=", "!=", "<>", "<", "<=", "=<", ">", ">=", "=>", "!", "&&", "||", "+", "-", "*", "/",
    "**", "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH[c]", "ENDSWITH[cd]", "LIKE",
    "MATCHES", "ANY", "ALL", "NONE", "SOME", "SUBQUERY(idols, $i,", "TRUEPREDICATE",
    "FALSEPREDICATE", "NULL", "nil", "TRUE", "NO", "1", "0", "-3", "2.5", "1e308", "1e999",
    "99999999999999999999", "'a'", "\"b\"", "'a*?'", "'['", "'(a+)+$'", "'\\u00e9'", "%@", "%K",
    "%d", "%f", "%%", "%", "\u{1F332}", "\u{0}", "\r\n", "_", "\\",
  ]
  private static let whole = [
    "name BEGINSWITH[cd] 'a' AND (legs + 2) * 3 >= 7", "ANY idols.legs IN {1, 2, 3}",
    "SUBQUERY(idols, $i, $i.legs > 2 AND $i.name != 'x').@count > 1",
    "home.town.name LIKE 'a*' OR NOT rank BETWEEN {1, 5}", "idols.@avg.weight > 2.5",
    "price == %@ AND born < %@", "%K == %@", "-legs ** 2 < rank / 0",
  ]

  @Test(.evidence("P-02"), .evidence("P-07"), arguments: TestScale.seeds(quick: 1, all: 3))
  func `randomised formats are rejected or evaluated, and never trap`(seed: UInt64) throws {
    let zoo = try Zoo()
    var random = SeededGenerator(seed: seed)
    var answered = 0
    for number in 0..<Herd.questionCount(8000) {
      let format = number % 2 == 0 ? Self.phrase(&random) : Self.changed(&random)
      // Usually pass as many arguments as there are percent signs.
      let count = number % 5 == 0 ? random.below(3) : format.count { $0 == "%" }
      let arguments = (0..<count).map { _ in Self.argument(&random) }
      do {
        var request = FetchRequest<Animal>()
        request.predicate = try QueryPredicate(format: format, arguments: arguments)
        _ = try zoo.context.fetch(request)
        answered += 1
      } catch let error as ObjectGraphError {
        let kinds: [ObjectGraphError.Kind] = [
          .predicateSyntax, .unknownProperty, .unsupportedPredicate, .unknownEntity,
        ]
        #expect(kinds.contains(error.kind), "seed \(seed): \(format.debugDescription): \(error)")
      }
    }
    #expect(answered > 100)
  }

  private static func phrase(_ random: inout SeededGenerator) -> String {
    (0...random.below(9)).map { _ in words[random.below(words.count)] }.joined(separator: " ")
  }

  /// Returns a valid format in which some characters were removed, doubled, swapped, or replaced by
  /// words.
  private static func changed(_ random: inout SeededGenerator) -> String {
    var text = Array(whole[random.below(whole.count)])
    for _ in 0...random.below(3) where !text.isEmpty {
      let place = random.below(text.count)
      switch random.below(4) {
      case 0: text.remove(at: place)
      case 1: text.insert(text[place], at: place)
      case 2: text.replaceSubrange(place...place, with: Array(words[random.below(words.count)]))
      default: text.swapAt(place, random.below(text.count))
      }
    }
    return String(text)
  }

  private static func argument(_ random: inout SeededGenerator) -> any Sendable {
    switch random.below(8) {
    case 0: random.below(5)
    case 1: "legs"
    case 2: Double.nan
    case 3: [1, 2, 3]
    case 4: Date()
    case 5: Decimal(3)
    case 6: Int?.none
    default: UInt64.max
    }
  }
}
