import Foundation
import Heartwood
import HeartwoodTestSupport

/// A node of a `#Predicate` that has the given output type.
typealias PredicateNode<Output> = any StandardPredicateExpression<Output>

/// The animals to which a term can refer.
///
/// These are the fetched animal and the elements of enclosing collections.
typealias Subjects = [PredicateExpressions.Variable<Animal>]

/// A random term of a predicate in up to three forms.
///
/// The forms are a string of the format language, the nodes that the compiler would create for a
/// `#Predicate`, and a closure. The closure returns `nil` if the term has no value because an
/// operand is `nil`, an operation overflows, or a divisor is zero.
struct Term<Output, Model> {
  var format: String?
  var arguments: [any Sendable] = []
  var node: ((Subjects) -> PredicateNode<Output>)?
  let value: ([Animal]) -> Model?
}

extension Term {
  init<A, M>(
    _ operand: Term<A, M>, _ format: (String) -> String?,
    node: ((PredicateNode<A>) -> PredicateNode<Output>)?, value: @escaping (M?) -> Model?
  ) {
    self.init(
      format: operand.format.flatMap(format), arguments: operand.arguments,
      node: node.flatMap { make in operand.node.map { inner in { make(inner($0)) } } },
      value: { value(operand.value($0)) })
  }

  /// Creates a term with two operands, given in the order in which the format contains them.
  init<A, B, M, N>(
    _ first: Term<A, M>, _ second: Term<B, N>, _ format: (String, String) -> String?,
    node: ((PredicateNode<A>, PredicateNode<B>) -> PredicateNode<Output>)?,
    value: @escaping (M?, N?) -> Model?
  ) {
    let strings = first.format.flatMap { text in second.format.map { (text, $0) } }
    self.init(
      format: strings.flatMap { format($0, $1) }, arguments: first.arguments + second.arguments,
      node: node.flatMap { make in
        first.node.flatMap { one in
          second.node.map { other in { make(one($0), other($0)) } }
        }
      }, value: { value(first.value($0), second.value($0)) })
  }
}

/// A term that is true or false.
typealias Condition = Term<Bool, Bool>
/// An integer term, whose closure computes with a type that is wide enough for all results.
typealias Integer = Term<Int, Int128>
typealias Number = Term<Double, Double>
typealias Text = Term<String, String>
typealias OptionalText = Term<String?, String>

extension Term where Output == Bool, Model == Bool {
  /// Returns whether the condition holds.
  ///
  /// A condition without a value does not hold.
  func holds(_ animals: [Animal]) -> Bool { value(animals) ?? false }

  /// The condition as an operand of a comparison with other conditions.
  var asValue: Condition {
    Condition(self, { "(\($0))" }, node: { $0 }, value: { $0 ?? false })
  }

  func predicate() -> Predicate<Animal>? {
    node.map { node in Predicate<Animal> { variable in node([variable]) } }
  }
}

/// Generates random terms of predicates.
struct RandomTerms {
  /// The languages that the generated terms must support.
  enum Language { case both, format, predicate }

  var random: SeededGenerator
  var language = Language.both
  let ids: [ManagedObjectID]
  /// The number of animals to which a term can refer.
  var subjectCount = 1
  /// The number of times that each choice was made, by source location.
  private var choices: [String: [Int]] = [:]

  init(_ random: SeededGenerator, _ ids: [ManagedObjectID]) {
    self.random = random
    self.ids = ids
  }

  /// Returns a random number from 0 to `count` - 1.
  ///
  /// The number is one of the numbers that this source location has returned least often, so that
  /// few calls cover all choices.
  mutating func choose(
    _ count: Int, file: String = #fileID, line: Int = #line, column: Int = #column
  ) -> Int {
    let location = "\(file) \(line) \(column) \(count)"
    var counts = choices[location] ?? Array(repeating: 0, count: count)
    let least = counts.min() ?? 0
    let options = counts.indices.filter { counts[$0] == least }
    let choice = options[random.below(options.count)]
    counts[choice] += 1
    choices[location] = counts
    return choice
  }

