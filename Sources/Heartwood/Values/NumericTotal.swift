/// A running sum of numbers in their stored representation.
struct NumericTotal<Number: AttributeValue & Numeric> {
  // 128 bits wide, so that only the total must fit the type, and not the intermediate sums.
  private var integerSum: Int128 = 0
  private var floatingPointSum = Number.zero

  mutating func add(_ value: StoredValue) throws {
    if let integer = value.wideInteger {
      integerSum += integer
    } else {
      floatingPointSum += try Number(storedValue: value)
    }
  }

  /// The sum; `nil` if it does not fit the type.
  var value: Number? { Number(exactly: integerSum).map { $0 + floatingPointSum } }
}
