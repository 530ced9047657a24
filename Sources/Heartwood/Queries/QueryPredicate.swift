public import Foundation

/// A condition on objects, for use in fetch requests.
///
/// A predicate is created from a Foundation predicate or from a string in the format language of
/// `NSPredicate`. Predicates can be composed:
///
/// ```swift
/// let fast = QueryPredicate<Car>(#Predicate { $0.topSpeed > 200 })
/// let mine = try QueryPredicate<Car>(format: "owner.name ==[c] %@", name)
/// request.predicate = fast && !mine
/// ```
///
/// Operators have the same meaning in both forms. Names are resolved when the predicate is used. A
/// predicate may have up to a million terms and up to 64 levels of nesting. Terms that are joined
/// by the same operator, whether in a loop or with ``any(_:)`` or ``all(_:)``, form a single level.
/// Each pair of parentheses in a format string counts as three levels.
public struct QueryPredicate<M: ManagedObject>: Sendable {
  private let tree: PredicateTree

  private init(_ tree: PredicateTree) { self.tree = tree }

  /// Creates a predicate from a Foundation predicate, such as `#Predicate { $0.age > 5 }`.
  public init(_ predicate: Foundation.Predicate<M>) {
    tree = PredicateTree { try PredicateTranslation.expression(of: predicate, in: $0) }
  }

  /// Creates a predicate from a string in the format language of `NSPredicate`.
  ///
  /// Arguments are treated only as values and are never parsed as part of the format.
  ///
  /// - Parameters:
  ///   - format: The condition, with `%@` for a value, `%K` for the name of a property, and `%d`,
  ///     `%i`, `%ld`, `%u` and `%f` for numbers.
  ///   - arguments: The values for the placeholders of the format, in order.
  /// - Throws: `predicateSyntax` if the format cannot be parsed or the arguments do not match the
  ///   placeholders. The message states the column and what was expected at that position.
  public init(format: String, _ arguments: any Sendable...) throws {
    try self.init(format: format, arguments: arguments)
  }

  /// Creates a predicate from a format string and an array of arguments.
  ///
  /// The parameters and errors are the same as in ``init(format:_:)``.
  public init(format: String, arguments: [any Sendable]) throws {
    let expression = try FormatParser.expression(format, arguments)
    tree = PredicateTree { _ in expression }
  }

  /// Creates a predicate that tests whether objects match a text query.
  ///
  /// The entity must declare a ``TextIndex``.
  public init(matching query: TextQuery) {
    tree = PredicateTree { _ in .textSearch(query) }
  }

  /// Creates a predicate that tests the string at a key path.
  init(
    path keyPath: any PartialKeyPath<M> & Sendable, _ test: StringTest,
    _ differences: StringDifferences
  ) {
    tree = PredicateTree { schema in
      let property = try schema.path(keyPath).reduce(.variable(0)) { base, step in
        QueryExpression.property(base, .known(step.property, step.entity))
      }
      let text = QueryExpression.constant(QueryConstant(value: .string(test.text), type: .text))
      return switch test.kind {
      case .equality: .comparison(property, .equal, text, differences)
      case .text(let test): .text(property, test, text, differences)
      }
    }
  }

  /// Returns the conjunction of several predicates.
  ///
  /// If there are no predicates, the result matches every object.
  public static func all(_ predicates: some Sequence<QueryPredicate>) -> QueryPredicate {
    QueryPredicate(PredicateTree(all: predicates.map(\.tree)))
  }

  /// Returns the disjunction of several predicates.
  ///
  /// If there are no predicates, the result matches no object.
  ///
  /// ```swift
  /// request.predicate = .any(words.map { word in
  ///   QueryPredicate(#Predicate { $0.text.contains(word) })
  /// })
  /// ```
  public static func any(_ predicates: some Sequence<QueryPredicate>) -> QueryPredicate {
    QueryPredicate(PredicateTree(any: predicates.map(\.tree)))
  }

  /// Returns the conjunction of this predicate and `other`.
  public func and(_ other: QueryPredicate) -> QueryPredicate {
    QueryPredicate(PredicateTree(all: [tree, other.tree]))
  }

  /// Returns the disjunction of this predicate and `other`.
  public func or(_ other: QueryPredicate) -> QueryPredicate {
    QueryPredicate(PredicateTree(any: [tree, other.tree]))
  }

  /// The negation of the predicate.
  public var not: QueryPredicate { QueryPredicate(tree.not) }

  /// Returns the conjunction of two predicates.
  public static func && (first: QueryPredicate, second: QueryPredicate) -> QueryPredicate {
    first.and(second)
  }

  /// Returns the disjunction of two predicates.
  public static func || (first: QueryPredicate, second: QueryPredicate) -> QueryPredicate {
    first.or(second)
  }

  /// Returns the negation of a predicate.
  public static prefix func ! (predicate: QueryPredicate) -> QueryPredicate { predicate.not }

  /// Returns the predicate as a query expression.
  ///
  /// - Throws: `unsupportedPredicate` if a store cannot evaluate the predicate.
  func expression(in schema: Schema.Content) throws -> QueryExpression {
    try tree.expression(in: schema)
  }
}
