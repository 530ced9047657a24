extension StoredValue {
  /// Returns whether both values have the same bits.
  ///
  /// In contrast, `==` also considers strings equal that differ only in their Unicode composition.
  /// A stored value is treated as changed if and only if this method returns `false`.
  public func isIdentical(to other: StoredValue) -> Bool {
    if case .string(let first) = self, case .string(let second) = other {
      return first.hasSameBytes(as: second)
    }
    return self == other
  }

  /// The value that represents this value when values are grouped or distinct values are counted.
  ///
  /// 0 represents -0, and a single NaN represents every NaN.
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
  /// Returns whether both arrays contain values with the same bits, in the same order.
  func isIdentical(to other: [StoredValue]) -> Bool {
    elementsEqual(other) { $0.isIdentical(to: $1) }
  }
}
