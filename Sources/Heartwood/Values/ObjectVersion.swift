public import Foundation

/// A version of an object, as recorded by the generations and the history.
public struct ObjectVersion: Sendable {
  /// A readable generation that contains this version, or `nil` if only the history records the
  /// version.
  public let generation: QueryGenerationToken?
  /// The time of the history transaction that wrote this version or, if the history does not
  /// contain it, the commit time of the first inspected generation that contains the version.
  public let date: Date
  /// Whether the object was deleted in this version.
  public let isDeleted: Bool
  /// The values by property name, or `nil` if the object was deleted or no generation contains this
  /// version.
  ///
  /// The values are those of attributes and of to-one relationships; the latter are object numbers.
  /// To-many relationships are not included; read their members at ``generation``.
  public let values: [String: StoredValue]?
  /// The history transaction that wrote this version, or `nil` if the history does not contain it.
  public let historyToken: PersistentHistoryToken?
  /// The kind of change that this history transaction made to the object.
  public let change: PersistentHistoryChange.Kind?
  /// The author of the history transaction, if the history records one.
  public let author: String?
  /// The name of the context that wrote this version, if the history records one.
  public let contextName: String?

  /// Returns the value of an attribute, or `nil` if this version has no value with the given name.
  ///
  /// - Throws: `corrupt` if the attribute has another type.
  public func value<Value: AttributeValue>(
    _ name: String, as type: Value.Type = Value.self
  ) throws -> Value? {
    guard let value = values?[name] else { return nil }
    return try Value(storedValue: value)
  }
}
