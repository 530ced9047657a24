/// An aggregate over all objects in a fetch: their count, or the sum, minimum, maximum or mean of
/// an attribute.
///
/// ```swift
/// let strongest = try context.aggregate(FetchRequest<Quake>(), .max(\.magnitude))
/// ```
///
/// `nil` values are ignored, as in SQL.
public struct Aggregate<M: ManagedObject, Value> {
  /// The aggregated property, or `nil` to aggregate the objects themselves.
  let keyPath: AnyKeyPath?
  /// The closure that starts an aggregation.
  let begin: () -> Aggregation<Value>
}

/// An aggregation in progress.
final class Aggregation<Value> {
  let add: (StoredValue) throws -> Void
  let result: () throws -> Value

  init(_ add: @escaping (StoredValue) throws -> Void, result: @escaping () throws -> Value) {
    self.add = add
    self.result = result
  }
}

extension Aggregate where Value == Int {
  /// An aggregate that counts the objects.
  public static var count: Aggregate {
    Aggregate(keyPath: nil) {
      var count = 0
      return Aggregation({ _ in count += 1 }, result: { count })
    }
  }

  /// An aggregate that counts the objects in which a property is not `nil`.
  public static func count<Wrapped>(_ keyPath: KeyPath<M, Wrapped?>) -> Aggregate {
    Aggregate(keyPath: keyPath) {
      var count = 0
      return Aggregation({ _ in count += 1 }, result: { count })
    }
  }

  /// An aggregate that counts the distinct values of a property.
  ///
  /// - Complexity: Memory use is proportional to the number of distinct values.
  public static func distinctCount<Property>(_ keyPath: KeyPath<M, Property>) -> Aggregate {
    let isDecimal = (Property.self as? any AttributeValue.Type)?.storageType == .decimal
    return Aggregate(keyPath: keyPath) {
      var values: Set<StoredValue> = []
      return Aggregation(
        { values.insert($0.grouped(isDecimal: isDecimal)) }, result: { values.count })
    }
  }
}

extension Aggregate where Value: AttributeValue & Numeric {
  /// The sum of an attribute's values, or 0 if there are no objects.
  ///
  /// Computing the sum throws `numericOverflow` if the sum does not fit in the attribute's type.
  public static func sum(_ keyPath: KeyPath<M, Value>) -> Aggregate { total(keyPath) }

  /// The sum of the non-`nil` values of an attribute, or 0 if there are no such values.
  ///
  /// Computing the sum throws `numericOverflow` if the sum does not fit in the attribute's type.
  public static func sum(_ keyPath: KeyPath<M, Value?>) -> Aggregate { total(keyPath) }

  private static func total(_ keyPath: AnyKeyPath) -> Aggregate {
    Aggregate(keyPath: keyPath) {
      var total = NumericTotal<Value>()
      return Aggregation(
        { try total.add($0) },
        result: {
          if let value = total.value { return value }
          throw ObjectGraphError(
            .numericOverflow,
            "The sum does not fit in \(Value.self), the type of the attribute. Aggregate fewer "
              + "objects, or declare the attribute with a wider type.")
        })
    }
  }
}

extension Aggregate {
  /// The minimum value of an attribute, ignoring NaN, or `nil` if there is no such value.
  public static func min<Wrapped: AttributeValue & Comparable>(
    _ keyPath: KeyPath<M, Wrapped>
  ) -> Aggregate where Value == Wrapped? { first(keyPath, by: <) }

  /// The minimum value of an attribute, ignoring `nil` and NaN, or `nil` if there is no such value.
  public static func min<Wrapped: AttributeValue & Comparable>(
    _ keyPath: KeyPath<M, Wrapped?>
  ) -> Aggregate where Value == Wrapped? { first(keyPath, by: <) }

  /// The maximum value of an attribute, ignoring NaN, or `nil` if there is no such value.
  public static func max<Wrapped: AttributeValue & Comparable>(
    _ keyPath: KeyPath<M, Wrapped>
  ) -> Aggregate where Value == Wrapped? { first(keyPath, by: >) }

  /// The maximum value of an attribute, ignoring `nil` and NaN, or `nil` if there is no such value.
  public static func max<Wrapped: AttributeValue & Comparable>(
    _ keyPath: KeyPath<M, Wrapped?>
  ) -> Aggregate where Value == Wrapped? { first(keyPath, by: >) }

  private static func first<Wrapped: AttributeValue & Comparable>(
    _ keyPath: AnyKeyPath, by precedes: @escaping (Wrapped, Wrapped) -> Bool
  ) -> Aggregate where Value == Wrapped? {
    Aggregate(keyPath: keyPath) {
      var first: Wrapped?
      return Aggregation(
        {
          // Skip NaN, which does not equal itself. Also skip values that this version of the
          // program cannot decode, because they cannot be compared.
          guard let value = try Wrapped(known: $0), value == value else { return }
          if first.map({ precedes(value, $0) }) ?? true { first = value }
        }, result: { first })
    }
  }
}

extension Aggregate where Value == Double? {
  /// The mean of an attribute's values, or `nil` if there are no objects.
  public static func average<Number: AttributeValue & Numeric>(
    _ keyPath: KeyPath<M, Number>
  ) -> Aggregate { mean(keyPath) }

  /// The mean of the non-`nil` values of an attribute, or `nil` if there are no such values.
  public static func average<Number: AttributeValue & Numeric>(
    _ keyPath: KeyPath<M, Number?>
  ) -> Aggregate { mean(keyPath) }

  private static func mean(_ keyPath: AnyKeyPath) -> Aggregate {
    Aggregate(keyPath: keyPath) {
      var (total, count) = (0.0, 0)
      return Aggregation(
        {
          guard let number = $0.approximation else { return }
          total += number
          count += 1
        }, result: { count == 0 ? nil : total / Double(count) })
    }
  }
}
