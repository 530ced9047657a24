public import Foundation

/// A token for a position in the history of each store of a container.
///
/// Each position is directly after one of the store's transactions.
///
/// A program can encode and save the token, and later ask for the transactions after it. The token
/// stays valid until some of these transactions are deleted from the history.
public struct PersistentHistoryToken: Hashable, Codable, Sendable {
  /// The position in the history of one store.
  private struct Position: Hashable, Codable {
    let store: UUID
    let sequence: Int64
  }

  private let store: UUID
  private let sequence: Int64
  /// The positions in the other stores, or `nil` if there are no other stores.
  private let others: [Position]?

  /// Creates the token for the position after transaction `sequence` of one store.
  init(store: UUID, sequence: Int64) {
    self.store = store
    self.sequence = sequence
    others = nil
  }

  /// Creates the token for positions in several stores, or returns `nil` if there are no positions.
  init?(_ sequences: [UUID: Int64]) {
    // The positions are sorted, so that tokens with the same positions are equal.
    let positions = sequences.map { Position(store: $0, sequence: $1) }
      .sorted { $0.store.uuidString < $1.store.uuidString }
    guard let first = positions.first else { return nil }
    store = first.store
    sequence = first.sequence
    others = positions.count > 1 ? Array(positions.dropFirst()) : nil
  }

  /// Returns the number of the last transaction before the token's position in `store`, or `nil` if
  /// the token contains no position for this store.
  func sequence(of store: UUID) -> Int64? {
    if self.store == store { return sequence }
    return others?.first { $0.store == store }?.sequence
  }

  /// For each store, the number of the last transaction before the token's position.
  var sequences: [UUID: Int64] {
    (others ?? []).reduce(into: [store: sequence]) { $0[$1.store] = $1.sequence }
  }
}

/// The changes made by one save or batch request.
public struct PersistentHistoryTransaction: Sendable {
  /// The position after this transaction.
  public internal(set) var token: PersistentHistoryToken
  /// The author of the changes, as set in the root context's `transactionAuthor`, or `nil` if none
  /// was set.
  public let author: String?
  /// The name of the root context that made the changes, or `nil` if it had none.
  public let contextName: String?
  /// The time of the commit.
  public let timestamp: Date
  /// The PID of the process that committed the transaction.
  public let processID: Int32
  /// The changes, in the order in which they were written.
  public let changes: [PersistentHistoryChange]
  /// The number of the transaction's first frame.
  ///
  /// The rows that the transaction wrote contain this number as their version.
  let base: UInt64
  /// The UUID of the store.
  let store: UUID
  /// The number of the transaction in the store's history.
  let sequence: Int64
}

/// A change to one object in a history transaction.
public struct PersistentHistoryChange: Sendable {
  /// The kind of a change.
  public enum Kind: Hashable, Sendable {
    /// The object was inserted.
    case insert
    /// The properties with these names changed.
    case update(properties: Set<String>)
    /// The object was deleted.
    ///
    /// The tombstone maps the name of each attribute that is preserved on deletion to the
    /// attribute's last value, as text.
    case delete(tombstone: [String: String])
  }

  /// The kind of the change.
  public let kind: Kind
  /// The object that changed.
  public let objectID: ManagedObjectID
}
