import Foundation
import Heartwood
import HeartwoodTestSupport

extension RandomTerms {
  mutating func text(_ depth: Int) -> Text {
    guard depth > 0 else {
      switch choose(4) {
      case 0: return property("name", \.name) { $0 }
      case 1: return property("alias", \.alias) { $0 }
      default: return textConstant()
      }
    }
    switch form(both: 1, predicate: 3) {
    case 0: return text(0)
    case 100: return coalesced(optionalText(), text(0))
    case 101: return choice(condition(0), text(0), text(0))
    default:
      return Text(optionalText(), { _ in nil }, node: { unwrapped($0) }, value: { $0 })
    }
  }

  private mutating func textConstant() -> Text {
    let odd = ["%d%\t'", "\\ \r\n", "\"a*b?"]
    let text = one(of: choose(3) == 0 ? odd : RandomCondition.strings)
    guard choose(3) > 0 else { return constant(text, text) }
    let literal = quoted(text)
    return Text(
      format: literal, node: { _ in PredicateExpressions.build_Arg(text) }, value: { _ in text })
  }

  /// Returns a string literal of the format language.
  private mutating func quoted(_ text: String) -> String {
    let quote = one(of: ["'", "\""])
    var result = quote
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "%": result += "%%"
      case "\\", "'", "\"", "*", "?": result += "\\\(scalar)"
      case _ where !scalar.isASCII && scalar.value < 0x10000 && random.isTrue(in256: 128):
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + quote
  }

  private mutating func optionalText() -> OptionalText {
    let subject = random.below(subjectCount)
    let path = subject == 0 ? "home" : "$v\(subject).home"
    switch choose(3) {
    case 0: return property("nick", \.nick) { $0 }
    case 1:
      return OptionalText(
        format: "\(path).street",
        node: { subjects in
          PredicateExpressions.build_flatMap(
            PredicateExpressions.build_KeyPath(root: subjects[subject], keyPath: \.home)
          ) { PredicateExpressions.build_KeyPath(root: $0, keyPath: \.street) }
        }, value: { $0[subject].home?.street })
    default:
      return OptionalText(
        format: "\(path).town.name",
        node: { subjects in
          let home = PredicateExpressions.build_KeyPath(root: subjects[subject], keyPath: \.home)
          let town = PredicateExpressions.build_flatMap(home) {
            PredicateExpressions.build_KeyPath(root: $0, keyPath: \.town)
          }
          return PredicateExpressions.build_flatMap(town) {
            PredicateExpressions.build_KeyPath(root: $0, keyPath: \.name)
          }
        }, value: { $0[subject].home?.town?.name })
    }
  }

  mutating func textCondition() -> Condition {
    let (first, second) = (text(1), text(1))
    let wanted = one(of: RandomCondition.strings)
    let names = (0..<random.below(4)).map { _ in one(of: RandomCondition.strings) }
    switch form(both: 7, predicate: 4, format: 10) {
    case 0: return comparison(first, second)
    case 1: return comparison(optionalText(), optionalText())
    case 2: return comparison(optionalText(), constant(wanted as String?, wanted))
    case 3: return search("CONTAINS", first, second)
    case 4: return search("BEGINSWITH", first, second)
    case 5:
      return Condition(
        first, { "\($0) == ''" }, node: { isEmpty($0) }, value: { $0.map(\.isEmpty) })
    case 6:
      return Condition(
        first, { "\($0) IN %@" }, node: { isIn(list: names, $0) }, value: { $0.map(names.contains) }
      ).with(names)
    case 100: return regularExpression(first)
    case 101:
      // nick?.contains(wanted) ?? other
      let found = Term<Bool?, Bool>(
        optionalText(), { _ in nil }, node: { contains($0, wanted) },
        value: { $0.map { Self.has($0, wanted) } })
      return coalesced(found, condition(0))
    case 102:
      let found = Term<Bool?, Bool>(
        optionalText(), { _ in nil }, node: { contains($0, wanted) },
        value: { $0.map { Self.has($0, wanted) } })
      return comparison(found, constant(nil as Bool?, nil))
    case 103: return comparison(first, second)
    case 200: return formatComparison(optionalText(), first)
    default: return textOfFormats()
    }
  }

  private static func has(_ text: String, _ wanted: String) -> Bool {
    wanted.isEmpty || !text.ranges(of: wanted).isEmpty
  }

