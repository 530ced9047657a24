import Foundation

/// The translation of a Foundation predicate into a query expression.
///
/// The nodes of a `Predicate` are generic types without a common protocol. Each supported node type
/// conforms to ``TranslatableNode`` unconditionally. A node is therefore recognised even if one of
/// its child nodes is unsupported. An unsupported subexpression without variables is evaluated to a
/// constant. Other unsupported nodes cause an error that names the node.
final class PredicateTranslation {
  let schema: Schema.Content
  private var variables: [PredicateExpressions.VariableID: QueryExpression] = [:]
  private var lastVariable = 0
  /// The nesting depth of the node that is being translated.
  private var depth = 0

  private init(_ schema: Schema.Content) { self.schema = schema }

  static func expression<M>(
    of predicate: Predicate<M>, in schema: Schema.Content
  ) throws -> QueryExpression {
    let translation = PredicateTranslation(schema)
    translation.variables[predicate.variable.key] = .variable(0)
    return try translation.expression(of: predicate.expression)
  }

  func expression(of node: Any) throws -> QueryExpression {
    depth += 1
    defer { depth -= 1 }
    try QueryExpression.requireDepth(depth)
    if let node = node as? any TranslatableNode { return try node.translated(by: self) }
    if let node = node as? any PredicateExpression,
      let value = try? node.evaluate(PredicateBindings()) as Any,
      let constant = QueryExpression(value: value)
    {
      return constant
    }
    throw refusal(of: node)
  }

  /// Returns the operands of a chain of conjunctions or disjunctions, however they are nested.
  func chain<Node>(_ first: Any, _ second: Any, _ kind: Node.Type) throws -> [QueryExpression] {
    var result: [QueryExpression] = []
    var rest = [second, first]
    while let node = rest.popLast() {
      if node is Node, let pair = node as? any PairNode {
        rest += [pair.second, pair.first]
      } else {
        result.append(try expression(of: node))
      }
    }
    return result
  }

  func refusal(of node: Any) -> ObjectGraphError {
    ObjectGraphError(
      .unsupportedPredicate,
      "A predicate contains an unsupported expression: \(Self.shown(node)). Remove the expression, "
        + "and filter the fetched objects instead.")
  }

  /// Throws `unsupportedPredicate` if a type's `<` may not sort values in the order of their stored
  /// values.
  ///
  /// For example, the values of an enumeration may be stored as strings, which sort alphabetically.
  func requireStoredOrder(of type: Any.Type) throws {
    let type = (type as? any NestableOptional.Type)?.wrappedType ?? type
    guard type is any RawRepresentable.Type else { return }
    if let type = type as? any (AttributeValue & CaseIterable & Comparable).Type,
      try Self.hasStoredOrder(type)
    {
      return
    }
    throw ObjectGraphError(
      .unsupportedPredicate,
      "A predicate compares the order of \(type) values, but the store contains only their raw "
        + "values. If the raw values have the same order as the cases, make \(type) conform to "
        + "CaseIterable. Otherwise, test whether the value is in a list, or compare raw values "
        + "with QueryPredicate(format:).")
  }

  /// Returns whether the values of a type sort in the same order as their stored values.
  private static func hasStoredOrder<Value: AttributeValue & CaseIterable & Comparable>(
    _ type: Value.Type
  ) throws -> Bool {
    let stored = try Value.allCases.sorted().map { try $0.storedValue }
    return zip(stored, stored.dropFirst()).allSatisfy { first, second in
      StoredValue.areInOrder(first, second, isDecimal: false)
    }
  }

  /// Returns a description of a node for error messages.
  ///
  /// The description resembles the source code as closely as possible.
  private static func shown(_ node: Any) -> String {
    let name = String(describing: type(of: node)).prefix { $0 != "<" }
    return node is any PredicateExpression ? "\(name), \(node)" : "\(node)"
  }

  // MARK: Variables

  func variable(_ key: PredicateExpressions.VariableID) throws -> QueryExpression {
    guard let known = variables[key] else {
      throw ObjectGraphError(
        .unsupportedPredicate,
        "A predicate uses a variable that it does not declare. Use only the parameters of the "
          + "predicate's closures.")
    }
    return known
  }

