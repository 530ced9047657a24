import Foundation

/// The standard library and Foundation types that attributes can have, except collections.
enum StandardTypes {
  static let all = ordered.union(identifiers(Bool.self, Data.self, Decimal.self, URL.self))

  /// The types for which `<` defines the same order as the stored representation.
  static let ordered = identifiers(
    Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self,
    UInt32.self, UInt64.self, Double.self, Float.self, String.self, Date.self, UUID.self)

  private static func identifiers(_ types: Any.Type...) -> Set<ObjectIdentifier> {
    Set(types.map { ObjectIdentifier($0) })
  }
}
