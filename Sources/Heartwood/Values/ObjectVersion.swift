public import Foundation

/// A past or current version of an object, found in the store's generations or history.
public struct ObjectVersion: Sendable {
  /// A readable generation that contains this version, or `nil` if only the history records the
  /// version.
  public let generation: QueryGenerationToken?
  /// The time at which this version was written.
  ///
  /// If the history does not contain the transaction that wrote this version, the date is the
  /// commit time of the oldest readable generation that contains the version.
  public let date: Date
  /// A Boolean value that indicates whether the object was deleted in this version.
  public let isDeleted: Bool
  /// The values, keyed by property name, or `nil` if the object was deleted or no generation
  /// contains this version.
  ///
  /// The dictionary contains all attributes and to-one relationships. The value of a relationship
  /// is an object number. To-many relationships are not included, but their members can be read at
  /// ``generation``.
  public let values: [String: StoredValue]?
  /// The token of the transaction that wrote this version, or `nil` if the history does not contain
  /// the transaction.
  public let historyToken: PersistentHistoryToken?
  /// The kind of change that produced this version, or `nil` if the history does not contain the
  /// transaction.
  public let change: PersistentHistoryChange.Kind?
  /// The author of the transaction that wrote this version, or `nil` if the history does not record
  /// an author.
  public let author: String?
  /// The name of the context that wrote this version, or `nil` if the history does not record a
  /// name.
  public let contextName: String?

  /// Returns the value of the attribute with the given name, or `nil` if ``values`` does not
  /// contain the attribute.
  ///
  /// - Throws: `corrupt` if the attribute has a different type, or `incompatibleFormat` if the
  ///   stored value cannot be decoded.
  public func value<Value: AttributeValue>(
    _ name: String, as type: Value.Type = Value.self
  ) throws -> Value? {
    guard let value = values?[name] else { return nil }
    return try Value(storedValue: value)
  }
}
