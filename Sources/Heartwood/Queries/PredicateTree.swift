/// A predicate composed of others with `and`, `or` and `not`.
///
/// Nodes are shared and immutable. A tree can be hundreds of thousands of levels deep, for example
/// after a loop that adds one term at a time, so no code recurses from node to node.
// @unchecked because `content` changes only in `deinit`, for nodes without other references.
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

  /// Creates a predicate that is not composed.
  convenience init(_ leaf: @escaping Leaf) { self.init(.leaf(leaf)) }

  /// Creates the conjunction of the operands; without operands, it matches everything.
  convenience init(all operands: [PredicateTree]) { self.init(.all(operands)) }

  /// Creates the disjunction of the operands; without operands, it matches nothing.
  convenience init(any operands: [PredicateTree]) { self.init(.any(operands)) }

  /// The negation of the predicate.
  var not: PredicateTree {
    if case .not(let operand) = content { return operand }
    return PredicateTree(.not(self))
  }

  // Without this, releasing a deep tree would recurse and overflow the stack.
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

  /// Returns the expression of the predicate.
  ///
  /// - Throws: `unsupportedPredicate` if the nesting is too deep or there are too many terms; the
  ///   errors of its leaves.
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
        // Shared nodes can expand a small tree into a huge expression.
        guard termCount <= QueryExpression.maxTermCount else {
          throw QueryResolver.unsupported(
            "A predicate has more than \(QueryExpression.maxTermCount) terms.")
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

  /// The operands of a conjunction or a disjunction, with nested ones of the same kind flattened;
  /// each node occurs once, since repeating it does not change the result.
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
  /// All processing of an expression recurses once per level; this depth fits the smallest stack of
  /// a thread, 512 KiB.
  static var maxDepth: Int { 64 }
  /// The maximum number of terms in a predicate.
  static var maxTermCount: Int { 1_000_000 }

  /// - Throws: `unsupportedPredicate` for a level that is too deep.
  static func requireDepth(_ depth: Int) throws {
    guard depth > maxDepth else { return }
    throw QueryResolver.unsupported(
      "A predicate is nested more than \(maxDepth) levels deep. Terms that one AND or OR "
        + "joins count as one level.")
  }
}
