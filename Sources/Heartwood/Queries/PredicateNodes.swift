import Foundation

// This file translates each kind of node that a Foundation predicate can contain.

extension PredicateExpressions.Value: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    guard let expression = QueryExpression(value: value) else {
      throw translation.refusal(of: value)
    }
    return expression
  }
}

extension PredicateExpressions.Variable: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    try translation.variable(key)
  }
}

extension PredicateExpressions.NilLiteral: TranslatableNode {
  func translated(by translation: PredicateTranslation) -> QueryExpression { .constant(.null) }
}

extension PredicateExpressions.KeyPath: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    switch kind {
    case .collectionCount: .summary(.count, try translation.expression(of: root))
    case .collectionIsEmpty:
      .comparison(
        .summary(.count, try translation.expression(of: root)), .equal,
        .constant(QueryConstant(value: .integer(0), type: .integer)), [])
    case .collectionFirst: .end(try translation.expression(of: root), isFirst: true)
    case .bidirectionalCollectionLast: .end(try translation.expression(of: root), isFirst: false)
    default: try translation.property(keyPath, of: root)
    }
  }
}

/// A predicate node that applies a key path to an expression.
protocol PathNode {
  var path: AnyKeyPath { get }
  var base: Any { get }
  /// Returns whether the node reads a single property of `variable`.
  func isProperty(of variable: any VariableNode) -> Bool
}

protocol VariableNode {
  var key: PredicateExpressions.VariableID { get }
}

extension PredicateExpressions.Variable: VariableNode {}

extension PredicateExpressions.KeyPath: PathNode {
  var path: AnyKeyPath { keyPath }
  var base: Any { root }

  func isProperty(of variable: any VariableNode) -> Bool {
    guard kind == nil, let root = root as? any VariableNode else { return false }
    return root.key == variable.key
  }
}

// MARK: Logic

extension PredicateExpressions.Conjunction: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .all(try translation.chain(lhs, rhs, (any ConjunctionNode).self))
  }
}

extension PredicateExpressions.Disjunction: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .any(try translation.chain(lhs, rhs, (any DisjunctionNode).self))
  }
}

extension PredicateExpressions.Negation: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .not(try translation.expression(of: wrapped))
  }
}

extension PredicateExpressions.Conditional: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .choice(
      try translation.expression(of: test), then: try translation.expression(of: trueBranch),
      otherwise: try translation.expression(of: falseBranch))
  }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .comparison(
      try translation.expression(of: lhs), .equal, try translation.expression(of: rhs), [])
  }
}

extension PredicateExpressions.NotEqual: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .comparison(
      try translation.expression(of: lhs), .notEqual, try translation.expression(of: rhs), [])
  }
}

extension PredicateExpressions.Comparison: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    try translation.requireStoredOrder(of: LHS.Output.self)
    let comparison: QueryComparison =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: throw translation.refusal(of: self)
      }
    return .comparison(
      try translation.expression(of: lhs), comparison, try translation.expression(of: rhs), [])
  }
}

extension PredicateExpressions.RangeExpressionContains: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    try translation.requireStoredOrder(of: Element.Output.self)
    let element = try translation.expression(of: element)
    if let range = range as? any RangeNode {
      return .range(
        element, lower: try translation.expression(of: range.lowerNode),
        upper: try translation.expression(of: range.upperNode), isClosed: range.isClosed)
    }
    guard let ends = ((range as? any ValueNode)?.constant as? any ValueRange)?.ends else {
      throw translation.refusal(of: range)
    }
    let (lower, upper) = (
      ends.lower.flatMap { QueryExpression(value: $0) },
      ends.upper.flatMap { QueryExpression(value: $0) }
    )
    guard (lower == nil) == (ends.lower == nil), (upper == nil) == (ends.upper == nil) else {
      throw translation.refusal(of: range)
    }
    return .range(element, lower: lower, upper: upper, isClosed: ends.isClosed)
  }
}

// MARK: Collections and strings

