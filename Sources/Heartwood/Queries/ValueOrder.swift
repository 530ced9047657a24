import Foundation

/// Comparisons of stored values by the rules of Swift's comparison operators.
///
/// Numbers are compared by their numeric values, regardless of their storage types.
extension StoredValue {
  /// Returns whether two values are equal.
  ///
  /// `nil` equals `nil`, -0 equals 0, and NaN does not equal any value.
  func isEqual(to other: StoredValue) -> Bool {
    switch (self, other) {
    case (.integer(let first), .integer(let second)): first == second
    case (.string(let first), .string(let second)): first == second
    case (.null, _), (_, .null), (.bool, _), (.bytes, _): self == other
    default: order(to: other) == 0
    }
  }

  /// Compares two values.
  ///
  /// - Returns: A negative number if this value precedes the other, a positive number if it follows
  ///   the other, and 0 if they are equal. The result is `nil` if the values cannot be ordered, for
  ///   example because one of them is `nil` or NaN.
  func order(to other: StoredValue) -> Int? {
    switch (self, other) {
    case (.integer(let first), .integer(let second)): Self.order(first, second)
    case (.double(bits: let first), .double(bits: let second)),
      (.date(bits: let first), .date(bits: let second)):
      Self.order(numbers: Double(bitPattern: first), Double(bitPattern: second))
    case (.string(let first), .string(let second)): first.canonicalOrder(to: second)
    case (.uuid(let high, let low), .uuid(let otherHigh, let otherLow)):
      high == otherHigh ? Self.order(low, otherLow) : Self.order(high, otherHigh)
    case (.bytes(let first), .bytes(let second)):
      first == second ? 0 : first.lexicographicallyPrecedes(second) ? -1 : 1
    case (.largeInteger(let first), .largeInteger(let second)): Self.order(first, second)
    case (.largeInteger, .integer): 1
    case (.integer, .largeInteger): -1
    case (.integer(let first), .double(bits: let second)):
      Self.order(first, Double(bitPattern: second))
    case (.double(bits: let first), .integer(let second)):
      Self.order(second, Double(bitPattern: first)).map { -$0 }
    case (.largeInteger(let first), .double(bits: let second)):
      Self.order(first, Double(bitPattern: second))
    case (.double(bits: let first), .largeInteger(let second)):
      Self.order(second, Double(bitPattern: first)).map { -$0 }
    default: nil
    }
  }

  private static func order<Value: Comparable>(_ first: Value, _ second: Value) -> Int {
    first < second ? -1 : first == second ? 0 : 1
  }

  private static func order(numbers first: Double, _ second: Double) -> Int? {
    first < second ? -1 : first == second ? 0 : first > second ? 1 : nil
  }

  /// Compares an integer with a floating-point number without rounding either number.
  ///
  /// Returns `nil` if the floating-point number is NaN.
  private static func order<Integer: FixedWidthInteger>(
    _ integer: Integer, _ number: Double
  ) -> Int? {
    guard !number.isNaN else { return nil }
    guard let truncated = Integer(exactly: number.rounded(.towardZero)) else {
      return number < 0 ? 1 : -1
    }
    guard integer == truncated else { return integer < truncated ? -1 : 1 }
    return order(numbers: 0, number - number.rounded(.towardZero))
  }

  // MARK: Decimal numbers

  /// The value as a decimal number, or `nil` if the conversion is impossible.
  var decimal: Decimal? { decimal(isFloat: false) }

  /// Returns the value as a decimal number, or `nil` if the conversion is impossible.
  ///
  /// The conversion is impossible for infinity, NaN, and floating-point numbers that are too large
  /// or too small for a decimal number.
  ///
  /// - Parameter isFloat: Whether a floating-point value is a `Float` instead of a `Double`.
  private func decimal(isFloat: Bool) -> Decimal? {
    switch self {
    case .string(let text): try? Decimal(storedValue: .string(text))
    case .integer(let value): Decimal(value)
    case .largeInteger(let value): Decimal(value)
    case .double(bits: let bits):
      // Convert the shortest text of the number, because Foundation's own conversion rounds numbers
      // such as 19.99. Exclude infinity, because Foundation would read the text "-inf" as 0.
      Double(bitPattern: bits).isFinite
        ? try? Decimal(storedValue: .string(Self.shortestText(bits, isFloat: isFloat))) : nil
    default: nil
    }
  }

  private static func shortestText(_ bits: UInt64, isFloat: Bool) -> String {
    let number = Double(bitPattern: bits)
    return isFloat ? "\(Float(number))" : "\(number)"
  }

  /// Returns the value as a stored decimal number, or the value itself if the conversion is
  /// impossible.
  ///
  /// - Parameter isFloat: Whether a floating-point value is a `Float` instead of a `Double`.
  func asDecimal(isFloat: Bool) -> StoredValue {
    decimal(isFloat: isFloat).map { .string($0.description) } ?? self
  }

  /// Compares two values, at least one of which is a decimal number.
  ///
  /// The result has the same meaning as the result of ``order(to:)``.
  func decimalOrder(to other: StoredValue) -> Int? {
    if let first = decimal, let second = other.decimal {
      return first.isNaN || second.isNaN ? nil : Self.order(first, second)
    }
    // Compare as floating-point numbers, because one of the values is not in the range of decimal
    // numbers.
    guard let first = approximation, let second = other.approximation else { return nil }
    return Self.order(numbers: first, second)
  }

  // MARK: Strings

  /// Normalises a string by removing the differences that `options` ignores, such as case.
  ///
  /// Any other value is returned unchanged.
  func folded(_ options: StringDifferences) -> StoredValue {
    if case .string(let text) = self { return .string(text.folded(options)) }
    return self
  }
}

extension String {
  func folded(_ options: StringDifferences) -> String {
    guard !options.isEmpty else { return self }
    // Take a faster path for ASCII strings, which contain no diacritics and need no Unicode tables.
    if utf8.allSatisfy({ $0 < 0x80 }) {
      return options.contains(.case) ? lowercased() : self
    }
    var folding: String.CompareOptions = []
    if options.contains(.case) { folding.insert(.caseInsensitive) }
    if options.contains(.diacritics) { folding.insert(.diacriticInsensitive) }
    return self.folding(options: folding, locale: nil)
  }
}

extension QueryComparison {
  /// Returns whether the comparison is true for two values.
  func holds(_ first: StoredValue, _ second: StoredValue) -> Bool {
    switch self {
    case .equal: first.isEqual(to: second)
    case .notEqual: !first.isEqual(to: second)
    default: first.order(to: second).map(holds) ?? false
    }
  }

  /// Returns whether the comparison is true for two values, at least one of which is a decimal
  /// number.
  func holdsForDecimals(_ first: StoredValue, _ second: StoredValue) -> Bool {
    if first.isNull || second.isNull {
      let isSame = first.isNull && second.isNull
      return self == .equal ? isSame : self == .notEqual && !isSame
    }
    return first.decimalOrder(to: second).map(holds) ?? (self == .notEqual)
  }

  private func holds(_ order: Int) -> Bool {
    switch self {
    case .equal: order == 0
    case .notEqual: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    }
  }
}
