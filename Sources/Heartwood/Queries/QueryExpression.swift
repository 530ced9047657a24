/// An expression in a predicate, before its names are resolved.
///
/// Foundation predicates and format strings are both translated into this form.
///
/// ``QueryResolver`` resolves the names in the expression for an entity, and checks the types.
indirect enum QueryExpression: Sendable {
  case constant(QueryConstant)
  /// Several values, such as those after `IN`.
  case list([QueryExpression])
  /// A variable, identified by its number.
  ///
  /// Variable 0 is the fetched object. Each other variable is an element of a collection over which
  /// the predicate iterates.
  case variable(Int)
  /// A property of an object, or of each object in a collection.
  case property(QueryExpression, QueryProperty)
  case comparison(QueryExpression, QueryComparison, QueryExpression, StringDifferences)
  /// A test of whether a value is in a range.
  ///
  /// `isClosed` is `true` if the range includes its upper bound.
  case range(QueryExpression, lower: QueryExpression?, upper: QueryExpression?, isClosed: Bool)
  /// A test of whether a collection contains a value.
  case membership(QueryExpression, QueryExpression, StringDifferences)
  case text(QueryExpression, StringOperator, QueryExpression, StringDifferences)
  case all([QueryExpression])
  case any([QueryExpression])
  case not(QueryExpression)
  /// The first value, or the second value if the first is `nil`.
  case coalescing(QueryExpression, QueryExpression)
  /// The second value if the first value is not `nil`; otherwise, `nil`.
  case whenPresent(QueryExpression, then: QueryExpression)
  case choice(QueryExpression, then: QueryExpression, otherwise: QueryExpression)
  /// The result of an arithmetic operator, rounded to a `Float` if `isFloat` is `true`.
  case arithmetic(QueryExpression, ArithmeticOperation, QueryExpression, isFloat: Bool = false)
  case negation(QueryExpression)
  /// A test of whether any, all or none of a collection's elements match a condition, depending on
  /// the quantifier.
  case quantified(Quantifier, QueryExpression, variable: Int, QueryExpression)
  /// The elements of a collection that match a condition.
  case filter(QueryExpression, variable: Int, QueryExpression)
  case summary(Summary, QueryExpression)
  /// The first or the last element of a collection.
  case end(QueryExpression, isFirst: Bool)
  /// A test of whether the fetched object matches a text query.
  case textSearch(TextQuery)
  /// The object if it belongs to the entity; otherwise, `nil`.
  case cast(QueryExpression, EntityDescription)
}

/// A reference to a property.
enum QueryProperty: Sendable {
  case name(String)
  case known(PropertyDescription, EntityDescription)
}

/// A comparison operator.
enum QueryComparison: String, Sendable {
  case equal = "="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="

  /// The comparison that gives the same result with the operands swapped.
  var exchanged: QueryComparison {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    }
  }
}

/// A string operator.
enum StringOperator: Sendable {
  case contains
  case begins
  case ends
  /// Matches a pattern in which `*` matches any number of characters and `?` matches one character.
  case like
  /// Matches the entire string against a regular expression.
  case matches
  /// Searches the string for a match of a regular expression.
  case containsMatch
}

/// An arithmetic operator.
enum ArithmeticOperation: Sendable {
  case plus
  case minus
  case times
  case divided
  case remainder
  case power
}

/// A quantifier over the elements of a collection.
enum Quantifier: Sendable {
  case any
  case all
  case none
}

/// An aggregate over the elements of a collection.
enum Summary: String, Sendable {
  case count
  case sum
  case min
  case max
  case average = "avg"
}