  private func search(_ test: String, _ first: Text, _ second: Text) -> Condition {
    let isPrefix = test == "BEGINSWITH"
    return Condition(
      first, second, { "\($0) \(test) \($1)" },
      node: { isPrefix ? starts($0, $1) : contains($0, $1) },
      value: { first, second in
        first.flatMap { text in
          second.map { isPrefix ? text.starts(with: $0) : Self.has(text, $0) }
        }
      })
  }

  /// Returns a condition with a regular expression that may match any part of the string.
  private mutating func regularExpression(_ text: Text) -> Condition {
    switch choose(3) {
    case 0:
      return Condition(
        text, { _ in nil }, node: { contains($0, match: /[Bb]$/) },
        value: { $0.map { $0.last == "B" || $0.last == "b" } })
    case 1:
      return Condition(
        text, { _ in nil }, node: { contains($0, match: /z(.)b/) },
        value: { $0.map { $0 == "zebra" } })
    default:
      return Condition(
        text, { _ in nil }, node: { contains($0, match: /A/.ignoresCase()) },
        value: { $0.map { $0.lowercased().contains("a") } })
    }
  }

  // MARK: Only in formats

  private mutating func textOfFormats() -> Condition {
    let options = one(of: ["", "[c]", "[d]", "[cd]", "[dc]"])
    let fold = Self.folding(options)
    let first = Text(text(0), { $0 }, node: nil, value: { $0.map(fold) })
    let second = Text(text(0), { $0 }, node: nil, value: { $0.map(fold) })
    func search(_ word: String, _ test: @escaping (String, String) -> Bool) -> Condition {
      Condition(
        first, second, { "\($0) \(word)\(options) \($1)" }, node: nil,
        value: { first, second in first.flatMap { text in second.map { test(text, $0) } } })
    }
    switch choose(7) {
    case 0: return formatComparison(first, second, options: options)
    case 1: return search("CONTAINS", Self.has)
    case 2: return search("BEGINSWITH") { $0.starts(with: $1) }
    case 3: return search("ENDSWITH") { $0.reversed().starts(with: $1.reversed()) }
    case 4:
      let names = (0..<random.below(4)).map { _ in one(of: RandomCondition.strings) }
      let folded = names.map(fold)
      return Condition(
        first, { "\($0) IN\(options) %@" }, node: nil, value: { $0.map(folded.contains) }
      ).with(names)
    case 5:
      let pattern = one(of: ["*", "a*", "*b", "?", "a?b", "a\\*b", "*\u{e9}*", "", "Z*R?", "**e"])
      let operands = Array(fold(pattern))
      return Condition(
        first, { "\($0) LIKE\(options) %@" }, node: nil,
        value: { $0.map { Self.isLike(Array($0)[...], operands[...]) } }
      ).with(pattern)
    default: return matches(first, options)
    }
  }

  private static func folding(_ options: String) -> (String) -> String {
    var folding: String.CompareOptions = []
    if options.contains("c") { folding.insert(.caseInsensitive) }
    if options.contains("d") { folding.insert(.diacriticInsensitive) }
    return { options.isEmpty ? $0 : $0.folding(options: folding, locale: nil) }
  }

  private static func isLike(
    _ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>
  ) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    switch first {
    case "*": return (text.startIndex...text.endIndex).contains { isLike(text[$0...], rest) }
    case "?": return !text.isEmpty && isLike(text.dropFirst(), rest)
    case "\\":
      return text.first == rest.first && isLike(text.dropFirst(), rest.dropFirst())
    default: return text.first == first && isLike(text.dropFirst(), rest)
    }
  }

  /// Returns a condition with a regular expression that must match the entire string.
  private mutating func matches(_ text: Text, _ options: String) -> Condition {
    let patterns: [(String, (String) -> Bool)] = [
      ("[ab]+", { !$0.isEmpty && $0.allSatisfy { $0 == "a" || $0 == "b" } }),
      ("a.b", { $0.count == 3 && $0.first == "a" && $0.last == "b" }),
      ("", { $0.isEmpty }), ("ze(bra)?", { $0 == "ze" || $0 == "zebra" }),
      ("[^a]*", { !$0.contains("a") }), ("e|\\\\", { $0 == "e" || $0 == "\\" }),
    ]
    let (pattern, test) = one(of: patterns)
    return Condition(
      text, { "\($0) MATCHES\(options) %@" }, node: nil, value: { $0.map(test) }
    ).with(pattern)
  }
}
