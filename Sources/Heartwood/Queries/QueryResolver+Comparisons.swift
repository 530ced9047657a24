import Foundation

/// Methods that resolve comparisons and arithmetic operations.
extension QueryResolver {
  func compare(
    _ first: QueryTerm, _ comparison: QueryComparison, _ second: QueryTerm,
    _ options: StringDifferences
  ) throws -> QueryTerm {
    let (read, otherRead) = (try reading(first, as: second), try reading(second, as: first))
    let (first, second) = (read.fitted(to: otherRead), otherRead.fitted(to: read))
    try requireComparable(first, second)
    let isOrder =
      switch comparison {
      case .equal, .notEqual: false
      case .less, .lessOrEqual, .greater, .greaterOrEqual: true
      }
    if isOrder {
      for term in [first, second] where !term.type.isOrdered {
        throw Self.unsupported(
          "The operator \(comparison.rawValue) cannot be applied to \(term.phrase), because values "
            + "of this type have no order. Compare values that have an order instead, such as "
            + "numbers, dates and strings.")
      }
    }
    let name = "\(first.name) \(comparison.rawValue) \(second.name)"
    if first.type.isDecimal || second.type.isDecimal {
      let (left, right) = (try value(first, as: .decimal), try value(second, as: .decimal))
      return QueryTerm(name) { comparison.holdsForDecimals(try left($0), try right($0)) }
    }
    let isText = first.type.isText && second.type.isText
    let left = try folded(first, isText ? options : [])
    let right = try folded(second, isText ? options : [])
    guard !isText || options.isEmpty else {
      return QueryTerm(name) { comparison.holds(try left($0), try right($0)) }
    }
    if let constant = second.constant {
      return compare(first, left, comparison, constant, name)
    }
    if let constant = first.constant {
      return compare(second, right, comparison.exchanged, constant, name)
    }
    return QueryTerm(name) { comparison.holds(try left($0), try right($0)) }
  }

  /// Returns a condition that compares a term with a constant.
  ///
  /// This is the fastest and most common kind of comparison.
  private func compare(
    _ term: QueryTerm, _ value: @escaping QueryTerm.Value, _ comparison: QueryComparison,
    _ constant: StoredValue, _ name: String
  ) -> QueryTerm {
    var result: QueryTerm
    if let property = term.property, case .equal = comparison, case .string(let text) = constant {
      let bytes = Array(text.utf8)
      result = QueryTerm(name) { try $0.own(property, is: text, bytes) }
    } else {
      result = QueryTerm(name) { comparison.holds(try value($0), constant) }
    }
    result.demands = QueryDemand(term, comparison, constant).map { [$0] } ?? []
    return result
  }

  private func requireComparable(_ first: QueryTerm, _ second: QueryTerm) throws {
    guard !first.type.isComparable(with: second.type) else { return }
    throw Self.unsupported(
      "The predicate compares \(first.phrase) with \(second.phrase). Values of these types cannot "
        + "be compared. Compare single values of the same type, or compare a value of a Codable "
        + "type with nil.")
  }

  /// Returns a function that reads a term's value and folds its case and diacritics as required by
  /// `options`.
  private func folded(_ term: QueryTerm, _ options: StringDifferences) throws -> QueryTerm.Value {
    let value = try value(term, as: term.type)
    guard !options.isEmpty else { return value }
    if let constant = term.constant?.folded(options) { return { _ in constant } }
    return { try value($0).folded(options) }
  }

  // MARK: Ranges and lists

  func range(
    _ value: QueryExpression, _ lower: QueryExpression?, _ upper: QueryExpression?, _ isClosed: Bool
  ) throws -> QueryTerm {
    let value = try resolve(value)
    let isAtLeastLower = try lower.map {
      try condition(compare(value, .greaterOrEqual, resolve($0), []))
    }
    let isBelowUpper = try upper.map {
      try condition(compare(value, isClosed ? .lessOrEqual : .less, resolve($0), []))
    }
    return QueryTerm("a range") { scope in
      guard try isAtLeastLower?(scope) ?? true else { return false }
      return try isBelowUpper?(scope) ?? true
    }
  }

