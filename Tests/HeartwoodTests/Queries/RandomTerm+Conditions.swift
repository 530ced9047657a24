import Foundation
import Heartwood
import HeartwoodTestSupport

extension RandomTerms {
  mutating func condition(_ depth: Int) -> Condition {
    guard depth > 0 else { return simpleCondition() }
    switch form(both: 7, predicate: 1) {
    case 0:
      let sign = one(of: ["AND", "&&", "and"])
      return Condition(
        condition(depth - 1), condition(depth - 1), { "(\($0)) \(sign) (\($1))" },
        node: { conjunction($0, $1) }, value: { $0 == true && $1 == true })
    case 1:
      let sign = one(of: ["OR", "||", "or"])
      return Condition(
        condition(depth - 1), condition(depth - 1), { "(\($0)) \(sign) (\($1))" },
        node: { disjunction($0, $1) }, value: { $0 == true || $1 == true })
    case 2:
      let sign = one(of: ["NOT ", "!"])
      return Condition(
        condition(depth - 1), { "\(sign)(\($0))" }, node: { negation($0) }, value: { $0 != true })
    case 3, 4: return quantified(depth)
    case 5:
      let isTame = property("isTame", \.isTame) { $0 }
      let other = random.isTrue(in256: 128) ? isTame : boolConstant()
      return comparison(condition(depth - 1).asValue, other)
    case 100: return choice(condition(depth - 1), condition(depth - 1), condition(depth - 1))
    default: return comparison(integer(depth), integer(depth - 1))
    }
  }

  private mutating func simpleCondition() -> Condition {
    switch choose(14) {
    case 0: comparison(integer(1), integer(0))
    case 1: comparison(number(1), number(0))
    case 2, 3: textCondition()
    case 4: optionalCondition()
    case 5, 12: plainValue()
    case 6: rareNumbers()
    case 7, 13: range()
    case 8: list()
    case 9: related()
    case 10: simplyQuantified()
    default: objectCondition()
    }
  }

  /// Returns a choice written with `?:`, which the format language does not have.
  func choice<Value, Model>(
    _ test: Condition, _ then: Term<Value, Model>, _ otherwise: Term<Value, Model>
  ) -> Term<Value, Model> {
    Term(
      node: test.node.flatMap { test in
        then.node.flatMap { then in
          otherwise.node.map { other in { conditional(test($0), then($0), other($0)) } }
        }
      },
      value: { test.holds($0) ? then.value($0) : otherwise.value($0) })
  }

  func coalesced<Value, Model>(
    _ first: Term<Value?, Model>, _ second: Term<Value, Model>
  ) -> Term<Value, Model> {
    Term(first, second, { _, _ in nil }, node: { coalescing($0, $1) }, value: { $0 ?? $1 })
  }

  // MARK: Values

  private mutating func optionalCondition() -> Condition {
    let bound = random.below(5) - 3
    let none = one(of: ["nil", "NULL", "NIL"])
    let subject = random.below(subjectCount)
    switch form(both: 4, predicate: 2, format: 2) {
    case 0: return comparison(optionalInteger(), optionalInteger())
    case 1:
      return comparison(optionalInteger(), constant(bound as Int?, Int128(bound), as: "%@"))
    case 2:
      let nothing = Term<Int?, Int128>(
        format: none, node: { _ in PredicateExpressions.build_NilLiteral() }, value: { _ in nil })
      return comparison(optionalInteger(), nothing)
    case 3:
      let nothing = Term<Place?, Bool>(
        format: none, node: { _ in PredicateExpressions.build_NilLiteral() }, value: { _ in nil })
      return comparison(property("place", \.place) { $0.map { _ in true } }, nothing)
    case 100:
      // if let rank { rank > bound } else { other }
      let above = Term<Bool?, Bool>(
        optionalInteger(), { _ in nil }, node: { isAbove($0, bound) },
        value: { $0.map { $0 > Int128(bound) } })
      return coalesced(above, condition(0))
    case 101:
      return Condition(
        node: {
          PredicateExpressions.build_Equal(
            lhs: PredicateExpressions.build_KeyPath(root: $0[subject], keyPath: \.home),
            rhs: PredicateExpressions.build_NilLiteral())
        }, value: { $0[subject].home == nil })
    case 200: return formatComparison(optionalInteger(), integer(0))
    default:
      return Condition(
        format: subject == 0 ? "home = nil" : "$v\(subject).home = nil",
        value: { $0[subject].home == nil })
    }
  }

  /// Returns a condition on values that are neither numbers nor strings.
  private mutating func plainValue() -> Condition {
    let date = Date(timeIntervalSinceReferenceDate: Double(random.below(5)) / 3)
    let (code, photo) = (one(of: Herd.codes), one(of: Herd.photos))
    let (mood, isTame) = (one(of: [Severity.low, .high]), random.isTrue(in256: 128))
    switch form(both: 7, format: 1) {
    case 0: return comparison(property("born", \.born) { $0 }, constant(date, date))
    case 1:
      return comparison(
        property("code", \.code) { $0.uuidString }, constant(code, code.uuidString))
    case 2: return comparison(property("photo", \.photo) { $0 }, constant(photo as Data?, photo))
    case 3:
      return comparison(
        property("mood", \.mood) { $0 },
        constant(mood, mood, as: one(of: ["%@", "\(mood.rawValue)"])))
    case 4:
      let number = constant(isTame, isTame, as: isTame ? "1" : "0")
      return comparison(
        property("isTame", \.isTame) { $0 }, choose(4) == 0 ? number : boolConstant())
    case 5: return property("isTame", \.isTame) { $0 }
    case 6:
      return constant(isTame, isTame, as: isTame ? "TRUEPREDICATE" : "FALSEPREDICATE")
    default:
      return formatComparison(
        property("photo", \.photo) { $0.map { Bytes($0) } }, constant(photo, Bytes(photo)))
    }
  }

