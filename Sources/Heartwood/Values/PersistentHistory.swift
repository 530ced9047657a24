public import Foundation

/// Names a place in a store's history: everything up to one transaction.
///
/// It can be written down, and goes on being good for as long as the history after it is kept.
public struct PersistentHistoryToken: Hashable, Codable, Sendable {
  let store: UUID
  let sequence: Int64
}

/// What one save or batch request has changed.
public struct PersistentHistoryTransaction: Sendable {
  /// What names the place after it.
  public let token: PersistentHistoryToken
  /// Who made the changes, as the context's `transactionAuthor` said.
  public let author: String?
  /// The name of the context.
  public let contextName: String?
  /// When it was.
  public let timestamp: Date
  /// The process that did it.
  public let processID: Int32
  /// What was changed, in the order it was written.
  public let changes: [PersistentHistoryChange]
  /// The version of the rows it has written.
  let base: UInt64
}

/// What became of one object.
public struct PersistentHistoryChange: Sendable {
  /// Whether it was inserted, updated or deleted.
  public enum Kind: Hashable, Sendable {
    /// It is new.
    case insert
    /// The properties of these names were changed.
    case update(properties: Set<String>)
    /// It is gone; the tombstone has the attributes that are preserved on deletion, as text.
    case delete(tombstone: [String: String])
  }

  /// Whether it was inserted, updated or deleted.
  public let kind: Kind
  /// The object.
  public let objectID: ManagedObjectID
}
