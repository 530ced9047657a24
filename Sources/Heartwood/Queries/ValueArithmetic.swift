import Foundation

/// The evaluation of arithmetic operations in predicates.
///
/// The operations never trap. An operation without a result, such as an integer division by zero,
/// returns `null`.
extension ArithmeticOperation {
  /// Returns the result of applying the operation to two integers, or `null` if the result is
  /// undefined or out of range.
  func integers(_ first: StoredValue, _ second: StoredValue) -> StoredValue {
    guard let first = first.wideInteger, let second = second.wideInteger else { return .null }
    let result: Int128? =
      switch self {
      case .plus: first + second
      case .minus: first - second
      // Check for overflow, because the product of two large `UInt64` values can overflow even
      // `Int128`.
      case .times: Self.product(first, second)
      case .divided: second == 0 ? nil : first / second
      case .remainder: second == 0 ? nil : first % second
      case .power: nil
      }
    return StoredValue(wide: result)
  }

  private static func product(_ first: Int128, _ second: Int128) -> Int128? {
    let (product, overflows) = first.multipliedReportingOverflow(by: second)
    return overflows ? nil : product
  }

  func numbers(_ first: StoredValue, _ second: StoredValue) -> StoredValue {
    guard let first = first.double, let second = second.double else { return .null }
    return switch self {
    case .plus: .double(first + second)
    case .minus: .double(first - second)
    case .times: .double(first * second)
    case .divided: .double(first / second)
    case .remainder: .double(fmod(first, second))
    case .power: .double(pow(first, second))
    }
  }

  func decimals(_ first: StoredValue, _ second: StoredValue) -> StoredValue {
    guard let first = first.decimal, let second = second.decimal else { return .null }
    let result: Decimal? =
      switch self {
      case .plus: first + second
      case .minus: first - second
      case .times: Self.product(first, second)
      case .divided: second == 0 ? nil : first / second
      case .remainder, .power: nil
      }
    return result.flatMap { $0.isNaN ? nil : .string($0.description) } ?? .null
  }

  /// Returns the product of two decimal numbers, or `nil` if a decimal number cannot represent it.
  private static func product(_ first: Decimal, _ second: Decimal) -> Decimal? {
    // Multiply only the significands, because `*` traps if the product's exponent is below -128.
    let exponent = first.exponent + second.exponent
    guard exponent < 0 else { return first * second }
    let product = first.significand * second.significand
    let sign = first.isSignMinus == second.isSignMinus ? FloatingPointSign.plus : .minus
    // Check for NaN explicitly, because its significand is 0 and the product would therefore be 0.
    guard !first.isNaN, !second.isNaN, exponent + product.exponent >= -128 else { return nil }
    return Decimal(sign: sign, exponent: exponent, significand: product)
  }

  /// Returns the function that performs the operation on values of a type, or `nil` if the
  /// operation does not apply to the type.
  ///
  /// - Parameter isFloat: `true` if the function rounds its results to `Float`, as Swift does when
  ///   both operands are of that type.
  func function(
    _ type: QueryType, isFloat: Bool
  ) -> ((StoredValue, StoredValue) -> StoredValue)? {
    switch type {
    case .number where isFloat: { numbers($0, $1).roundedToFloat }
    case .integer where self != .power: integers
    case .integer, .number: numbers
    case .decimal where self != .power && self != .remainder: decimals
    default: nil
    }
  }
}

extension StoredValue {
  /// The floating-point number that is closest to the value, or `nil` if the value is not a number.
  fileprivate var double: Double? {
    switch self {
    case .double(bits: let bits): Double(bitPattern: bits)
    case .integer(let value): Double(value)
    case .largeInteger(let value): Double(value)
    default: nil
    }
  }

  /// The value rounded to the nearest `Float` if it is a floating-point number; otherwise, the
  /// value itself.
  fileprivate var roundedToFloat: StoredValue {
    guard case .double(bits: let bits) = self else { return self }
    return .double(Double(Float(Double(bitPattern: bits))))
  }

  /// Creates a value from an integer.
  ///
  /// The value is `null` if the integer is `nil` or outside the range of stored integers.
  fileprivate init(wide: Int128?) {
    guard let wide else {
      self = .null
      return
    }
    self =
      Int64(exactly: wide).map { .integer($0) } ?? UInt64(exactly: wide).map { .largeInteger($0) }
      ?? .null
  }
}

extension Summary {
  /// Returns the aggregate of the given values.
  ///
  /// Only `count` includes `nil` values. If there are no values, the count and the sum are 0, and
  /// the other aggregates are `nil`.
  func result(_ values: [StoredValue], _ type: QueryType) -> StoredValue {
    if self == .count { return .integer(Int64(values.count)) }
    let present = values.filter { !$0.isNull }
    switch self {
    case .min, .max:
      let comparison: QueryComparison = self == .min ? .less : .greater
      let ordered = present.filter { QueryComparison.equal.holds($0, $0) }
      return ordered.reduce(.null) { best, value in
        let isBetter =
          type.isDecimal
          ? comparison.holdsForDecimals(value, best) : comparison.holds(value, best)
        return best.isNull || isBetter ? value : best
      }
    case .sum: return Self.sum(present, type)
    default:
      guard !present.isEmpty else { return .null }
      let count = StoredValue.integer(Int64(present.count))
      guard !type.isDecimal else {
        return ArithmeticOperation.divided.decimals(Self.sum(present, type), count)
      }
      return ArithmeticOperation.divided.numbers(Self.sum(present, .number()), count)
    }
  }

  private static func sum(_ values: [StoredValue], _ type: QueryType) -> StoredValue {
    switch type {
    case .integer:
      // Do not check for overflow, because no array has enough integers for their sum to overflow
      // `Int128`.
      return StoredValue(wide: values.reduce(0) { $0 + ($1.wideInteger ?? 0) })
    case .decimal:
      return values.reduce(.string("0")) { ArithmeticOperation.plus.decimals($0, $1) }
    default: return .double(values.reduce(0) { $0 + ($1.double ?? 0) })
    }
  }
}
