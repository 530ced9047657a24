public import Foundation

/// A question an object answers with yes or no.
///
/// It is made of a predicate of the language, or of a string in the format language of
/// `NSPredicate`, and can be put together of others:
///
/// ```swift
/// let fast = QueryPredicate<Car>(#Predicate { $0.topSpeed > 200 })
/// let mine = try QueryPredicate<Car>(format: "owner.name ==[c] %@", name)
/// request.predicate = fast && !mine
/// ```
///
/// Both mean the same by the same operators. What a predicate names is looked up when it is used.
/// It may have up to a million terms, and up to 64 parts within each other: terms that are joined
/// by one operator, in a loop or by ``any(_:)`` and ``all(_:)``, are one level however many there
/// are.
public struct QueryPredicate<M: ManagedObject>: Sendable {
  private let tree: PredicateTree

  private init(_ tree: PredicateTree) { self.tree = tree }

  /// Takes a predicate of the language: `#Predicate { $0.age > 5 }`.
  public init(_ predicate: Foundation.Predicate<M>) {
    tree = PredicateTree { try PredicateTranslation.expression(of: predicate, in: $0) }
  }

  /// Reads a predicate in the format language of `NSPredicate`.
  ///
  /// Arguments are values, whatever is in them: they are never read as a part of the format.
  ///
  /// - Parameters:
  ///   - format: The condition, with `%@` for a value, `%K` for the name of a property, and `%d`,
  ///     `%i`, `%ld`, `%u` and `%f` for numbers.
  ///   - arguments: What the format has places for, in order.
  /// - Throws: `predicateSyntax`, with the column and what was expected there, if the format cannot
  ///   be read, or the arguments do not fit it.
  public init(format: String, _ arguments: any Sendable...) throws {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a predicate in the format language of `NSPredicate`, as ``init(format:_:)`` does.
  public init(format: String, arguments: [any Sendable]) throws {
    let expression = try FormatParser.expression(format, arguments)
    tree = PredicateTree { _ in expression }
  }

  /// Asks whether a property of an entity has a value, stored in some form.
  init(
    _ property: PropertyDescription, of entity: EntityDescription, is value: StoredValue,
    _ form: StoredForm
  ) {
    let expression = QueryExpression.comparison(
      .property(.variable(0), .known(property, entity)), .equal,
      .constant(QueryConstant(value: value, type: QueryType(form))), [])
    tree = PredicateTree { _ in expression }
  }

  /// Returns a predicate that all of some have to hold for; without any, it holds for each object.
  public static func all(_ predicates: some Sequence<QueryPredicate>) -> QueryPredicate {
    QueryPredicate(PredicateTree(all: predicates.map(\.tree)))
  }

  /// Returns a predicate that one of some has to hold for; without any, it holds for no object.
  ///
  /// ```swift
  /// request.predicate = .any(words.map { word in
  ///   QueryPredicate(#Predicate { $0.text.contains(word) })
  /// })
  /// ```
  public static func any(_ predicates: some Sequence<QueryPredicate>) -> QueryPredicate {
    QueryPredicate(PredicateTree(any: predicates.map(\.tree)))
  }

  /// A predicate that both have to hold for.
  public func and(_ other: QueryPredicate) -> QueryPredicate {
    QueryPredicate(PredicateTree(all: [tree, other.tree]))
  }

  /// A predicate that one of both has to hold for.
  public func or(_ other: QueryPredicate) -> QueryPredicate {
    QueryPredicate(PredicateTree(any: [tree, other.tree]))
  }

  /// A predicate that holds where this one does not.
  public var not: QueryPredicate { QueryPredicate(tree.not) }

  /// A predicate that both have to hold for.
  public static func && (first: QueryPredicate, second: QueryPredicate) -> QueryPredicate {
    first.and(second)
  }

  /// A predicate that one of both has to hold for.
  public static func || (first: QueryPredicate, second: QueryPredicate) -> QueryPredicate {
    first.or(second)
  }

  /// A predicate that holds where another does not.
  public static prefix func ! (predicate: QueryPredicate) -> QueryPredicate { predicate.not }

  /// What it asks.
  ///
  /// - Throws: `unsupportedPredicate` for what cannot be asked of a store.
  func expression(in schema: Schema.Content) throws -> QueryExpression {
    try tree.expression(in: schema)
  }
}
