/// Derivations that compute a value from all objects in a to-many relationship.
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
  /// Returns a derivation that counts the objects in a relationship.
  public static func count<Members: Collection>(_ members: KeyPath<Owner, Members>) -> Derivation {
    Self.members("count", members, nil, DerivationFormula.count(Value.self))
  }
}

extension Derivation where Value: Numeric {
  /// Returns a derivation that computes the sum of an attribute over the objects in a relationship.
  ///
  /// If there are no values, the sum is 0. Saving throws `validation` if the sum does not fit in
  /// the type of the derived attribute.
  public static func sum<Members: Collection>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Value>
  ) -> Derivation {
    Self.members("sum", members, attribute, DerivationFormula.sum(Value.self))
  }

  /// Returns a derivation that computes the sum of an attribute's non-`nil` values over the objects
  /// in a relationship.
  ///
  /// If there are no values, the sum is 0. Saving throws `validation` if the sum does not fit in
  /// the type of the derived attribute.
  public static func sum<Members: Collection>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Value?>
  ) -> Derivation {
    Self.members("sum", members, attribute, DerivationFormula.sum(Value.self))
  }
}

extension Derivation {
  /// Returns a derivation that finds the minimum value of an attribute among the objects in a
  /// relationship.
  ///
  /// If there are no values, the result is `nil`.
  public static func min<Members: Collection, Wrapped: AttributeValue & Comparable>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Wrapped>
  ) -> Derivation where Value == Wrapped? {
    Self.members("min", members, attribute, DerivationFormula.least(Wrapped.self))
  }

  /// Returns a derivation that finds the minimum value of an attribute among the objects in a
  /// relationship.
  ///
  /// If there are no values, the result is `nil`.
  public static func min<Members: Collection, Wrapped: AttributeValue & Comparable>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Wrapped?>
  ) -> Derivation where Value == Wrapped? {
    Self.members("min", members, attribute, DerivationFormula.least(Wrapped.self))
  }

  /// Returns a derivation that finds the maximum value of an attribute among the objects in a
  /// relationship.
  ///
  /// If there are no values, the result is `nil`.
  public static func max<Members: Collection, Wrapped: AttributeValue & Comparable>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Wrapped>
  ) -> Derivation where Value == Wrapped? {
    Self.members("max", members, attribute, DerivationFormula.greatest(Wrapped.self))
  }

  /// Returns a derivation that finds the maximum value of an attribute among the objects in a
  /// relationship.
  ///
  /// If there are no values, the result is `nil`.
  public static func max<Members: Collection, Wrapped: AttributeValue & Comparable>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Wrapped?>
  ) -> Derivation where Value == Wrapped? {
    Self.members("max", members, attribute, DerivationFormula.greatest(Wrapped.self))
  }
}

extension Derivation where Value == Double? {
  /// Returns a derivation that computes the mean of an attribute over the objects in a
  /// relationship.
  ///
  /// If there are no values, the result is `nil`.
  public static func average<Members: Collection, Number: AttributeValue & Numeric>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Number>
  ) -> Derivation {
    Self.members("average", members, attribute, DerivationFormula.mean)
  }

  /// Returns a derivation that computes the mean of an attribute's non-`nil` values over the
  /// objects in a relationship.
  ///
  /// If there are no values, the result is `nil`.
  public static func average<Members: Collection, Number: AttributeValue & Numeric>(
    _ members: KeyPath<Owner, Members>, _ attribute: KeyPath<Members.Element, Number?>
  ) -> Derivation {
    Self.members("average", members, attribute, DerivationFormula.mean)
  }
}

// MARK: Functions

extension DerivationFormula {
  typealias Compute = ([StoredValue]) throws -> StoredValue?

  static func count<Value: FixedWidthInteger & AttributeValue>(_: Value.Type) -> Compute {
    { try Value(exactly: $0.count)?.storedValue }
  }

  static func sum<Value: Numeric & AttributeValue>(_: Value.Type) -> Compute {
    { values in
      var total = NumericTotal<Value>()
      for value in values { try total.add(value) }
      return try total.value?.storedValue
    }
  }

  static func least<Value: Comparable & AttributeValue>(_: Value.Type) -> Compute {
    { try comparable($0, Value.self).min()?.storedValue ?? .null }
  }

  static func greatest<Value: Comparable & AttributeValue>(_: Value.Type) -> Compute {
    { try comparable($0, Value.self).max()?.storedValue ?? .null }
  }

  /// Returns the values that can be compared.
  ///
  /// The result excludes NaN, which has no defined order, and values that this version of the type
  /// cannot decode.
  private static func comparable<Value: Comparable & AttributeValue>(
    _ values: [StoredValue], _: Value.Type
  ) throws -> [Value] {
    try values.compactMap { try Value(known: $0) }.filter { $0 == $0 }
  }

  static func mean(_ values: [StoredValue]) -> StoredValue? {
    let numbers = values.compactMap(\.approximation)
    return numbers.isEmpty ? .null : .double(numbers.reduce(0, +) / Double(numbers.count))
  }
}

extension StoredValue {
  /// The nearest floating-point number, or `nil` if the value is not a number.
  var approximation: Double? {
    switch self {
    case .double(bits: let bits): Double(bitPattern: bits)
    // Parse the text, because a decimal number is stored as text.
    case .string(let text): Double(text)
    default: wideInteger.map { Double($0) }
    }
  }
}
