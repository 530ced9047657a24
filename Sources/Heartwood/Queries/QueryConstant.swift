import Foundation

/// A constant in a predicate.
struct QueryConstant: Sendable {
  let value: StoredValue
  let type: QueryType
  /// The ID space of the object, if the constant is an object ID.
  var space: ManagedObjectID.Space?
  /// The exact decimal value of a number literal, or `nil` if it equals the shortest decimal
  /// representation of `value`.
  var decimal: StoredValue?

  static let null = QueryConstant(value: .null, type: .nothing)
  static let yes = QueryConstant(value: .bool(true), type: .bool)
  static let no = QueryConstant(value: .bool(false), type: .bool)
}

extension QueryConstant {
  /// Creates the constant for a number literal.
  ///
  /// - Parameters:
  ///   - text: The literal.
  ///   - value: The floating-point number that is closest to the literal.
  init(literal text: String, _ value: Double) {
    self.init(value: .double(value), type: .number())
    let exact = StoredValue.string(text).decimal
    if exact != self.value.decimal { decimal = exact?.storedValue }
  }

  /// The number with the opposite sign, or `nil` if the constant is not a number or if its type
  /// cannot represent the result.
  var negated: QueryConstant? {
    switch value {
    case .integer(let number) where number != .min:
      return QueryConstant(value: .integer(-number), type: .integer)
    case .largeInteger(1 << 63): return QueryConstant(value: .integer(.min), type: .integer)
    case .largeInteger(let number):
      // No integer type can represent the result.
      return StoredValue.string("-\(number)").decimal.map {
        QueryConstant(value: $0.storedValue, type: QueryType(.decimal))
      }
    case .double(bits: let bits):
      var result = QueryConstant(value: .double(-Double(bitPattern: bits)), type: type)
      result.decimal = decimal?.decimal.map { (-$0).storedValue }
      return result
    default: return nil
    }
  }
}

extension QueryExpression {
  /// Creates a constant or a list of constants from a value.
  ///
  /// The initialiser returns `nil` if predicates do not support the value's type.
  init?(value: Any) {
    switch value {
    // Test the most common types first, because the dynamic casts below take longer.
    case let text as String: self = .constant(QueryConstant(value: .string(text), type: .text))
    case let id as ManagedObjectID:
      self = .constant(
        QueryConstant(value: .integer(id.number.bits), type: .object(nil), space: id.space))
    case let optional as any OptionalValue:
      guard let wrapped = optional.wrapped else {
        self = .constant(.null)
        return
      }
      self.init(value: wrapped)
    case is any ValueRange: return nil
    case let value as any AttributeValue where Swift.type(of: value).storageType != .json:
      guard let stored = try? value.storedValue else { return nil }
      self = .constant(
        QueryConstant(value: stored, type: QueryType(Swift.type(of: value).storageType)))
    case let values as any Collection:
      var elements: [QueryExpression] = []
      for value in Self.elements(of: values) {
        guard let element = QueryExpression(value: value) else { return nil }
        elements.append(element)
      }
      self = .list(elements)
    default: return nil
    }
  }

  private static func elements(of values: some Collection) -> [Any] { values.map { $0 as Any } }
}

/// An optional of any type.
private protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrapped: Any? { self }
}

/// A range of any type.
protocol ValueRange {
  /// The bounds of the range, and whether the range includes its upper bound.
  ///
  /// A bound is `nil` if the range is unbounded on that side.
  var ends: (lower: Any?, upper: Any?, isClosed: Bool) { get }
}

extension ClosedRange: ValueRange {
  var ends: (lower: Any?, upper: Any?, isClosed: Bool) { (lowerBound, upperBound, true) }
}

extension Range: ValueRange {
  var ends: (lower: Any?, upper: Any?, isClosed: Bool) { (lowerBound, upperBound, false) }
}

extension PartialRangeFrom: ValueRange {
  var ends: (lower: Any?, upper: Any?, isClosed: Bool) { (lowerBound, nil, true) }
}

extension PartialRangeUpTo: ValueRange {
  var ends: (lower: Any?, upper: Any?, isClosed: Bool) { (nil, upperBound, false) }
}

extension PartialRangeThrough: ValueRange {
  var ends: (lower: Any?, upper: Any?, isClosed: Bool) { (nil, upperBound, true) }
}
