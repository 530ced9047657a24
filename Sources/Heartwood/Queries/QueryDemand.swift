/// A necessary condition for a predicate, in a form that an index or a key lookup can test.
///
/// Every object that matches the predicate passes the test, but other objects may also pass it.
struct QueryDemand {
  /// The value tested by a demand.
  enum Subject: Hashable {
    /// A property, identified by its slot.
    case property(Int)
    /// The object's number.
    case own
  }

  enum Test {
    /// The value is one of several values.
    case among([StoredValue])
    /// The value is not `nil` and lies between two inclusive bounds, either of which may be absent.
    case range(StoredValue?, StoredValue?)
    /// The value is a string that starts with a prefix.
    case prefix(String)
  }

  let subject: Subject
  let test: Test
  /// A Boolean value that indicates whether every object that passes the test satisfies the
  /// condition.
  ///
  /// A strict demand has one exception: an object whose value equals the bound passes the test but
  /// does not satisfy the condition.
  var isExact = false
  /// A Boolean value that indicates whether the condition excludes the bound of the range, although
  /// the test includes it.
  var isStrict = false

  /// Creates the demand implied by a comparison of a term with a constant.
  ///
  /// The initialiser returns `nil` if no lookup can test the demand.
  init?(_ term: QueryTerm, _ comparison: QueryComparison, _ constant: StoredValue) {
    // Create no demand for NaN. NaN does not equal, precede or follow any value, so a range cannot
    // express the comparison.
    guard let subject = term.subject, !constant.isNotANumber else { return nil }
    self.subject = subject
    switch comparison {
    case .notEqual: return nil
    case .equal:
      guard constant.isNull || term.holds(constant) else { return nil }
      test = .among([constant])
      isExact = !constant.isNull
    case .less, .lessOrEqual:
      guard let upper = term.bound(constant, isUpper: true) else { return nil }
      test = .range(nil, upper)
      isExact = term.holds(constant) && constant.hasNeighbours
      isStrict = comparison == .less
    case .greater, .greaterOrEqual:
      guard let lower = term.bound(constant, isUpper: false) else { return nil }
      test = .range(lower, nil)
      isExact = term.holds(constant) && constant.hasNeighbours
      isStrict = comparison == .greater
    }
  }

  /// Creates a demand that requires a term to equal one of several constants.
  ///
  /// The initialiser returns `nil` if no lookup can test the demand.
  init?(_ term: QueryTerm, among constants: [StoredValue]) {
    guard let subject = term.subject, constants.allSatisfy({ $0.isNull || term.holds($0) }) else {
      return nil
    }
    self.subject = subject
    test = .among(constants)
    isExact = !constants.contains { $0.isNull || $0.isNotANumber }
  }

  init(_ subject: Subject, _ test: Test) {
    self.subject = subject
    self.test = test
  }

  /// Creates the demand that the string in a term starts with `prefix`.
  ///
  /// The initialiser returns `nil` if no lookup can test the demand.
  init?(_ term: QueryTerm, prefix: String) {
    guard let subject = term.subject, !prefix.isEmpty, term.holds(.string(prefix)) else {
      return nil
    }
    self.subject = subject
    test = .prefix(prefix)
  }
}

extension QueryDemand {
  /// A description of the demand's values for query plans.
  var text: String {
    switch test {
    case .among(let values): values.map { $0.text ?? "nil" }.joined(separator: ", ")
    case .range(let lower, let upper):
      [lower, upper].compactMap { $0?.text }.joined(separator: ", ")
    case .prefix(let text): text
    }
  }
}

extension QueryTerm {
  /// The subject of a demand on the term, or `nil` if the term is neither the fetched object nor a
  /// property of that object.
  fileprivate var subject: QueryDemand.Subject? {
    isSubject ? .own : property.map { .property($0.slot) }
  }

  /// Returns whether a value has the term's storage type and can therefore be looked up in an
  /// index.
  fileprivate func holds(_ value: StoredValue) -> Bool {
    // A term without a property can be the fetched object itself, which is compared only with
    // object IDs.
    guard let property else { return isSubject }
    switch (property.fieldStorageType, value) {
    case (.bool, .bool), (.date, .date), (.uuid, .uuid), (.string, .string), (.bytes, .bytes),
      (.float, .double), (.double, .double), (.reference, .integer):
      return true
    case (let storageType?, .integer), (let storageType?, .largeInteger):
      return storageType.isInteger
    default: return false
    }
  }

  /// Converts a bound of a range to the storage type of the term.
  ///
  /// If the type cannot represent the bound exactly, the returned bound widens the range. The
  /// result is `nil` if the type has no value that could serve as the bound.
  fileprivate func bound(_ value: StoredValue, isUpper: Bool) -> StoredValue? {
    if holds(value) { return value }
    switch (property?.fieldStorageType, value) {
    case (let storageType?, .double(bits: let bits)) where storageType.isInteger:
      let number = Double(bitPattern: bits)
      let rounded = number.rounded(isUpper ? .up : .down)
      return Int64(exactly: rounded).map { .integer($0) }
    case (.float, .integer(let value)), (.double, .integer(let value)):
      // Widen the range by one step, because rounding the bound to a `Double` may have narrowed the
      // range.
      return .double(isUpper ? Double(value).nextUp : Double(value).nextDown)
    default: return nil
    }
  }
}

extension StoredValue {
  /// A Boolean value that indicates whether the value has both a successor and a predecessor.
  ///
  /// Only finite numbers and dates have neighbours.
  fileprivate var hasNeighbours: Bool {
    switch self {
    case .integer(let value): value > .min && value < .max
    case .double(bits: let bits), .date(bits: let bits): Double(bitPattern: bits).isFinite
    default: false
    }
  }

  /// The next greater value of the same type.
  ///
  /// - Precondition: The value is a bound of a demand that is both exact and strict.
  var successor: StoredValue { neighbour({ $0 + 1 }, { $0.nextUp }) }

  /// The next smaller value of the same type.
  ///
  /// - Precondition: The value is a bound of a demand that is both exact and strict.
  var predecessor: StoredValue { neighbour({ $0 - 1 }, { $0.nextDown }) }

  private func neighbour(
    _ integer: (Int64) -> Int64, _ number: (Double) -> Double
  ) -> StoredValue {
    switch self {
    case .integer(let value): .integer(integer(value))
    case .double(bits: let bits): .double(number(Double(bitPattern: bits)))
    case .date(bits: let bits): .date(bits: number(Double(bitPattern: bits)).bitPattern)
    default: self
    }
  }

  /// Positive infinity in the value's type, or `nil` if the type does not include infinity.
  var infinity: StoredValue? {
    switch self {
    case .double: .double(.infinity)
    case .date: .date(bits: Double.infinity.bitPattern)
    default: nil
    }
  }
}

extension StorageType {
  /// A Boolean value that indicates whether the type is an integer type.
  var isInteger: Bool {
    switch self {
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: true
    default: false
    }
  }
}
