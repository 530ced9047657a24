/// A predicate as it was put together of others by `and`, `or` and `not`.
///
/// Nodes are shared, never changed, and may be hundreds of thousands of levels deep, as after a
/// loop that adds one term each time. So nothing recurses from one node to the next.
// @unchecked because `content` changes in `deinit` only, for nodes that nobody else has.
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

  /// A predicate that is not put together of others.
  convenience init(_ leaf: @escaping Leaf) { self.init(.leaf(leaf)) }

  /// A predicate that all parts have to hold for; without parts, it holds for everything.
  convenience init(all parts: [PredicateTree]) { self.init(.all(parts)) }

  /// A predicate that one of its parts has to hold for; without parts, it holds for nothing.
  convenience init(any parts: [PredicateTree]) { self.init(.any(parts)) }

  /// The predicate that holds where this one does not.
  var not: PredicateTree {
    if case .not(let part) = content { return part }
    return PredicateTree(.not(self))
  }

  // Left to itself, a node would release its parts, each of those its own, and so on.
  deinit {
    var rest = takeParts()
    while var node = rest.popLast() {
      if isKnownUniquelyReferenced(&node) { rest += node.takeParts() }
    }
  }

  private func takeParts() -> [PredicateTree] {
    switch content {
    case .leaf: return []
    case .all(let parts), .any(let parts):
      content = .all([])
      return parts
    case .not(let part):
      content = .all([])
      return [part]
    }
  }

  // MARK: Reading

  /// Returns what the predicate asks.
  ///
  /// - Throws: `unsupportedPredicate` if it is nested too deep, or has too many terms; what its
  ///   leaves throw.
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
        // Nodes that occur several times can make a small tree a huge expression.
        guard termCount <= QueryExpression.maxTermCount else {
          throw QueryResolver.unsupported(
            "A predicate has more than \(QueryExpression.maxTermCount) terms.")
        }
        return try leaf(schema)
      case .all:
        return .all(try node.chain.map { try expression(of: $0, depth: depth + 1) })
      case .any:
        return .any(try node.chain.map { try expression(of: $0, depth: depth + 1) })
      case .not(let part): return .not(try expression(of: part, depth: depth + 1))
      }
    }
  }

  /// The parts of a conjunction or a disjunction, with those of its parts of the same kind in their
  /// place; each node is in it once, as it says the same each time.
  private var chain: [PredicateTree] {
    var result: [PredicateTree] = []
    var seen: Set<ObjectIdentifier> = []
    var rest = [self]
    while let node = rest.popLast() {
      guard seen.insert(ObjectIdentifier(node)).inserted else { continue }
      switch (content, node.content) {
      case (.all, .all(let parts)), (.any, .any(let parts)): rest += parts.reversed()
      default: result.append(node)
      }
    }
    return result
  }
}

extension QueryExpression {
  /// The most parts of a predicate within each other.
  ///
  /// All that is done with an expression recurses once for each level; this many fit the smallest
  /// stack that threads have, 512 KiB.
  static var maxDepth: Int { 64 }
  /// The most terms that a predicate is put together of.
  static var maxTermCount: Int { 1_000_000 }

  /// - Throws: `unsupportedPredicate` for a level that is too deep.
  static func requireDepth(_ depth: Int) throws {
    guard depth > maxDepth else { return }
    throw QueryResolver.unsupported(
      "A predicate has more than \(maxDepth) parts within each other. Terms that one AND or OR "
        + "joins count once, however many there are.")
  }
}
