/// Derivations that compute a value from all objects of a to-many relationship.
extension Derivation {
  private static func members(
    _ name: String, _ members: AnyKeyPath, _ attribute: AnyKeyPath?,
    _ compute: @escaping ([StoredValue]) throws -> StoredValue?
  ) -> Derivation {
    Derivation(
      formula: DerivationFormula(
        name: name, relationship: members, attribute: attribute, compute: compute))
  }
}

extension Derivation where Value: FixedWidthInteger {
  /// The number of objects in a relationship.
  public static func count<Members: Collection>(_ members: KeyPath<Owner, Members>) -> Derivation {
    Self.members("count", members, nil) { try Value(exactly: $0.count)?.storedValue }
  }
}

extension Derivation where Value: Numeric {
  /// The sum of an attribute over the objects of a relationship, or 0 if there are none.
  ///
  /// Saving throws `validation` if the sum does not fit in the type of the derived attribute.
  public static func sum<Members: Collection>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Value>
  ) -> Derivation {
    Self.members("sum", members, attribute) { try total($0) }
  }

  /// The sum of the non-`nil` values of an attribute over the objects of a relationship, or 0 if
  /// there are none.
  ///
  /// Saving throws `validation` if the sum does not fit in the type of the derived attribute.
  public static func sum<Members: Collection>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Value?>
  ) -> Derivation {
    Self.members("sum", members, attribute) { try total($0) }
  }

  private static func total(_ values: [StoredValue]) throws -> StoredValue? {
    var total = NumericTotal<Value>()
    for value in values { try total.add(value) }
    return try total.value?.storedValue
  }
}

extension Derivation {
  /// The least value of an attribute over the objects of a relationship, or `nil` if there is none.
  public static func min<Members: Collection, Wrapped: AttributeValue & Comparable>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Wrapped>
  ) -> Derivation where Value == Wrapped? {
    Self.members("min", members, attribute) { try first($0, by: <) }
  }

  /// The least value of an attribute over the objects of a relationship, or `nil` if there is none.
  public static func min<Members: Collection, Wrapped: AttributeValue & Comparable>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Wrapped?>
  ) -> Derivation where Value == Wrapped? {
    Self.members("min", members, attribute) { try first($0, by: <) }
  }

  /// The greatest value of an attribute over the objects of a relationship, or `nil` if there is
  /// none.
  public static func max<Members: Collection, Wrapped: AttributeValue & Comparable>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Wrapped>
  ) -> Derivation where Value == Wrapped? {
    Self.members("max", members, attribute) { try first($0, by: >) }
  }

  /// The greatest value of an attribute over the objects of a relationship, or `nil` if there is
  /// none.
  public static func max<Members: Collection, Wrapped: AttributeValue & Comparable>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Wrapped?>
  ) -> Derivation where Value == Wrapped? {
    Self.members("max", members, attribute) { try first($0, by: >) }
  }

  /// Returns the value that precedes all others, or `null` if there are no values.
  private static func first<Wrapped: AttributeValue>(
    _ values: [StoredValue], by precedes: (Wrapped, Wrapped) -> Bool
  ) throws -> StoredValue where Value == Wrapped? {
    try values.map { try Wrapped(storedValue: $0) }.min(by: precedes)?.storedValue ?? .null
  }
}

extension Derivation where Value == Double? {
  /// The mean of an attribute over the objects of a relationship, or `nil` if there are none.
  public static func average<Members: Collection, Number: AttributeValue & Numeric>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Number>
  ) -> Derivation {
    Self.members("average", members, attribute, mean)
  }

  /// The mean of the non-`nil` values of an attribute over the objects of a relationship, or `nil`
  /// if there are none.
  public static func average<Members: Collection, Number: AttributeValue & Numeric>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Number?>
  ) -> Derivation {
    Self.members("average", members, attribute, mean)
  }

  private static func mean(_ values: [StoredValue]) -> StoredValue {
    let numbers = values.compactMap(\.approximation)
    return numbers.isEmpty ? .null : .double(numbers.reduce(0, +) / Double(numbers.count))
  }
}

extension StoredValue {
  /// The nearest floating-point number, or `nil` if the value is not a number.
  var approximation: Double? {
    switch self {
    case .double(bits: let bits): Double(bitPattern: bits)
    // A decimal number is stored as text.
    case .string(let text): Double(text)
    default: wideInteger.map { Double($0) }
    }
  }
}
