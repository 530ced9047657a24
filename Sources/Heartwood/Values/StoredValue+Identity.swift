extension StoredValue {
  /// Returns whether both values have the same bits.
  ///
  /// `==` also holds for strings that differ only in their Unicode composition.
  ///
  /// A stored value counts as changed if and only if this returns `false`.
  public func isIdentical(to other: StoredValue) -> Bool {
    if case .string(let first) = self, case .string(let second) = other {
      return first == second && first.utf8.elementsEqual(second.utf8)
    }
    return self == other
  }

  /// The representative of all values that count as one when they are grouped: -0 becomes 0, and
  /// every NaN the same NaN.
  var grouped: StoredValue {
    switch self {
    case .double(bits: let bits): .double(bits: Self.grouped(bits))
    case .date(bits: let bits): .date(bits: Self.grouped(bits))
    default: self
    }
  }

  private static func grouped(_ bits: UInt64) -> UInt64 {
    let number = Double(bitPattern: bits)
    if number.isNaN { return Double.nan.bitPattern }
    return number == 0 ? 0 : bits
  }

  /// Whether the value is a number or a date whose bits are NaN.
  var isNotANumber: Bool {
    switch self {
    case .double(bits: let bits), .date(bits: let bits): Double(bitPattern: bits).isNaN
    default: false
    }
  }
}

extension [StoredValue] {
  /// Returns whether all values have the same bits.
  func isIdentical(to other: [StoredValue]) -> Bool {
    elementsEqual(other) { $0.isIdentical(to: $1) }
  }
}
