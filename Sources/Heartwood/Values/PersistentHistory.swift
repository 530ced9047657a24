public import Foundation

/// A token that records a position in each store's history.
///
/// Each position is directly after one of the store's transactions.
///
/// You can encode and save the token, and later use it to fetch the transactions that follow the
/// recorded positions. The token stays valid until some of these transactions are deleted from the
/// history.
public struct PersistentHistoryToken: Codable, Sendable {
  private struct Position: Codable {
    let store: UUID
    let sequence: Int64
    let time: Int64?
  }

  // Store the first position in separate properties, because a nested position would make the
  // encoded token longer if there is only one store.
  private let store: UUID
  private let sequence: Int64
  private let time: Int64?
  /// The positions in the other stores, or `nil` if there are no other stores.
  private let others: [Position]?

  /// Creates the token for a position in one store.
  init(store: UUID, _ position: HistoryPosition) {
    self.store = store
    (sequence, time) = (position.sequence, position.time)
    others = nil
  }

  /// Creates the token for positions in several stores, or returns `nil` if there are no positions.
  init?(_ positions: [UUID: HistoryPosition]) {
    // Sort the positions, so that tokens with the same positions are equal.
    let sorted = positions.map { Position(store: $0, sequence: $1.sequence, time: $1.time) }
      .sorted { $0.store.uuidString < $1.store.uuidString }
    guard let first = sorted.first else { return nil }
    (store, sequence, time) = (first.store, first.sequence, first.time)
    others = sorted.count > 1 ? Array(sorted.dropFirst()) : nil
  }

  /// Returns the position in `store`, or `nil` if the token does not cover the store.
  func position(in store: UUID) -> HistoryPosition? {
    if self.store == store { return HistoryPosition(sequence: sequence, time: time) }
    return others?.first { $0.store == store }
      .map { HistoryPosition(sequence: $0.sequence, time: $0.time) }
  }

  /// The positions in all stores covered by the token.
  var positions: [UUID: HistoryPosition] {
    (others ?? []).reduce(into: [store: HistoryPosition(sequence: sequence, time: time)]) {
      $0[$1.store] = HistoryPosition(sequence: $1.sequence, time: $1.time)
    }
  }
}

extension PersistentHistoryToken: Hashable {
  // Do not compare the times, because the time of a position may be unknown.
  private var sequences: [UUID: Int64] { positions.mapValues(\.sequence) }

  /// Returns whether two tokens have the same positions.
  public static func == (one: PersistentHistoryToken, other: PersistentHistoryToken) -> Bool {
    one.sequences == other.sequences
  }

  /// Hashes the positions.
  public func hash(into hasher: inout Hasher) { hasher.combine(sequences) }
}

/// A position in the history of a store.
struct HistoryPosition {
  /// The number of the last transaction before the position, or 0 if there is none.
  let sequence: Int64
  /// The time of the last transaction before the position, in milliseconds since 1970, or `nil` if
  /// the time is unknown.
  ///
  /// After a store has been restored to an earlier state, a different transaction may have the same
  /// number, but not the same time.
  var time: Int64?
}

/// The changes made by one save or batch request.
public struct PersistentHistoryTransaction: Sendable {
  /// A token for the position directly after this transaction.
  public internal(set) var token: PersistentHistoryToken
  /// The author of the changes, or `nil` if no author was set.
  ///
  /// This is the value of the root context's `transactionAuthor`.
  public let author: String?
  /// The name of the root context that made the changes, or `nil` if the context had no name.
  public let contextName: String?
  /// The time of the commit.
  public let timestamp: Date
  /// The PID of the process that committed the transaction.
  public let processID: Int32
  /// The changes, in the order in which they were written.
  public let changes: [PersistentHistoryChange]
  /// The number of the transaction's first log frame.
  ///
  /// The rows written by the transaction have this number as their version.
  let base: UInt64
  /// The UUID of the store.
  let store: UUID
  /// The position in the store's history directly after the transaction.
  let position: HistoryPosition
}

/// A change to one object in a history transaction.
public struct PersistentHistoryChange: Sendable {
  /// The kind of a change.
  public enum Kind: Hashable, Sendable {
    /// The object was inserted.
    case insert
    /// The object was updated, and the properties with the given names changed.
    case update(properties: Set<String>)
    /// The object was deleted.
    ///
    /// The tombstone contains the attributes that are preserved on deletion: their last values as
    /// text, keyed by attribute name. Dates are in ISO 8601 format, data is in base64, and values
    /// of `Codable` types are JSON.
    case delete(tombstone: [String: String])
  }

  /// The kind of the change.
  public let kind: Kind
  /// The object that changed.
  public let objectID: ManagedObjectID
}
