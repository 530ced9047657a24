/// The sum of numbers in their stored form, as it grows.
struct NumericTotal<Number: AttributeValue & Numeric> {
  // Wide, so that only the sum has to fit and not what is met on the way to it.
  private var whole: Int128 = 0
  private var other = Number.zero

  mutating func add(_ value: StoredValue) throws {
    if let integer = value.wideInteger {
      whole += integer
    } else {
      other += try Number(storedValue: value)
    }
  }

  /// The sum; `nil` if it does not fit the type.
  var value: Number? { Number(exactly: whole).map { $0 + other } }
}