  /// Returns the number of a random form of a term.
  ///
  /// Numbers below `both` are forms that both languages have. Numbers from 100 are forms that only
  /// `#Predicate` has, and numbers from 200 are forms that only formats have.
  mutating func form(
    both: Int, predicate: Int = 0, format: Int = 0, file: String = #fileID, line: Int = #line
  ) -> Int {
    let more = language == .predicate ? predicate : language == .format ? format : 0
    let form = choose(both + more, file: file, line: line, column: more)
    return form < both ? form : form - both + (language == .predicate ? 100 : 200)
  }

  mutating func one<Element>(
    of elements: [Element], file: String = #fileID, line: Int = #line, column: Int = #column
  ) -> Element {
    elements[choose(elements.count, file: file, line: line, column: column)]
  }

  /// Returns a property's name as it is written in a format, with the arguments that it needs.
  mutating func name(_ path: String, of subject: Int) -> (String, [any Sendable]) {
    guard subject == 0 else { return ("$v\(subject).\(path)", []) }
    switch choose(8) {
    case 0: return ("SELF.\(path)", [])
    case 1: return ("#\(path)", [])
    case 2: return ("%K", [path])
    default: return (path, [])
    }
  }

  /// Returns a term that reads a property of one of the animals.
  mutating func property<Value: Sendable, Model>(
    _ name: String, _ keyPath: any KeyPath<Animal, Value> & Sendable,
    _ model: @escaping (Value) -> Model?
  ) -> Term<Value, Model> {
    let subject = random.below(subjectCount)
    let (path, arguments) = self.name(name, of: subject)
    return Term(
      format: path, arguments: arguments,
      node: { PredicateExpressions.build_KeyPath(root: $0[subject], keyPath: keyPath) },
      value: { model($0[subject][keyPath: keyPath]) })
  }

  /// Returns a term for a constant value.
  func constant<Value: Codable & Sendable, Model>(
    _ value: Value, _ model: Model?, as format: String = "%@"
  ) -> Term<Value, Model> {
    Term(
      format: format, arguments: format.contains("%") ? [value] : [],
      node: { _ in PredicateExpressions.build_Arg(value) }, value: { _ in model })
  }
}

// MARK: Comparisons

extension RandomTerms {
  private static let signs: [[String]] = [
    ["=", "=="], ["!=", "<>"], ["<"], ["<=", "=<"], [">"], [">=", "=>"],
  ]

  /// Returns a comparison with `==` or `!=`.
  ///
  /// The overload for `Comparable` values can use any comparison operator.
  mutating func comparison<Value: Equatable, Model: Equatable>(
    _ first: Term<Value, Model>, _ second: Term<Value, Model>, options: String = ""
  ) -> Condition {
    let isEqual = choose(2) == 0
    let sign = one(of: Self.signs[isEqual ? 0 : 1]) + options
    return Condition(
      first, second, { "\($0) \(sign) \($1)" },
      node: { isEqual ? equality($0, $1) : difference($0, $1) },
      value: { ($0 == $1) == isEqual })
  }

  mutating func comparison<Value: Comparable, Model: Comparable>(
    _ first: Term<Value, Model>, _ second: Term<Value, Model>, options: String = ""
  ) -> Condition {
    let kind = choose(6)
    let sign = one(of: Self.signs[kind]) + options
    return Condition(
      first, second, { "\($0) \(sign) \($1)" },
      node: { kind == 0 ? equality($0, $1) : kind == 1 ? difference($0, $1) : order($0, kind, $1) },
      value: { Self.holds($0, kind, $1) })
  }

  /// Returns a comparison of different types or of optional values, which only formats can express.
  mutating func formatComparison<A, B, Model: Comparable>(
    _ first: Term<A, Model>, _ second: Term<B, Model>, options: String = ""
  ) -> Condition {
    let kind = choose(6)
    let sign = one(of: Self.signs[kind]) + options
    return Condition(
      first, second, { "\($0) \(sign) \($1)" }, node: nil, value: { Self.holds($0, kind, $1) })
  }

  private static func holds<Model: Comparable>(_ first: Model?, _ kind: Int, _ second: Model?)
    -> Bool
  {
    switch kind {
    case 0: return first == second
    case 1: return first != second
    default: break
    }
    guard let first, let second else { return false }
    return switch kind {
    case 2: first < second
    case 3: first <= second
    case 4: first > second
    default: first >= second
    }
  }
}
