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
public struct QueryPredicate<M: ManagedObject>: Sendable {
  private let content: Content

  private indirect enum Content: Sendable {
    case language(Foundation.Predicate<M>)
    case expression(QueryExpression)
    case all(Content, Content)
    case any(Content, Content)
    case not(Content)
  }

  private init(_ content: Content) { self.content = content }

  /// Takes a predicate of the language: `#Predicate { $0.age > 5 }`.
  public init(_ predicate: Foundation.Predicate<M>) { content = .language(predicate) }

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
    content = .expression(try FormatParser.expression(format, arguments))
  }

  /// Asks whether a property of an entity has a value, stored in some form.
  init(
    _ property: PropertyDescription, of entity: EntityDescription, is value: StoredValue,
    _ form: StoredForm
  ) {
    content = .expression(
      .comparison(
        .property(.variable(0), .known(property, entity)), .equal,
        .constant(QueryConstant(value: value, type: QueryType(form))), []))
  }

  /// A predicate that both have to hold for.
  public func and(_ other: QueryPredicate) -> QueryPredicate {
    QueryPredicate(.all(content, other.content))
  }

  /// A predicate that one of both has to hold for.
  public func or(_ other: QueryPredicate) -> QueryPredicate {
    QueryPredicate(.any(content, other.content))
  }

  /// A predicate that holds where this one does not.
  public var not: QueryPredicate { QueryPredicate(.not(content)) }

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
  func expression(in schema: Schema.Content) throws -> QueryExpression {
    try Self.expression(content, schema)
  }

  private static func expression(
    _ content: Content, _ schema: Schema.Content
  ) throws -> QueryExpression {
    switch content {
    case .language(let predicate):
      try PredicateTranslation.expression(of: predicate, in: schema)
    case .expression(let expression): expression
    case .all(let first, let second):
      .all([try expression(first, schema), try expression(second, schema)])
    case .any(let first, let second):
      .any([try expression(first, schema), try expression(second, schema)])
    case .not(let part): .not(try expression(part, schema))
    }
  }
}
