/// An expression in a predicate, resolved so that it can be evaluated for any number of rows.
struct QueryTerm {
  typealias Value = (QueryScope) throws -> StoredValue
  typealias Values = (QueryScope) throws -> [StoredValue]
  typealias Condition = (QueryScope) throws -> Bool

  /// The closure that evaluates a term.
  ///
  /// Each case's closure returns a different type.
  enum Content {
    case value(Value)
    case values(Values)
    case condition(Condition)
  }

  /// The name of the term in error messages and query plans.
  let name: String
  let type: QueryType
  let content: Content
  /// The term's value if the term is a constant; otherwise, `nil`.
  var constant: StoredValue?
  /// The exact decimal value of the constant, or `nil` if it equals the shortest decimal
  /// representation of `constant`.
  var decimal: StoredValue?
  /// The term's values if the term is a list of constants; otherwise, `nil`.
  var constants: [StoredValue]?
  /// The property if the term is a property of the fetched object; otherwise, `nil`.
  var property: PropertyDescription?
  /// A Boolean value that indicates whether the term is the fetched object itself.
  var isSubject = false
  /// The tests that an object must pass for the condition to be true, if the term is a condition.
  var demands: [QueryDemand] = []
  /// The text search, if the term tests whether objects match a text query.
  var textSearch: TextSearch?

  init(
    _ name: String, _ type: QueryType, property: PropertyDescription? = nil,
    isSubject: Bool = false, _ value: @escaping Value
  ) {
    self.name = name
    self.type = type
    self.property = property
    self.isSubject = isSubject
    content = .value(value)
  }

  init(_ name: String, _ type: QueryType, values: @escaping Values) {
    self.name = name
    self.type = type
    content = .values(values)
  }

  init(_ name: String, _ condition: @escaping Condition) {
    self.name = name
    type = .bool
    content = .condition(condition)
  }

  init(constant: StoredValue, _ type: QueryType) {
    self.init(constant.isNull ? "nil" : type.phrase, type) { _ in constant }
    self.constant = constant
  }

  /// Creates a list of constants of the given type.
  init(_ name: String, _ type: QueryType, constants: [StoredValue]) {
    self.init(name, .list(type), values: { _ in constants })
    self.constants = constants
  }

  /// The term and its type, for error messages.
  var phrase: String {
    // Omit the type of a constant, because constants are named after their types.
    constant == nil ? "\(name) (\(type.phrase))" : name
  }
}

extension QueryTerm {
  /// Converts a constant term to the type of the term with which it is compared.
  ///
  /// - Parameter other: The term with which this term is compared.
  /// - Returns: The converted term. The term is returned unchanged if it is not a constant, if
  ///   `other` is also a constant, or if the type of `other` cannot represent the constant.
  func fitted(to other: QueryTerm) -> QueryTerm {
    guard let constant, other.constant == nil else { return self }
    let value = constant.fitted(to: other.type)
    guard value != constant else { return self }
    return QueryTerm(constant: value, other.type)
  }
}

extension StoredValue {
  /// Converts this value to `type`, the type of the value with which this value is compared.
  ///
  /// - Returns: The converted value, or this value if the type cannot represent it.
  func fitted(to type: QueryType) -> StoredValue {
    switch (self, type) {
    case (.double(bits: let bits), .integer):
      return Int64(exactly: Double(bitPattern: bits)).map { .integer($0) } ?? self
    case (.integer(let value), .number):
      guard let number = Double(exactly: value) else { return self }
      return StoredValue.double(number).fitted(to: type)
    case (.double(bits: let bits), .number(isFloat: true)):
      // Round the number, because a literal may have more digits than a `Float` can represent.
      let (number, rounded) = (Double(bitPattern: bits), Float(Double(bitPattern: bits)))
      // Do not convert a number that rounding would turn into infinity or zero, because such a
      // number does not equal any `Float`.
      guard rounded.isInfinite == number.isInfinite, rounded.isZero == number.isZero else {
        return self
      }
      return .double(Double(rounded))
    case (.integer(0), .bool): return .bool(false)
    case (.integer(1), .bool): return .bool(true)
    default: return self
    }
  }

  /// A Boolean value that indicates whether all values that equal this value have the same
  /// representation and hash.
  var isHashedAsCompared: Bool {
    switch self {
    case .null, .bool, .integer, .uuid, .string, .bytes: true
    case .largeInteger, .double, .date: false
    }
  }
}
