/// A part of a predicate that was resolved, and is ready to be run for any number of rows.
struct QueryTerm {
  typealias Value = (QueryScope) throws -> StoredValue
  typealias Values = (QueryScope) throws -> [StoredValue]
  typealias Condition = (QueryScope) throws -> Bool

  /// What running it gives.
  enum Content {
    case value(Value)
    case values(Values)
    case condition(Condition)
  }

  /// What it is called in an error.
  let name: String
  let type: QueryType
  let content: Content
  /// What it is for every row, if it is a constant.
  var constant: StoredValue?
  /// What it holds for every row, if it is a list of constants.
  var constants: [StoredValue]?
  /// Which property it is of the object that is asked, if it is one.
  var property: PropertyDescription?
  /// Whether it is that object itself.
  var isSubject = false
  /// What it asks of properties, as far as an index can help with that; all of it must hold.
  var demands: [QueryDemand] = []

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
    self.init(constant.isNull ? "nil" : type.sentence, type) { _ in constant }
    self.constant = constant
  }
}

extension QueryTerm {
  /// A constant in the form of what it is compared with, where it is the same value; so it can be
  /// looked up in an index.
  func fitted(to other: QueryTerm) -> QueryTerm {
    guard let constant, other.constant == nil else { return self }
    let value = constant.fitted(to: other)
    guard value != constant else { return self }
    return QueryTerm(constant: value, other.type)
  }
}

extension StoredValue {
  /// The value in the form of what it is compared with, where it is the same value.
  func fitted(to term: QueryTerm) -> StoredValue {
    switch (self, term.type) {
    case (.number(let bits), .integer):
      return Int64(exactly: Double(bitPattern: bits)).map { .integer($0) } ?? self
    case (.integer(let value), .number):
      guard let number = Double(exactly: value) else { return self }
      return StoredValue.number(number).fitted(to: term)
    case (.number(let bits), .number):
      // What is written in a predicate has more digits than the attribute.
      guard case .attribute(.float, _) = term.property?.kind else { return self }
      let (number, rounded) = (Double(bitPattern: bits), Float(Double(bitPattern: bits)))
      // Too large or too small for the attribute, it is equal to none of its values.
      guard rounded.isInfinite == number.isInfinite, rounded.isZero == number.isZero else {
        return self
      }
      return .number(Double(rounded))
    case (.integer(0), .bool): return .bool(false)
    case (.integer(1), .bool): return .bool(true)
    default: return self
    }
  }

  /// Whether values that are equal to this one are the same when they are hashed.
  var isHashedAsCompared: Bool {
    switch self {
    case .null, .bool, .integer, .uuid, .string, .bytes: true
    case .largeInteger, .number, .date: false
    }
  }
}
