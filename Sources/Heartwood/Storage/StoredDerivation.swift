import Foundation

/// A derivation as described in a store's model, with numbers in place of names.
package struct StoredDerivation {
  let property: UInt16
  let formula: String
  /// The numbers of the relationship and its destination, or `nil` if the source is the object
  /// itself.
  let relationship: (property: UInt16, destination: Int)?
  let attribute: UInt16?

  /// Creates a derivation from its description, or returns `nil` if the description is invalid.
  ///
  /// ``StoredModel/signature(of:in:)`` creates such descriptions.
  package init?(_ description: String) {
    func number(_ word: Substring) -> UInt16? { UInt16(word.prefix { $0 != "?" }) }
    var words = description.split(separator: " ")[...]
    guard let first = words.popFirst(), let property = number(first),
      let formula = words.popFirst()
    else { return nil }
    self.property = property
    self.formula = String(formula)
    if words.count < 2 {
      relationship = nil
    } else {
      guard let own = words.popFirst().flatMap(number), let entity = words.popFirst(),
        let destination = Int(entity)
      else { return nil }
      relationship = (own, destination)
      // Skip the name of the members' keyspace, if there is one.
      if words.first?.contains(".") == true { words.removeFirst() }
    }
    guard let last = words.popFirst() else {
      attribute = nil
      return
    }
    guard let attribute = number(last), words.isEmpty else { return nil }
    self.attribute = attribute
  }
}

extension DerivationFormula {
  /// Returns the formula recorded in a store, or `nil` if this version of Heartwood does not
  /// support the formula.
  ///
  /// - Parameters:
  ///   - type: The type of the derived attribute.
  ///   - sourceType: The type of the source attribute, if there is one.
  ///   - order: The possible values of the source attribute in ascending order, or `nil` if the
  ///     stored values already sort in that order. The array is empty if the order is unknown.
  ///   - path: The name of the derived attribute, for error messages.
  static func stored(
    _ name: String, _ type: StorageType, from sourceType: StorageType?, order: [StoredValue]?,
    _ path: String
  ) -> DerivationFormula? {
    let compute: Compute? =
      switch name {
      case "now", "copy": first
      case "count": type.integerType.map { count($0) }
      case "sum": type.numberType.map { sum($0) }
      case "average": mean
      case "min": order.map { first(in: $0, path) } ?? sourceType?.orderedType.map { least($0) }
      case "max":
        order.map { first(in: $0.reversed(), path) }
          ?? sourceType?.orderedType.map { greatest($0) }
      default: TextForm(rawValue: name)?.compute
      }
    return compute.map { DerivationFormula(name: name, compute: $0) }
  }

  /// Returns a function that, given several values, returns the one that comes first in `order`.
  ///
  /// If the order is empty, the function throws `incompatibleSchema` unless all values are equal.
  private static func first(in order: [StoredValue], _ path: String) -> Compute {
    { values in
      let present = Set(values)
      guard order.isEmpty else { return order.first { present.contains($0) } ?? .null }
      guard present.count <= 1 else {
        throw ObjectGraphError(
          .incompatibleSchema,
          "\(path) cannot be computed, because only the program defines the order of the values "
            + "from which it is derived. Change the objects with the program, or make the type of "
            + "the values conform to CaseIterable.")
      }
      return present.first ?? .null
    }
  }
}

extension StorageType {
  fileprivate var integerType: (any (FixedWidthInteger & AttributeValue).Type)? {
    switch self {
    case .int8: Int8.self
    case .int16: Int16.self
    case .int32: Int32.self
    case .int64: Int64.self
    case .uint8: UInt8.self
    case .uint16: UInt16.self
    case .uint32: UInt32.self
    case .uint64: UInt64.self
    default: nil
    }
  }

  fileprivate var numberType: (any (Numeric & AttributeValue).Type)? {
    switch self {
    case .float: Float.self
    case .double: Double.self
    case .decimal: Decimal.self
    default: integerType
    }
  }

  fileprivate var orderedType: (any (Comparable & AttributeValue).Type)? {
    switch self {
    case .float: Float.self
    case .double: Double.self
    case .decimal: Decimal.self
    case .date: Date.self
    case .uuid: UUID.self
    case .string: String.self
    default: integerType
    }
  }
}
