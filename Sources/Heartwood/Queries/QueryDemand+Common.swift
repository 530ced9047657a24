extension QueryDemand {
  /// The maximum number of subjects that are examined to find common demands.
  private static let maxSubjectCount = 8

  /// Returns the demands implied by a disjunction of conditions.
  ///
  /// For example, `rank > 3 OR (rank == 3 AND name > "x")` implies that the rank is at least 3.
  ///
  /// - Parameter all: The demands of each condition.
  static func common(to all: [[QueryDemand]]) -> [QueryDemand] {
    var subjects: [Subject] = []
    for demand in all.first ?? []
    where subjects.count < maxSubjectCount && !subjects.contains(demand.subject) {
      subjects.append(demand.subject)
    }
    return subjects.compactMap { subject in
      var tests: [Test] = []
      for demands in all {
        guard let test = narrowest(demands, subject) else { return nil }
        tests.append(test)
      }
      return (values(tests) ?? range(tests)).map { QueryDemand(subject, $0) }
    }
  }

  /// Returns the narrowest test that several demands together imply for a subject, or `nil` if no
  /// demand tests the subject.
  private static func narrowest(_ demands: [QueryDemand], _ subject: Subject) -> Test? {
    var result: Test?
    for demand in demands where demand.subject == subject {
      switch (result, demand.test) {
      case (nil, let test), (.prefix, let test): result = test
      case (.among(let values), .among(let others)) where others.count < values.count:
        result = demand.test
      case (.range, .among): result = demand.test
      case (.range(let lower, let upper), .range(let otherLower, let otherUpper)):
        result = .range(
          StoredValue.greater(lower, otherLower), StoredValue.lesser(upper, otherUpper))
      case (.among, _), (.range, .prefix): break
      }
    }
    return result
  }

  /// Returns the union of the values in several tests, or `nil` if any test is not a list of
  /// values.
  private static func values(_ tests: [Test]) -> Test? {
    var values: [StoredValue] = []
    for test in tests {
      guard case .among(let others) = test else { return nil }
      values += others
    }
    return .among(values)
  }

  /// Returns the smallest range that covers several tests.
  ///
  /// Returns `nil` if the range would be unbounded, or if a test is not a range (for example, if it
  /// is a prefix test).
  private static func range(_ tests: [Test]) -> Test? {
    var ends: [(lower: StoredValue?, upper: StoredValue?)] = []
    for test in tests {
      switch test {
      case .prefix: return nil
      case .range(let lower, let upper): ends.append((lower, upper))
      case .among(let values):
        // Do not use a range if a value is `nil` or NaN. Such values have no order, so the range
        // would exclude them.
        guard values.allSatisfy({ $0.order(to: $0) == 0 }) else { return nil }
        ends += values.map { ($0, $0) }
      }
    }
    let hasLower = !ends.contains { $0.lower == nil }
    let hasUpper = !ends.contains { $0.upper == nil }
    guard hasLower || hasUpper else { return nil }
    return .range(
      hasLower ? ends.reduce(nil) { StoredValue.lesser($0, $1.lower) } : nil,
      hasUpper ? ends.reduce(nil) { StoredValue.greater($0, $1.upper) } : nil)
  }
}

extension StoredValue {
  /// Returns the lesser of two values or, if one of the values is `nil`, the other value.
  fileprivate static func lesser(_ first: StoredValue?, _ second: StoredValue?) -> StoredValue? {
    guard let first, let second else { return first ?? second }
    return (second.order(to: first) ?? 1) < 0 ? second : first
  }

  /// Returns the greater of two values or, if one of the values is `nil`, the other value.
  fileprivate static func greater(_ first: StoredValue?, _ second: StoredValue?) -> StoredValue? {
    guard let first, let second else { return first ?? second }
    return (second.order(to: first) ?? -1) > 0 ? second : first
  }
}
