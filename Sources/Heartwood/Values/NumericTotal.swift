/// A running sum of numbers that are given as stored values.
struct NumericTotal<Number: AttributeValue & Numeric> {
  // The sum has 128 bits, so that only the total must fit in the type, not the intermediate sums.
  private var integerSum: Int128 = 0
  private var floatingPointSum = Number.zero

  mutating func add(_ value: StoredValue) throws {
    if let integer = value.wideInteger {
      integerSum += integer
    } else {
      floatingPointSum += try Number(storedValue: value)
    }
  }

  /// The sum, or `nil` if it does not fit in `Number`.
  var value: Number? { Number(exactly: integerSum).map { $0 + floatingPointSum } }
}
