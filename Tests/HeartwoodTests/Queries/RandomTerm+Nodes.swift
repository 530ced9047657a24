import Foundation
import Heartwood

// These functions create the same nodes that the compiler creates for a `#Predicate`, but for
// operands whose types are known only at run time.

typealias NodeType = StandardPredicateExpression

func equality<L: NodeType, R: NodeType>(_ first: L, _ second: R) -> PredicateNode<Bool>
where L.Output == R.Output, L.Output: Equatable {
  PredicateExpressions.build_Equal(lhs: first, rhs: second)
}

func difference<L: NodeType, R: NodeType>(_ first: L, _ second: R) -> PredicateNode<Bool>
where L.Output == R.Output, L.Output: Equatable {
  PredicateExpressions.build_NotEqual(lhs: first, rhs: second)
}

func order<L: NodeType, R: NodeType>(
  _ first: L, _ kind: Int, _ second: R
) -> PredicateNode<Bool> where L.Output == R.Output, L.Output: Comparable {
  switch kind {
  case 2: PredicateExpressions.build_Comparison(lhs: first, rhs: second, op: .lessThan)
  case 3: PredicateExpressions.build_Comparison(lhs: first, rhs: second, op: .lessThanOrEqual)
  case 4: PredicateExpressions.build_Comparison(lhs: first, rhs: second, op: .greaterThan)
  default: PredicateExpressions.build_Comparison(lhs: first, rhs: second, op: .greaterThanOrEqual)
  }
}

// MARK: Logic

func conjunction(
  _ first: some NodeType<Bool>, _ second: some NodeType<Bool>
) -> PredicateNode<Bool> {
  PredicateExpressions.build_Conjunction(lhs: first, rhs: second)
}

func disjunction(
  _ first: some NodeType<Bool>, _ second: some NodeType<Bool>
) -> PredicateNode<Bool> {
  PredicateExpressions.build_Disjunction(lhs: first, rhs: second)
}

func negation(_ operand: some NodeType<Bool>) -> PredicateNode<Bool> {
  PredicateExpressions.build_Negation(operand)
}

func conditional<L: NodeType, R: NodeType>(
  _ test: some NodeType<Bool>, _ then: L, _ otherwise: R
) -> PredicateNode<L.Output> where L.Output == R.Output {
  PredicateExpressions.build_Conditional(test, then, otherwise)
}

// MARK: Numbers

func arithmetic<L: NodeType, R: NodeType>(
  _ first: L, _ sign: String, _ second: R
) -> PredicateNode<L.Output> where L.Output == R.Output, L.Output: Numeric {
  switch sign {
  case "+": PredicateExpressions.build_Arithmetic(lhs: first, rhs: second, op: .add)
  case "-": PredicateExpressions.build_Arithmetic(lhs: first, rhs: second, op: .subtract)
  default: PredicateExpressions.build_Arithmetic(lhs: first, rhs: second, op: .multiply)
  }
}

func quotient<L: NodeType, R: NodeType>(
  _ first: L, _ second: R
) -> PredicateNode<L.Output> where L.Output == R.Output, L.Output: BinaryInteger {
  PredicateExpressions.build_Division(lhs: first, rhs: second)
}

func ratio(_ first: some NodeType<Double>, _ second: some NodeType<Double>) -> PredicateNode<Double>
{
  PredicateExpressions.build_Division(lhs: first, rhs: second)
}

func remainder(_ first: some NodeType<Int>, _ second: some NodeType<Int>) -> PredicateNode<Int> {
  PredicateExpressions.build_Remainder(lhs: first, rhs: second)
}

func negative<P: NodeType>(_ operand: P) -> PredicateNode<P.Output> where P.Output: SignedNumeric {
  PredicateExpressions.build_UnaryMinus(operand)
}

// MARK: Optionals

func coalescing<P: NodeType, O: NodeType>(
  _ operand: P, _ other: O
) -> PredicateNode<O.Output> where P.Output == O.Output? {
  PredicateExpressions.build_NilCoalesce(lhs: operand, rhs: other)
}

func unwrapped<P: NodeType, Wrapped: Sendable>(
  _ operand: P
) -> PredicateNode<Wrapped> where P.Output == Wrapped? {
  PredicateExpressions.build_ForcedUnwrap(operand)
}

/// Returns the node of `operand.map { $0 > bound }`.
func isAbove<P: NodeType>(_ operand: P, _ bound: Int) -> PredicateNode<Bool?>
where P.Output == Int? {
  PredicateExpressions.build_flatMap(operand) {
    PredicateExpressions.build_Comparison(
      lhs: $0, rhs: PredicateExpressions.build_Arg(bound), op: .greaterThan)
  }
}

