public import Foundation

/// What an object was for a while, as far as the generations and the history know of it.
public struct ObjectVersion: Sendable {
  /// A generation that shows it; `nil` if none that can be read does, and only the history knows.
  public let generation: QueryGenerationToken?
  /// When it was written, or when the first generation was committed that has it.
  public let date: Date
  /// Whether there was no such object: it was deleted.
  public let isDeleted: Bool
  /// What it held, by the name of the property; `nil` if it was deleted or no generation shows it.
  ///
  /// It has attributes, and references by number, but not the members of to-many relationships:
  /// read those at ``generation``.
  public let values: [String: StoredValue]?
  /// The transaction of the history that has written it; `nil` if that is not in the history.
  public let historyToken: PersistentHistoryToken?
  /// What that transaction did to it.
  public let change: PersistentHistoryChange.Kind?
  /// Who has written it, if the history says so.
  public let author: String?
  /// The name of the context that has written it, if the history says so.
  public let contextName: String?

  /// The value of an attribute; `nil` if there are no values, or none of this name.
  ///
  /// - Throws: `corrupt` if the attribute is of another type.
  public func value<Value: AttributeValue>(
    _ name: String, as type: Value.Type = Value.self
  ) throws -> Value? {
    guard let value = values?[name] else { return nil }
    return try Value(storedValue: value)
  }
}
