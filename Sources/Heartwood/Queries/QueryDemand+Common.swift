extension QueryDemand {
  /// The most subjects that are looked at for what several conditions have in common.
  private static let mostCommon = 8

  /// Returns what must hold if one of several conditions does, given what each of them asks.
  ///
  /// So `rank > 3 OR (rank == 3 AND name > "x")` asks for ranks from 3 on.
  static func common(to all: [[QueryDemand]]) -> [QueryDemand] {
    var subjects: [Subject] = []
    for demand in all.first ?? []
    where subjects.count < mostCommon && !subjects.contains(demand.subject) {
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

  /// The narrowest test of a subject that follows from several demands, all of which hold.
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

  /// The values that some tests name; `nil` if one of them names none.
  private static func values(_ tests: [Test]) -> Test? {
    var values: [StoredValue] = []
    for test in tests {
      guard case .among(let others) = test else { return nil }
      values += others
    }
    return .among(values)
  }

  /// The range that holds all values of some tests; `nil` if it is unlimited, or there is none.
  private static func range(_ tests: [Test]) -> Test? {
    var ends: [(lower: StoredValue?, upper: StoredValue?)] = []
    for test in tests {
      switch test {
      case .prefix: return nil
      case .range(let lower, let upper): ends.append((lower, upper))
      case .among(let values):
        // Nothing compares with `nil` or NaN, which a range would leave out.
        guard values.allSatisfy({ $0.order(to: $0) == 0 }) else { return nil }
        ends += values.map { ($0, $0) }
      }
    }
    guard var (lower, upper) = ends.first else { return nil }
    for other in ends.dropFirst() {
      lower = other.lower == nil ? nil : lower.flatMap { StoredValue.lesser($0, other.lower) }
      upper = other.upper == nil ? nil : upper.flatMap { StoredValue.greater($0, other.upper) }
    }
    return lower == nil && upper == nil ? nil : .range(lower, upper)
  }
}

extension StoredValue {
  /// The lesser of two values, or the one that there is.
  fileprivate static func lesser(_ first: StoredValue?, _ second: StoredValue?) -> StoredValue? {
    guard let first, let second else { return first ?? second }
    return (second.order(to: first) ?? 1) < 0 ? second : first
  }

  /// The greater of two values, or the one that there is.
  fileprivate static func greater(_ first: StoredValue?, _ second: StoredValue?) -> StoredValue? {
    guard let first, let second else { return first ?? second }
    return (second.order(to: first) ?? -1) > 0 ? second : first
  }
}