  private mutating func boolConstant() -> Condition {
    choose(2) == 0
      ? constant(true, true, as: one(of: ["TRUE", "true", "YES", "%@"]))
      : constant(false, false, as: one(of: ["FALSE", "NO", "no", "%@"]))
  }

  private mutating func range() -> Condition {
    let (low, count) = (random.below(5) - 3, random.below(4))
    let (value, high) = (integer(0), low + count)
    let wide = Int128(low)..<Int128(high)
    switch form(both: 3, predicate: 5) {
    case 0: return within(integer(0), value, integer(0), isClosed: true)
    case 1: return within(number(0), number(1), number(0), isClosed: true)
    case 2:
      return Condition(
        value, { "\($0) BETWEEN {\(low), \(high)}" }, node: { isIn(range: low...high, $0) },
        value: { $0.map { wide.contains($0) || $0 == wide.upperBound } })
    case 100: return within(integer(0), value, integer(0), isClosed: false)
    case 101:
      return Condition(
        value, { _ in nil }, node: { isIn(range: low..<high, $0) },
        value: { $0.map { wide.contains($0) } })
    case 102:
      return Condition(
        value, { _ in nil }, node: { isIn(range: low..., $0) },
        value: { $0.map { $0 >= wide.lowerBound } })
    case 103:
      return Condition(
        value, { _ in nil }, node: { isIn(range: ..<high, $0) },
        value: { $0.map { $0 < wide.upperBound } })
    default:
      return Condition(
        value, { _ in nil }, node: { isIn(range: ...high, $0) },
        value: { $0.map { $0 <= wide.upperBound } })
    }
  }

  private func within<Value: Comparable & Sendable, Model: Comparable>(
    _ lower: Term<Value, Model>, _ value: Term<Value, Model>, _ upper: Term<Value, Model>,
    isClosed: Bool
  ) -> Condition {
    let strings = [value.format, lower.format, upper.format].compactMap { $0 }
    let isSaid = isClosed && strings.count == 3
    return Condition(
      format: isSaid ? "\(strings[0]) BETWEEN {\(strings[1]), \(strings[2])}" : nil,
      arguments: value.arguments + lower.arguments + upper.arguments,
      node: lower.node.flatMap { low in
        value.node.flatMap { middle in
          upper.node.map { high in { isWithin(low($0), middle($0), high($0), isClosed: isClosed) } }
        }
      },
      value: {
        guard let low = lower.value($0), let middle = value.value($0), let high = upper.value($0)
        else { return false }
        return middle >= low && (isClosed ? middle <= high : middle < high)
      })
  }

  private mutating func list() -> Condition {
    let numbers = (0..<random.below(4)).map { _ in random.below(7) - 3 }
    let ranks: [Int?] = [random.below(3), nil, -1]
    let weights = (0..<3).map { _ in one(of: RandomCondition.numbers) }
    let value = integer(1)
    let text = numbers.enumerated().map { "\($1)\($0 == 0 ? ".0" : "")" }.joined(separator: ", ")
    let listed = numbers.map { Int128($0) }
    func isListed(_ value: Int128?) -> Bool? { value.map { listed.contains($0) } }
    switch form(both: 5, format: 1) {
    case 0:
      return Condition(
        value, { "\($0) IN {\(text)}" }, node: { isIn(list: numbers, $0) }, value: isListed)
    case 1:
      return Condition(value, { "\($0) IN %@" }, node: { isIn(list: numbers, $0) }, value: isListed)
        .with(numbers)
    case 2:
      return Condition(
        value, { "\($0) IN %@" }, node: { isIn(list: Set(numbers), $0) }, value: isListed
      ).with(Set(numbers))
    case 3:
      return Condition(
        optionalInteger(), { "\($0) IN %@" }, node: { isIn(list: ranks, $0) },
        value: { value in ranks.contains { $0.map { Int128($0) } == value } }
      ).with(ranks)
    case 4:
      return Condition(
        number(1), { "\($0) IN %@" }, node: { isIn(list: weights, $0) },
        value: { $0.map(weights.contains) }
      ).with(weights)
    default:
      return Condition(
        value, optionalInteger(), { "\($0) IN {\($1), 2}" }, node: nil,
        value: { $0 == $1 || $0 == 2 })
    }
  }
}

extension Term {
  /// Returns the term with one more argument at the end.
  func with(_ argument: any Sendable) -> Term {
    var result = self
    result.arguments.append(argument)
    return result
  }
}

/// A sequence of bytes, which is compared lexicographically.
struct Bytes: Comparable {
  private let content: [UInt8]

  init(_ data: Data) { content = Array(data) }

  static func < (first: Bytes, second: Bytes) -> Bool {
    first.content.lexicographicallyPrecedes(second.content)
  }
}
