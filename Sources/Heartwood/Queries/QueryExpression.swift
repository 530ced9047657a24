/// A question about an object, or a part of one: what both languages of predicates are read as.
///
/// Nothing in it is looked up yet. ``QueryResolver`` does that for an entity, and finds out there
/// whether the parts fit together.
indirect enum QueryExpression: Sendable {
  case constant(QueryConstant)
  /// Several values, as they stand behind IN.
  case list([QueryExpression])
  /// 0 is the object that is asked, others are the elements of collections that are gone through.
  case variable(Int)
  /// A property of an object, or those of all objects of a collection.
  case property(QueryExpression, QueryProperty)
  case comparison(QueryExpression, QueryComparison, QueryExpression, TextOptions)
  /// Whether a value lies in a range; the upper end belongs to it or not.
  case range(QueryExpression, lower: QueryExpression?, upper: QueryExpression?, isClosed: Bool)
  /// Whether a value is one of a collection.
  case membership(QueryExpression, QueryExpression, TextOptions)
  case text(QueryExpression, TextTest, QueryExpression, TextOptions)
  case all([QueryExpression])
  case any([QueryExpression])
  case not(QueryExpression)
  /// The first, or the second if that has no value.
  case coalescing(QueryExpression, QueryExpression)
  /// The second if the first has a value, and no value otherwise.
  case whenPresent(QueryExpression, then: QueryExpression)
  case choice(QueryExpression, then: QueryExpression, otherwise: QueryExpression)
  case arithmetic(QueryExpression, ArithmeticOperation, QueryExpression)
  case negation(QueryExpression)
  /// Whether a condition holds for elements of a collection.
  case quantified(Quantifier, QueryExpression, variable: Int, QueryExpression)
  /// The elements of a collection that a condition holds for.
  case filter(QueryExpression, variable: Int, QueryExpression)
  case summary(Summary, QueryExpression)
  /// The first or the last element of a collection.
  case end(QueryExpression, isFirst: Bool)
  /// How many characters a text has.
  case length(QueryExpression)
  /// The object if it is of an entity, and nothing otherwise.
  case cast(QueryExpression, EntityDescription)
}

/// How a property is named.
enum QueryProperty: Sendable {
  case name(String)
  case known(PropertyDescription, EntityDescription)
}

/// How two values are compared.
enum QueryComparison: String, Sendable {
  case equal = "="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="

  /// The comparison that says the same with the sides exchanged.
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

/// What is looked for in a text.
enum TextTest: Sendable {
  case contains
  case begins
  case ends
  /// With `*` for any characters and `?` for one.
  case like
  /// A regular expression for all of it.
  case matches
  /// A regular expression for some of it.
  case containsMatch
}

/// What makes no difference between two texts.
struct TextOptions: OptionSet, Sendable {
  let rawValue: UInt8

  static let ignoresCase = TextOptions(rawValue: 1)
  static let ignoresDiacritics = TextOptions(rawValue: 2)
}

/// What is calculated from two numbers.
enum ArithmeticOperation: Sendable {
  case plus
  case minus
  case times
  case divided
  case remainder
  case power
}

/// For which elements of a collection a condition is to hold.
enum Quantifier: Sendable {
  case any
  case all
  case none
}

/// What is made of all elements of a collection.
enum Summary: String, Sendable {
  case count
  case sum
  case min
  case max
  case average = "avg"
}
