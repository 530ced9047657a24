import Foundation
import Heartwood
import HeartwoodTestSupport

extension RandomTerms {
  // MARK: Integers

  mutating func integer(_ depth: Int) -> Integer {
    guard depth > 0 else { return simpleInteger() }
    switch form(both: 6, predicate: 5, format: 1) {
    case 0: return calculation(integer(depth - 1), "+", integer(depth - 1))
    case 1: return calculation(integer(depth - 1), "-", integer(depth - 1))
    case 2: return calculation(integer(depth - 1), "*", integer(depth - 1))
    case 3: return division(integer(depth - 1), integer(depth - 1))
    case 4:
      return Integer(
        integer(depth - 1), { "-(\($0))" }, node: { negative($0) },
        value: { Self.integral(0, $0) { $0 - $1 } })
    case 5: return memberCount(depth)
    case 100:
      return Integer(
        integer(depth - 1), integer(depth - 1), { _, _ in nil }, node: { remainder($0, $1) },
        value: { Self.integral($0, $1) { $1 == 0 ? nil : $0 % $1 } })
    case 101: return choice(condition(depth - 1), integer(depth - 1), integer(depth - 1))
    case 102: return coalesced(optionalInteger(), integer(depth - 1))
    case 103:
      return Integer(optionalInteger(), { _ in nil }, node: { unwrapped($0) }, value: { $0 })
    case 104:
      return Integer(
        text(depth - 1), { _ in nil }, node: { characterCount($0) },
        value: { $0.map { Int128($0.count) } })
    default: return summary()
    }
  }

  /// Returns the result of an operation, or `nil` if it has no result or the result is out of
  /// range.
  private static func integral(
    _ first: Int128?, _ second: Int128?, _ operation: (Int128, Int128) -> Int128?
  ) -> Int128? {
    guard let first, let second, let result = operation(first, second) else { return nil }
    return result < Int128(Int64.min) || result > Int128(UInt64.max) ? nil : result
  }

  mutating func calculation<Value: Numeric & Sendable>(
    _ first: Term<Value, Int128>, _ sign: String, _ second: Term<Value, Int128>
  ) -> Term<Value, Int128> {
    Term(
      first, second, { "(\($0) \(sign) \($1))" }, node: { arithmetic($0, sign, $1) },
      value: {
        Self.integral($0, $1) { first, second in
          guard sign == "*" else { return sign == "+" ? first + second : first - second }
          let (product, overflows) = first.multipliedReportingOverflow(by: second)
          return overflows ? nil : product
        }
      })
  }

  mutating func division<Value: BinaryInteger & Sendable>(
    _ first: Term<Value, Int128>, _ second: Term<Value, Int128>
  ) -> Term<Value, Int128> {
    Term(
      first, second, { "(\($0) / \($1))" }, node: { quotient($0, $1) },
      value: { Self.integral($0, $1) { $1 == 0 ? nil : $0 / $1 } })
  }

  mutating func simpleInteger() -> Integer {
    switch form(both: 5, predicate: 1) {
    case 0: return property("legs", \.legs) { Int128($0) }
    case 1: return property("paws", \.paws) { Int128($0) }
    case 2: return memberCount(0)
    case 100:
      // A term without a property is a constant in every form.
      let list = [random.below(5) - 2, 1]
      return Integer(
        node: { _ in
          PredicateExpressions.build_subscript(
            PredicateExpressions.build_Arg(list), PredicateExpressions.build_Arg(0))
        }, value: { _ in Int128(list[0]) })
    default: return integerConstant()
    }
  }

  mutating func integerConstant() -> Integer {
    let value = random.isTrue(in256: 20) ? .max : random.below(7) - 3
    let literal = value < 0 ? "\(value)" : "0x\(String(value, radix: 16))"
    let formats = ["%d", "%i", "%u", "%ld", "%lli", "%@", "\(value)", "\(value)", literal]
    return constant(value, Int128(value), as: one(of: formats))
  }

  mutating func optionalInteger() -> Term<Int?, Int128> {
    let subject = random.below(subjectCount)
    switch form(both: 2, predicate: 2) {
    case 0: return property("rank", \.rank) { $0.map { Int128($0) } }
    case 1:
      let (path, arguments) = name("home.rooms", of: subject)
      return Term(
        format: path.contains("#") ? "home.rooms" : path,
        arguments: path.contains("#") ? [] : arguments,
        node: { subjects in
          PredicateExpressions.build_flatMap(
            PredicateExpressions.build_KeyPath(root: subjects[subject], keyPath: \.home)
          ) { PredicateExpressions.build_KeyPath(root: $0, keyPath: \.rooms) }
        }, value: { $0[subject].home?.rooms.map { Int128($0) } })
    case 100: return roomsOfOne(isFirst: true, subject)
    default: return roomsOfOne(isFirst: false, subject)
    }
  }

  /// Returns the term `$0.home?.town?.homes.first?.rooms`, or the same term with `last`.
  private func roomsOfOne(isFirst: Bool, _ subject: Int) -> Term<Int?, Int128> {
    let end: any KeyPath<[Home], Home?> & Sendable = isFirst ? \.first : \.last
    return Term(
      node: { subjects in
        let home = PredicateExpressions.build_KeyPath(root: subjects[subject], keyPath: \.home)
        let town = PredicateExpressions.build_flatMap(home) {
          PredicateExpressions.build_KeyPath(root: $0, keyPath: \.town)
        }
        let homes = PredicateExpressions.build_flatMap(town) {
          PredicateExpressions.build_KeyPath(
            root: PredicateExpressions.build_KeyPath(root: $0, keyPath: \.homes), keyPath: end)
        }
        return PredicateExpressions.build_flatMap(homes) {
          PredicateExpressions.build_KeyPath(root: $0, keyPath: \.rooms)
        }
      }, value: { $0[subject].home?.town?.homes[keyPath: end]?.rooms.map { Int128($0) } })
  }

