extension StoredValue {
  /// Returns whether both values have the same bits.
  ///
  /// In contrast, `==` also treats strings as equal that differ only in their Unicode composition.
  ///
  /// A stored value is treated as changed if and only if this method returns `false`.
  public func isIdentical(to other: StoredValue) -> Bool {
    if case .string(let first) = self, case .string(let second) = other {
      return first == second && first.utf8.elementsEqual(second.utf8)
    }
    return self == other
  }

  /// The value that represents all values of the same group.
  ///
  /// -0 is represented by 0, and every NaN by the same NaN.
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

  /// Whether the value is a number or a date whose bits are those of a NaN.
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
