/// What a condition asks of the object itself, where an index or a key can help with it.
///
/// It may hold for more objects than the condition does, never for fewer.
struct QueryDemand {
  /// What is asked for.
  enum Subject: Hashable {
    /// A property, by its slot.
    case property(Int)
    /// The object's own number.
    case own
  }

  enum Test {
    /// One of some values.
    case among([StoredValue])
    /// A value between two, both of which belong to it; not `nil`.
    case range(StoredValue?, StoredValue?)
    /// A text that begins with another.
    case prefix(String)
  }

  let subject: Subject
  let test: Test

  /// What a comparison of a term with a constant asks; `nil` if nothing can be looked up for it.
  init?(_ term: QueryTerm, _ comparison: QueryComparison, _ constant: StoredValue) {
    // Nothing is before or behind NaN, and no range of values either.
    guard let subject = term.subject, !constant.isNotANumber else { return nil }
    self.subject = subject
    switch comparison {
    case .notEqual: return nil
    case .equal:
      guard constant.isNull || term.holds(constant) else { return nil }
      test = .among([constant])
    case .less, .lessOrEqual:
      guard let upper = term.bound(constant, isUpper: true) else { return nil }
      test = .range(nil, upper)
    case .greater, .greaterOrEqual:
      guard let lower = term.bound(constant, isUpper: false) else { return nil }
      test = .range(lower, nil)
    }
  }

  /// What it asks for that a term is one of some constants.
  init?(_ term: QueryTerm, among constants: [StoredValue]) {
    guard let subject = term.subject, constants.allSatisfy({ $0.isNull || term.holds($0) }) else {
      return nil
    }
    self.subject = subject
    test = .among(constants)
  }

  init(_ subject: Subject, _ test: Test) {
    self.subject = subject
    self.test = test
  }

  /// What it asks for that a text begins with another.
  init?(_ term: QueryTerm, prefix: String) {
    guard let subject = term.subject, !prefix.isEmpty, term.holds(.string(prefix)) else {
      return nil
    }
    self.subject = subject
    test = .prefix(prefix)
  }
}

extension QueryDemand {
  /// The values it asks for, for people.
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
  /// What a demand on it is about; `nil` if nothing of the object itself.
  fileprivate var subject: QueryDemand.Subject? {
    isSubject ? .own : property.map { .property($0.slot) }
  }

  /// Whether a value is stored as it is here, so that it can be found by its bytes.
  fileprivate func holds(_ value: StoredValue) -> Bool {
    guard let property else {
      if case .integer = value { return isSubject }
      return false
    }
    switch (property.recordForm, value) {
    case (.bool, .bool), (.date, .date), (.uuid, .uuid), (.string, .string), (.bytes, .bytes),
      (.float, .number), (.double, .number), (.reference, .integer):
      return true
    case (let form?, .integer), (let form?, .largeInteger): return form.isInteger
    default: return false
    }
  }

  /// A bound as it is stored here, moved outwards where it is no value of the property; `nil` if
  /// there is none.
  fileprivate func bound(_ value: StoredValue, isUpper: Bool) -> StoredValue? {
    if holds(value) { return value }
    switch (property?.recordForm, value) {
    case (let form?, .number(let bits)) where form.isInteger:
      let number = Double(bitPattern: bits)
      let whole = number.rounded(isUpper ? .up : .down)
      return Int64(exactly: whole).map { .integer($0) }
    case (.float, .integer(let value)), (.double, .integer(let value)):
      // Rounded perhaps, and then to either side.
      return .number(isUpper ? Double(value).nextUp : Double(value).nextDown)
    default: return nil
    }
  }
}

extension StoredForm {
  /// Whether values are integers.
  var isInteger: Bool {
    switch self {
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: true
    default: false
    }
  }
}