  /// Returns an aggregate over all members of a relationship, which only formats can express.
  private mutating func summary() -> Integer {
    let subject = random.below(subjectCount)
    let path = subject == 0 ? "idols" : "$v\(subject).idols"
    let element = random.isTrue(in256: 128) ? "legs" : "rank"
    func values(_ animals: [Animal]) -> [Int128] {
      let idols = animals[subject].idols
      return element == "legs"
        ? idols.map { Int128($0.legs) } : idols.compactMap { $0.rank.map { Int128($0) } }
    }
    switch choose(4) {
    case 0:
      return Integer(
        format: "\(path).@sum.\(element)", value: { values($0).reduce(0, +) })
    case 1: return Integer(format: "\(path).@min.\(element)", value: { values($0).min() })
    case 2: return Integer(format: "\(path).@max.\(element)", value: { values($0).max() })
    default:
      return Integer(
        format: "\(path).idols.@sum.legs",
        value: { $0[subject].idols.flatMap(\.idols).reduce(0) { $0 + Int128($1.legs) } })
    }
  }

  // MARK: Other numbers

  mutating func number(_ depth: Int) -> Number {
    let bound = one(of: RandomCondition.numbers)
    guard depth > 0 else {
      if random.isTrue(in256: 128) { return property("weight", \.weight) { $0 } }
      let literals = bound.isFinite ? ["\(bound)", "%f", "%g", "%lf", "%@"] : ["%@"]
      return constant(bound, bound, as: one(of: literals))
    }
    let operands = (number(depth - 1), number(depth - 1))
    switch form(both: 5, predicate: 1, format: 5) {
    case 0: return calculation(operands, "+", +)
    case 1: return calculation(operands, "-", -)
    case 2: return calculation(operands, "*", *)
    case 3:
      return Number(
        operands.0, operands.1, { "(\($0) / \($1))" }, node: { ratio($0, $1) },
        value: { Self.both($0, $1, /) })
    case 4:
      return Number(
        operands.0, { "-(\($0))" }, node: { negative($0) }, value: { $0.map { -$0 } })
    case 100: return choice(condition(depth - 1), operands.0, operands.1)
    case 200, 201:
      return Number(
        operands.0, operands.1, { "(\($0)) ** (\($1))" }, node: nil,
        value: { Self.both($0, $1, pow) })
    case 202:
      // Use only small integers, which are exact as floating-point numbers.
      return Number(
        property("legs", \.legs) { Double($0) }, operands.0, { "(\($0) + \($1))" }, node: nil,
        value: { Self.both($0, $1, +) })
    default:
      let subject = random.below(subjectCount)
      return Number(
        format: subject == 0 ? "idols.@avg.legs" : "$v\(subject).idols.@avg.legs",
        value: { animals in
          let legs = animals[subject].idols.map { Double($0.legs) }
          return legs.isEmpty ? nil : legs.reduce(0, +) / Double(legs.count)
        })
    }
  }

  private func calculation(
    _ operands: (Number, Number), _ sign: String, _ operation: @escaping (Double, Double) -> Double
  ) -> Number {
    Number(
      operands.0, operands.1, { "(\($0) \(sign) \($1))" }, node: { arithmetic($0, sign, $1) },
      value: { Self.both($0, $1, operation) })
  }

  private static func both<Value>(
    _ first: Value?, _ second: Value?, _ operation: (Value, Value) -> Value
  ) -> Value? {
    first.flatMap { first in second.map { operation(first, $0) } }
  }

  /// Returns a comparison of numbers of a rarely used type.
  mutating func rareNumbers() -> Condition {
    let (eighth, tenth) = (Decimal(random.below(40)) / 8, Float(random.below(5)) / 10)
    let price = property("price", \.price) { $0 as Decimal? }
    let big = property("big", \.big) { Int128($0) }
    let large = constant(UInt64.max - UInt64(random.below(4)), nil as Int128?)
    let largeConstant = Term<UInt64, Int128>(
      format: "%@", arguments: large.arguments, node: large.node,
      value: { _ in (large.arguments.first as? UInt64).map { Int128($0) } })
    switch form(both: 5, format: 3) {
    case 0: return comparison(price, constant(eighth, eighth))
    case 1:
      let sum = Term<Decimal, Decimal>(
        price, constant(eighth, eighth), { "\($0) + \($1)" }, node: { arithmetic($0, "+", $1) },
        value: { Self.both($0, $1, +) })
      return comparison(sum, price)
    case 2: return comparison(property("length", \.length) { $0 }, constant(tenth, tenth))
    case 3: return comparison(big, largeConstant)
    case 4:
      let first = calculation(big, one(of: ["+", "-", "*"]), largeConstant)
      return comparison(first, division(first, big))
    case 200: return formatComparison(big, integer(1))
    case 201: return formatComparison(price, numberAsDecimal())
    default: return formatComparison(integerAsNumber(), number(1))
    }
  }

  private mutating func numberAsDecimal() -> Term<Double, Decimal> {
    let value = Double(random.below(40)) / 8
    let operand = property("price", \.price) { $0 as Decimal? }
    return Term(
      operand, constant(value, Decimal(value)), { "(\($0) * 2 - \($1)) / 4" }, node: nil,
      value: { Self.both($0, $1) { ($0 * 2 - $1) / 4 } })
  }

  private mutating func integerAsNumber() -> Number {
    Number(property("paws", \.paws) { Double($0) }, { $0 }, node: nil, value: { $0 })
  }
}
