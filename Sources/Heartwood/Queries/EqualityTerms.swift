import Foundation

/// The conditions of a predicate of the kind "this attribute is this value"; all must hold.
///
/// Nodes of a `Predicate` are generic types without a common protocol; each kind that is understood
/// conforms to one here, without conditions, so that one unknown child does not hide the others.
struct EqualityTerms {
  /// By which key path an attribute is named, and its value.
  var terms: [(keyPath: AnyKeyPath, value: StoredValue)] = []
  /// Whether the terms are all there is: nothing is left to evaluate.
  var isWhole = true

  /// No condition at all.
  init() {}

  init<M>(_ predicate: Predicate<M>) {
    collect(predicate.expression)
  }

  fileprivate mutating func collect(_ expression: Any) {
    guard let node = expression as? any EqualityNode else {
      isWhole = false
      return
    }
    node.collect(into: &self)
  }

  fileprivate mutating func collectEquality(_ first: Any, _ second: Any) {
    let pairs = [(first, second), (second, first)]
    for (path, constant) in pairs {
      guard let path = path as? any PathNode, path.isOnVariable,
        let constant = constant as? any ConstantNode, let value = constant.storedValue
      else { continue }
      return terms.append((path.path, value))
    }
    isWhole = false
  }
}

private protocol EqualityNode {
  func collect(into terms: inout EqualityTerms)
}

private protocol PathNode {
  var path: AnyKeyPath { get }
  var isOnVariable: Bool { get }
}

private protocol ConstantNode {
  /// The constant in its stored form; `nil` if it has none.
  var storedValue: StoredValue? { get }
}

extension PredicateExpressions.Conjunction: EqualityNode {
  fileprivate func collect(into terms: inout EqualityTerms) {
    terms.collect(lhs)
    terms.collect(rhs)
  }
}

extension PredicateExpressions.Equal: EqualityNode {
  fileprivate func collect(into terms: inout EqualityTerms) { terms.collectEquality(lhs, rhs) }
}

extension PredicateExpressions.KeyPath: PathNode {
  fileprivate var path: AnyKeyPath { keyPath }
  fileprivate var isOnVariable: Bool { root is any VariableNode }
}

private protocol VariableNode {}
extension PredicateExpressions.Variable: VariableNode {}

extension PredicateExpressions.Value: ConstantNode {
  fileprivate var storedValue: StoredValue? {
    guard let value = value as? any AttributeValue else { return nil }
    return try? value.storedValue
  }
}

extension PredicateExpressions.NilLiteral: ConstantNode {
  fileprivate var storedValue: StoredValue? { .null }
}