extension PredicateExpressions.SequenceContains: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    let element = try translation.expression(of: element)
    if let range = (sequence as? any ValueNode)?.constant as? any ValueRange,
      let lower = range.ends.lower.flatMap({ QueryExpression(value: $0) }),
      let upper = range.ends.upper.flatMap({ QueryExpression(value: $0) })
    {
      try translation.requireStoredOrder(of: RHS.Output.self)
      return .range(element, lower: lower, upper: upper, isClosed: range.ends.isClosed)
    }
    return .membership(element, try translation.expression(of: sequence), [])
  }
}

extension PredicateExpressions.CollectionContainsCollection: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .text(
      try translation.expression(of: base), .contains, try translation.expression(of: other), [])
  }
}

extension PredicateExpressions.SequenceStartsWith: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .text(
      try translation.expression(of: base), .begins, try translation.expression(of: prefix), [])
  }
}

extension PredicateExpressions.StringContainsRegex: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    let value = (regex as? any ValueNode)?.constant
    guard let pattern = value as? PredicateExpressions.PredicateRegex else {
      throw translation.refusal(of: regex)
    }
    return .text(
      try translation.expression(of: subject), .containsMatch,
      .constant(QueryConstant(value: .string(pattern.stringRepresentation), type: .text)), [])
  }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    let collection = try translation.expression(of: sequence)
    let element = try translation.element(variable, in: test)
    return .quantified(.any, collection, variable: element.variable, element.test)
  }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    let collection = try translation.expression(of: sequence)
    let element = try translation.element(variable, in: test)
    return .quantified(.all, collection, variable: element.variable, element.test)
  }
}

extension PredicateExpressions.Filter: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    let collection = try translation.expression(of: sequence)
    let element = try translation.element(variable, in: filter)
    return .filter(collection, variable: element.variable, element.test)
  }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    let wrapped = try translation.expression(of: wrapped)
    let then = try translation.binding(variable, to: wrapped, in: transform)
    // Do not check for `nil`, because a path through `nil` evaluates to `nil` anyway.
    if let path = transform as? any PathNode, path.isProperty(of: variable) { return then }
    return .whenPresent(wrapped, then: then)
  }
}

extension PredicateExpressions.NilCoalesce: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .coalescing(try translation.expression(of: lhs), try translation.expression(of: rhs))
  }
}

extension PredicateExpressions.ForcedUnwrap: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    try translation.expression(of: inner)
  }
}

// MARK: Numbers

extension PredicateExpressions.Arithmetic: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    let operation: ArithmeticOperation =
      switch op {
      case .add: .plus
      case .subtract: .minus
      case .multiply: .times
      @unknown default: throw translation.refusal(of: self)
      }
    return .arithmetic(
      try translation.expression(of: lhs), operation, try translation.expression(of: rhs),
      isFloat: Output.self == Float.self)
  }
}

extension PredicateExpressions.IntDivision: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .arithmetic(try translation.expression(of: lhs), .divided, try translation.expression(of: rhs))
  }
}

extension PredicateExpressions.FloatDivision: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .arithmetic(
      try translation.expression(of: lhs), .divided, try translation.expression(of: rhs),
      isFloat: Output.self == Float.self)
  }
}

extension PredicateExpressions.IntRemainder: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .arithmetic(
      try translation.expression(of: lhs), .remainder, try translation.expression(of: rhs))
  }
}

extension PredicateExpressions.UnaryMinus: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .negation(try translation.expression(of: wrapped))
  }
}

// MARK: Classes

extension PredicateExpressions.TypeCheck: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    let entity = try translation.entity(of: Desired.self)
    let object = QueryExpression.cast(try translation.expression(of: input), entity)
    return .comparison(object, .notEqual, .constant(.null), [])
  }
}

extension PredicateExpressions.ConditionalCast: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .cast(try translation.expression(of: input), try translation.entity(of: Desired.self))
  }
}

extension PredicateExpressions.ForceCast: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .cast(try translation.expression(of: input), try translation.entity(of: Desired.self))
  }
}
