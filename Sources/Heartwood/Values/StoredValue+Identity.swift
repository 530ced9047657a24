import Foundation

extension StoredValue {
  /// Returns whether this value and `other` have the same bits.
  ///
  /// In contrast to this method, `==` treats strings as equal if they differ only in their Unicode
  /// composition. An attribute is considered changed if this method returns `false` for its old and
  /// new stored values.
  public func isIdentical(to other: StoredValue) -> Bool {
    if case .string(let first) = self, case .string(let second) = other {
      return first.hasSameBytes(as: second)
    }
    return self == other
  }

  /// Returns the canonical form of this value, which is used to group values and to count distinct
  /// values.
  ///
  /// The canonical form of -0 is 0, and all NaNs have the same canonical form.
  ///
  /// - Parameter isDecimal: Whether the value is a decimal number, which is stored as a string.
  ///   Trailing zeros of its fraction are not part of the canonical form.
  func grouped(isDecimal: Bool) -> StoredValue {
    switch self {
    case .string(let text) where isDecimal && text.utf8.last == UInt8(ascii: "0"):
      Self.grouped(decimal: text)
    case .double(bits: let bits): .double(bits: Self.grouped(bits))
    case .date(bits: let bits): .date(bits: Self.grouped(bits))
    default: self
    }
  }

  private static func grouped(decimal text: String) -> StoredValue {
    let value = StoredValue.string(text)
    guard text.utf8.contains(UInt8(ascii: ".")), var number = value.decimal else { return value }
    NSDecimalCompact(&number)
    return number.storedValue
  }

  private static func grouped(_ bits: UInt64) -> UInt64 {
    let number = Double(bitPattern: bits)
    if number.isNaN { return Double.nan.bitPattern }
    return number == 0 ? 0 : bits
  }

  /// A Boolean value that indicates whether the value is NaN.
  ///
  /// Floating-point numbers and dates can be NaN.
  var isNotANumber: Bool {
    switch self {
    case .double(bits: let bits), .date(bits: let bits): Double(bitPattern: bits).isNaN
    default: false
    }
  }
}

extension [StoredValue] {
  /// Returns whether both arrays contain values with the same bits, in the same order.
  func isIdentical(to other: [StoredValue]) -> Bool {
    elementsEqual(other) { $0.isIdentical(to: $1) }
  }
}