  /// Translates a condition in which `variable` is an element of a collection.
  ///
  /// - Returns: The number of the variable, and the translated condition.
  func element<Value>(
    _ variable: PredicateExpressions.Variable<Value>, in test: Any
  ) throws -> (variable: Int, test: QueryExpression) {
    lastVariable += 1
    let number = lastVariable
    variables[variable.key] = .variable(number)
    return (number, try expression(of: test))
  }

  /// Translates `node`, with `variable` replaced by `expression`.
  func binding<Value>(
    _ variable: PredicateExpressions.Variable<Value>, to expression: QueryExpression, in node: Any
  ) throws -> QueryExpression {
    variables[variable.key] = expression
    return try self.expression(of: node)
  }

  // MARK: Key paths

  func property(_ keyPath: AnyKeyPath, of root: Any) throws -> QueryExpression {
    let rootType = Swift.type(of: keyPath).rootType
    // Check for an object type first, because casting to the protocol `CompositeValue` is slow.
    let isOfObject = rootType is ManagedObject.Type
    // Translate a key path from a composite attribute to one of its elements.
    if !isOfObject, rootType is any CompositeValue.Type, let node = root as? any PathNode,
      let whole = node.path.appending(path: keyPath)
    {
      return try property(whole, of: node.base)
    }
    let base = try expression(of: root)
    guard isOfObject else {
      throw ObjectGraphError(
        .unsupportedPredicate,
        "\(keyPath.phrase) does not refer to a stored property. In a predicate, use only stored "
          + "properties of objects.")
    }
    if PropertyProbe.isID(keyPath, in: schema) { return base }
    let path = try schema.path(keyPath)
    guard path.count == 1, let step = path.first else {
      throw ObjectGraphError(
        .unsupportedPredicate,
        "A key path in a predicate must name a single stored property, but this key path reads "
          + "several properties: "
          + path.map { "\($0.entity.name).\($0.property.name)" }.joined(separator: ", ")
          + ". Use these stored properties directly in the predicate.")
    }
    return .property(base, .known(step.property, step.entity))
  }

  /// Returns the entity of the class to which a predicate casts an object.
  func entity(of type: Any.Type) throws -> EntityDescription {
    guard let type = type as? ManagedObject.Type else {
      throw ObjectGraphError(
        .unsupportedPredicate,
        "A predicate casts an object to \(type), which is not a subclass of ManagedObject. Cast "
          + "the object to a class that is part of the schema.")
    }
    return try schema.requiredEntity(of: type)
  }
}

/// A type of predicate node that can be translated into a query expression.
protocol TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression
}

/// A predicate node that represents a conjunction or a disjunction.
protocol PairNode {
  var first: Any { get }
  var second: Any { get }
}

/// A predicate node that represents a conjunction.
protocol ConjunctionNode: PairNode {}

/// A predicate node that represents a disjunction.
protocol DisjunctionNode: PairNode {}

extension PredicateExpressions.Conjunction: ConjunctionNode {
  var first: Any { lhs }
  var second: Any { rhs }
}

extension PredicateExpressions.Disjunction: DisjunctionNode {
  var first: Any { lhs }
  var second: Any { rhs }
}

/// A predicate node that represents a range whose bounds are other nodes.
protocol RangeNode {
  var lowerNode: Any { get }
  var upperNode: Any { get }
  var isClosed: Bool { get }
}

extension PredicateExpressions.ClosedRange: RangeNode {
  var lowerNode: Any { lower }
  var upperNode: Any { upper }
  var isClosed: Bool { true }
}

extension PredicateExpressions.Range: RangeNode {
  var lowerNode: Any { lower }
  var upperNode: Any { upper }
  var isClosed: Bool { false }
}

/// A predicate node that represents a constant.
protocol ValueNode {
  var constant: Any { get }
}

extension PredicateExpressions.Value: ValueNode {
  var constant: Any { value }
}
