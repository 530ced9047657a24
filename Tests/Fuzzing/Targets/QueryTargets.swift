import Foundation
import Heartwood
import HeartwoodEngine

/// Queries that users type.
extension FuzzTarget {
  /// Predicates in the format language of `NSPredicate`.
  static let format = FuzzTarget(
    "format", maxByteCount: 192, words: formatWords, seeds: formatInputs
  ) { bytes in
    var input = FuzzInput(bytes)
    let text = input.text()
    let values: [any Sendable] = [3, "count", 2.5, Date(timeIntervalSinceReferenceDate: 9)]
    let count = text.utf8.count { $0 == UInt8(ascii: "%") }
    let arguments = (0..<min(count, 8)).map { values[$0 % values.count] }
    _ = try QueryPredicate(format: text, arguments: arguments)
    return nil
  }

  private static let formatWords = [
    " AND ", " OR ", " NOT ", " IN ", " BETWEEN ", " CONTAINS", " BEGINSWITH", " ENDSWITH",
    " LIKE ", " MATCHES ", "ANY ", "SOME ", "ALL ", "NONE ", "SUBQUERY(", "SELF", "TRUEPREDICATE",
    "FALSEPREDICATE", "YES", "NO", "NULL", "nil", "[cd]", "[c]", "@count", "@sum", "@min", "@max",
    "@avg", "$x", "%@", "%K", "%d", "%lld", "%f", "%%", "==", "!=", "<>", "<=", "=<", ">=", "=>",
    "&&", "||", "**", "{", "}", "(", ")", "'", "\"", "\\u00e9", "0x", "1e308",
    "9223372036854775808", "18446744073709551615", "#",
  ]

  @Sendable private static func formatInputs() -> [[UInt8]] {
    [
      "title BEGINSWITH[cd] 'a' AND (count + 2) * 3 >= 7", "ANY labels.count IN {1, 2, 0x3}",
      "SUBQUERY(labels, $i, $i.count > 2 AND $i.title != 'x').@count > 1",
      "supplier.name LIKE 'a*' OR NOT serial BETWEEN {1, 5}", "labels.@avg.weight > 2.5e1",
      "count == %d AND %K <= %f", "-count ** 2 < serial / -9223372036854775808",
      "TRUEPREDICATE || title MATCHES \"(a+)\\u00e9\"", "#in == NULL && !isActive",
    ].map { Array($0.utf8) }
  }

  /// Search text that users type, and the words of any text.
  static let userInput = FuzzTarget(
    "user-input", maxByteCount: 128,
    words: ["AND", "OR", "NOT", "NEAR(", ", 5)", "\"", "*", "~", "title:", "-", "(", ")"],
    seeds: userInputs
  ) { bytes in
    var input = FuzzInput(bytes)
    let options = input.byte()
    let text = input.text()
    _ = TextQuery(userInput: text)
    var tokens = TextTokens()
    tokenizers[Int(options) % tokenizers.count].tokenize(text, into: &tokens)
    var (start, position) = (0, -1)
    for token in tokens.tokens {
      guard token.sourceStart >= start, token.sourceEnd > token.sourceStart,
        token.sourceEnd <= text.utf8.count, token.position > position
      else { return "A word is not behind the one before it." }
      guard let term = String(validating: tokens.term(token), as: UTF8.self), !term.isEmpty,
        term.utf8.count <= 128
      else { return "A term is not valid text." }
      (start, position) = (token.sourceStart, token.position)
    }
    return nil
  }

  private static let tokenizers = (0..<8).map { options in
    TextTokenizer.words(
      stemming: options & 1 == 0 ? .none : .english, ignoresCase: options & 2 == 0,
      ignoresDiacritics: options & 4 == 0)
  }

  @Sendable private static func userInputs() -> [[UInt8]] {
    [
      "swift databases", "\"taylor swift\" -singer", "dat* wrod~ title:swift",
      "(a OR b) AND NOT c NEAR(one two, 5)",
      "Größe don't 3.14 naïve relational running 東京都 한국",
    ].enumerated().map { [UInt8($0)] + Array($1.utf8) }
  }
}
