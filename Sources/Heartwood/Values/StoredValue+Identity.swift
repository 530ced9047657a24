extension StoredValue {
  /// Whether both are the same bits: `==` takes texts as equal whose letters are composed
  /// otherwise.
  ///
  /// What is stored changes when this says so.
  public func isIdentical(to other: StoredValue) -> Bool {
    if case .string(let first) = self, case .string(let second) = other {
      return first == second && first.utf8.elementsEqual(second.utf8)
    }
    return self == other
  }

  /// The value that stands for all that are the same to people, so that they are one when they are
  /// grouped: -0 is 0, and every NaN the same one.
  var grouped: StoredValue {
    switch self {
    case .number(let bits): .number(Self.grouped(bits))
    case .date(let bits): .date(Self.grouped(bits))
    default: self
    }
  }

  private static func grouped(_ bits: UInt64) -> UInt64 {
    let number = Double(bitPattern: bits)
    if number.isNaN { return Double.nan.bitPattern }
    return number == 0 ? 0 : bits
  }

  /// Whether it is a number or a date that is none.
  var isNotANumber: Bool {
    switch self {
    case .number(let bits), .date(let bits): Double(bitPattern: bits).isNaN
    default: false
    }
  }
}

extension [StoredValue] {
  /// Whether all values are the same bits.
  func isIdentical(to other: [StoredValue]) -> Bool {
    elementsEqual(other) { $0.isIdentical(to: $1) }
  }
}
