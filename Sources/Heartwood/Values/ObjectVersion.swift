public import Foundation

/// One version of an object, as the generations and the history record it.
public struct ObjectVersion: Sendable {
  /// A generation that contains this version; `nil` if no readable generation does and only the
  /// history records it.
  public let generation: QueryGenerationToken?
  /// The time of the write, or of the commit of the first generation that contains this version.
  public let date: Date
  /// Whether the object was deleted in this version.
  public let isDeleted: Bool
  /// The values by property name; `nil` if the object was deleted or no generation contains this
  /// version.
  ///
  /// They include attributes, and references as object numbers, but no members of to-many
  /// relationships: read those at ``generation``.
  public let values: [String: StoredValue]?
  /// The history transaction that wrote this version; `nil` if the history does not contain it.
  public let historyToken: PersistentHistoryToken?
  /// The kind of change in that transaction.
  public let change: PersistentHistoryChange.Kind?
  /// The author of that transaction, if the history records one.
  public let author: String?
  /// The name of the context that wrote this version, if the history records one.
  public let contextName: String?

  /// Returns the value of an attribute; `nil` if there are no values, or none of this name.
  ///
  /// - Throws: `corrupt` if the attribute is of another type.
  public func value<Value: AttributeValue>(
    _ name: String, as type: Value.Type = Value.self
  ) throws -> Value? {
    guard let value = values?[name] else { return nil }
    return try Value(storedValue: value)
  }
}