/// Returns the node of `operand?.contains(text)`.
func contains<P: NodeType>(_ operand: P, _ text: String) -> PredicateNode<Bool?>
where P.Output == String? {
  PredicateExpressions.build_flatMap(operand) {
    PredicateExpressions.build_contains($0, PredicateExpressions.build_Arg(text))
  }
}

// MARK: Strings

func characterCount(_ text: some NodeType<String>) -> PredicateNode<Int> {
  PredicateExpressions.build_KeyPath(root: text, keyPath: \.count)
}

func isEmpty(_ text: some NodeType<String>) -> PredicateNode<Bool> {
  PredicateExpressions.build_KeyPath(root: text, keyPath: \.isEmpty)
}

func contains(
  _ text: some NodeType<String>, _ wanted: some NodeType<String>
) -> PredicateNode<Bool> {
  PredicateExpressions.build_contains(text, wanted)
}

func starts(
  _ text: some NodeType<String>, _ wanted: some NodeType<String>
) -> PredicateNode<Bool> {
  PredicateExpressions.build_starts(text, with: wanted)
}

func contains(
  _ text: some NodeType<String>, match regex: some RegexComponent
) -> PredicateNode<Bool> {
  PredicateExpressions.build_contains(text, PredicateExpressions.build_Arg(regex))
}

// MARK: Ranges and collections

func isWithin<L: NodeType, V: NodeType, U: NodeType>(
  _ lower: L, _ value: V, _ upper: U, isClosed: Bool
) -> PredicateNode<Bool>
where L.Output == V.Output, L.Output == U.Output, L.Output: Comparable & Sendable {
  if isClosed {
    PredicateExpressions.build_contains(
      PredicateExpressions.build_ClosedRange(lower: lower, upper: upper), value)
  } else {
    PredicateExpressions.build_contains(
      PredicateExpressions.build_Range(lower: lower, upper: upper), value)
  }
}

func isIn<Range: RangeExpression & Codable & Sendable, V: NodeType>(
  range: Range, _ value: V
) -> PredicateNode<Bool> where V.Output == Range.Bound {
  PredicateExpressions.build_contains(PredicateExpressions.build_Arg(range), value)
}

func isIn<List: Sequence & Codable & Sendable, V: NodeType>(
  list: List, _ value: V
) -> PredicateNode<Bool> where V.Output == List.Element, V.Output: Equatable {
  PredicateExpressions.build_contains(PredicateExpressions.build_Arg(list), value)
}

/// Returns the closure `test`, cast to return nodes of the same type as `sample`.
func element<Test: NodeType<Bool>>(
  _ sample: Test, _ test: @escaping (PredicateExpressions.Variable<Animal>) -> PredicateNode<Bool>
) -> (PredicateExpressions.Variable<Animal>) -> Test {
  { variable in
    guard let node = test(variable) as? Test else { preconditionFailure("of another type") }
    return node
  }
}

func quantifiedNode(
  _ collection: some NodeType<Set<Animal>>, _ isAll: Bool, _ sample: some NodeType<Bool>,
  _ test: @escaping (PredicateExpressions.Variable<Animal>) -> PredicateNode<Bool>
) -> PredicateNode<Bool> {
  let test = element(sample, test)
  if isAll { return PredicateExpressions.build_allSatisfy(collection, test) }
  return PredicateExpressions.build_contains(collection, where: test)
}

func filteredCount(
  _ collection: some NodeType<Set<Animal>>, _ sample: some NodeType<Bool>,
  _ test: @escaping (PredicateExpressions.Variable<Animal>) -> PredicateNode<Bool>
) -> PredicateNode<Int> {
  PredicateExpressions.build_KeyPath(
    root: PredicateExpressions.build_filter(collection, element(sample, test)), keyPath: \.count)
}

func countNode(_ members: some NodeType<Set<Animal>>) -> PredicateNode<Int> {
  PredicateExpressions.build_KeyPath(root: members, keyPath: \.count)
}

func isEmptyNode(_ members: some NodeType<Set<Animal>>) -> PredicateNode<Bool> {
  PredicateExpressions.build_KeyPath(root: members, keyPath: \.isEmpty)
}

func isMember(
  _ members: some NodeType<Set<Animal>>, _ animal: some NodeType<Animal>
) -> PredicateNode<Bool> {
  PredicateExpressions.build_contains(members, animal)
}
