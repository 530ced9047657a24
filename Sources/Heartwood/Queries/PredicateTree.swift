/// A predicate that may be composed of other predicates with `and`, `or` and `not`.
///
/// Nodes are shared and immutable. A tree can be hundreds of thousands of levels deep, for example
/// if a loop adds one term at a time. Therefore, code that recurses through a tree must limit the
/// depth.
// The `@unchecked` conformance is safe, because `content` changes only in `deinit`, and only in
// nodes without other references.
final class PredicateTree: @unchecked Sendable {
  typealias Leaf = @Sendable (Schema.Content) throws -> QueryExpression

  private enum Content {
    case leaf(Leaf)
    case all([PredicateTree])
    case any([PredicateTree])
    case not(PredicateTree)
  }

  private var content: Content

  private init(_ content: Content) { self.content = content }

  /// Creates a leaf: a predicate that is not composed of other predicates.
  convenience init(_ leaf: @escaping Leaf) { self.init(.leaf(leaf)) }

  /// Creates the conjunction of the operands.
  ///
  /// Without operands, the conjunction matches everything.
  convenience init(all operands: [PredicateTree]) { self.init(.all(operands)) }

  /// Creates the disjunction of the operands.
  ///
  /// Without operands, the disjunction matches nothing.
  convenience init(any operands: [PredicateTree]) { self.init(.any(operands)) }

  /// The negation of the predicate.
  var not: PredicateTree {
    if case .not(let operand) = content { return operand }
    return PredicateTree(.not(self))
  }

  // Release the nodes in a loop, because Swift would otherwise release a deep tree recursively and
  // overflow the stack.
  deinit {
    var rest = removeOperands()
    while var node = rest.popLast() {
      if isKnownUniquelyReferenced(&node) { rest += node.removeOperands() }
    }
  }

  private func removeOperands() -> [PredicateTree] {
    switch content {
    case .leaf: return []
    case .all(let operands), .any(let operands):
      content = .all([])
      return operands
    case .not(let operand):
      content = .all([])
      return [operand]
    }
  }

  // MARK: Reading

  /// Returns the predicate as a query expression.
  ///
  /// - Throws: Any error that a leaf throws; `unsupportedPredicate` if the predicate is nested too
  ///   deeply or has too many terms.
  func expression(in schema: Schema.Content) throws -> QueryExpression {
    var reading = Reading(schema: schema)
    return try reading.expression(of: self, depth: 1)
  }

  private struct Reading {
    let schema: Schema.Content
    private var termCount = 0

    init(schema: Schema.Content) { self.schema = schema }

    mutating func expression(of node: PredicateTree, depth: Int) throws -> QueryExpression {
      try QueryExpression.requireDepth(depth)
      switch node.content {
      case .leaf(let leaf):
        termCount += 1
        // Limit the number of terms, because a small tree with shared nodes can expand into a huge
        // expression.
        guard termCount <= QueryExpression.maxTermCount else {
          throw QueryResolver.unsupported(
            "A predicate has more than \(QueryExpression.maxTermCount) terms. Split the predicate "
              + "across several requests.")
        }
        return try leaf(schema)
      case .all:
        return .all(try node.chain.map { try expression(of: $0, depth: depth + 1) })
      case .any:
        return .any(try node.chain.map { try expression(of: $0, depth: depth + 1) })
      case .not(let operand): return .not(try expression(of: operand, depth: depth + 1))
      }
    }
  }

  /// The operands of a conjunction or disjunction, with nested nodes of the same kind flattened.
  ///
  /// Each node occurs only once, because repeating a node would not change the result.
  private var chain: [PredicateTree] {
    var result: [PredicateTree] = []
    var seen: Set<ObjectIdentifier> = []
    var rest = [self]
    while let node = rest.popLast() {
      guard seen.insert(ObjectIdentifier(node)).inserted else { continue }
      switch (content, node.content) {
      case (.all, .all(let operands)), (.any, .any(let operands)): rest += operands.reversed()
      default: result.append(node)
      }
    }
    return result
  }
}

extension QueryExpression {
  /// The maximum nesting depth of a predicate.
  ///
  /// Code that processes an expression recurses once per level. Up to this depth, the recursion
  /// fits within a stack of 512 KiB.
  static var maxDepth: Int { 64 }
  /// The maximum number of terms in a predicate.
  static var maxTermCount: Int { 1_000_000 }

  /// Checks that a nesting depth is within the limit.
  ///
  /// - Throws: `unsupportedPredicate` if the depth exceeds the limit.
  static func requireDepth(_ depth: Int) throws {
    guard depth > maxDepth else { return }
    throw QueryResolver.unsupported(
      "A predicate is nested more than \(maxDepth) levels deep. Reduce the nesting. Terms that are "
        + "joined by the same AND or OR operator count as one level.")
  }
}