  func list(_ terms: [QueryTerm]) throws -> QueryTerm {
    var type = QueryType.nothing
    for term in terms {
      guard let joined = type.commonType(with: term.type) else {
        throw Self.unsupported(
          "A list in the predicate contains both \(type.phrase) and \(term.type.phrase). Use "
            + "elements of the same type.")
      }
      type = joined
    }
    let values = try terms.map { try value($0, as: type) }
    let constants = terms.compactMap(\.constant)
    if constants.count == terms.count, !type.isDecimal {
      return QueryTerm("a list", type, constants: constants)
    }
    return QueryTerm("a list", .list(type), values: { scope in try values.map { try $0(scope) } })
  }

  func membership(
    _ element: QueryTerm, _ collection: QueryTerm, _ options: StringDifferences
  ) throws -> QueryTerm {
    let collection = try reading(collection, as: element)
    let (values, type) = try elements(collection)
    let sample = QueryTerm("an element of \(collection.name)", type, values: values)
    try requireComparable(element, sample)
    let name = "\(element.name) in \(collection.name)"
    if element.type.isDecimal || type.isDecimal {
      let (value, isFloat) = (try value(element, as: .decimal), type.isFloat)
      return QueryTerm(name) { scope in
        let wanted = try value(scope)
        return try values(scope).contains {
          QueryComparison.equal.holdsForDecimals(
            wanted, isFloat ? $0.asDecimal(isFloat: true) : $0)
        }
      }
    }
    if let constants = collection.constants {
      let value = try folded(element, options)
      // Use the set only if equal values have the same representation, and thus the same hash.
      let fitted = constants.map { $0.fitted(to: element.type).folded(options) }
      let isAlike = fitted.allSatisfy(\.isHashedAsCompared) && !element.type.isFloating
      let set = Set(fitted)
      var result: QueryTerm
      if isAlike {
        result = QueryTerm(name) { set.contains(try value($0)) }
      } else {
        result = QueryTerm(name) { scope in
          let wanted = try value(scope)
          return fitted.contains { $0.isEqual(to: wanted) }
        }
      }
      if options.isEmpty { result.demands = QueryDemand(element, among: fitted).map { [$0] } ?? [] }
      return result
    }
    let value = try folded(element.fitted(to: sample), options)
    return QueryTerm(name) { scope in
      let wanted = try value(scope)
      return try values(scope).contains { $0.folded(options).isEqual(to: wanted) }
    }
  }

  /// Resolves a test of whether a list of expressions contains a value.
  ///
  /// If an element is not a constant, or if the value is a decimal number, each element is compared
  /// with the value as in an ordinary comparison.
  func membership(
    _ element: QueryExpression, _ expressions: [QueryExpression], _ options: StringDifferences
  ) throws -> QueryTerm {
    let (value, elements) = (try resolve(element), try expressions.map { try resolve($0) })
    let list = try list(elements)
    guard list.constants == nil || value.type.isDecimal else {
      return try membership(value, list, options)
    }
    let tests = try elements.map { try condition(compare(value, .equal, $0, options)) }
    return QueryTerm("\(value.name) in \(list.name)") { scope in
      for test in tests where try test(scope) { return true }
      return false
    }
  }

  // MARK: Arithmetic

  func arithmetic(
    _ first: QueryTerm, _ operation: ArithmeticOperation, _ second: QueryTerm,
    isFloat: Bool = false
  ) throws -> QueryTerm {
    guard let type = first.type.commonType(with: second.type), type.isNumeric || type.isNothing,
      let function = operation.function(type.isNothing ? .integer : type, isFloat: isFloat)
    else {
      throw Self.unsupported(
        "The predicate applies an arithmetic operator to \(first.phrase) and \(second.phrase), but "
          + "the operator does not support these types. Use integers or floating-point numbers "
          + "instead.")
    }
    let isInteger = if case .integer = type, operation != .power { true } else { false }
    let (left, right) = (try value(first, as: type), try value(second, as: type))
    let result: QueryType =
      type.isDecimal ? .decimal : isInteger ? .integer : .number(isFloat: isFloat)
    return QueryTerm("a calculation", result) { function(try left($0), try right($0)) }
  }

  func negation(_ term: QueryTerm) throws -> QueryTerm {
    // Negate floating-point numbers by subtracting them from -0.0, because 0.0 - 0.0 is 0.0 instead
    // of -0.0.
    let zero =
      term.type.isFloating
      ? QueryTerm(constant: .double(-0.0), term.type) : QueryTerm(constant: .integer(0), .integer)
    return try arithmetic(zero, .minus, term, isFloat: term.type.isFloat)
  }
}
