/// A running sum of stored numbers.
struct NumericTotal<Number: AttributeValue & Numeric> {
  // Use 128 bits, so that intermediate sums cannot overflow. Only the final sum must fit in
  // `Number`.
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
