public import Foundation

/// Names a place in the history of each store of a container: everything up to one transaction.
///
/// It can be written down, and goes on being good for as long as the history after it is kept.
public struct PersistentHistoryToken: Hashable, Codable, Sendable {
  /// The place of one store.
  private struct Place: Hashable, Codable {
    let store: UUID
    let sequence: Int64
  }

  private let store: UUID
  private let sequence: Int64
  /// The places of the other stores, if there are any.
  private let others: [Place]?

  /// The token of a place in the history of one store: that after a transaction.
  init(store: UUID, sequence: Int64) {
    self.store = store
    self.sequence = sequence
    others = nil
  }

  /// The token of places in the histories of some stores; `nil` if there are none.
  init?(_ sequences: [UUID: Int64]) {
    // Equal ones look the same.
    let places = sequences.map { Place(store: $0, sequence: $1) }
      .sorted { $0.store.uuidString < $1.store.uuidString }
    guard let first = places.first else { return nil }
    store = first.store
    sequence = first.sequence
    others = places.count > 1 ? Array(places.dropFirst()) : nil
  }

  /// The last transaction of a store that comes before; `nil` if the token is not of this store.
  func sequence(of store: UUID) -> Int64? {
    if self.store == store { return sequence }
    return others?.first { $0.store == store }?.sequence
  }

  /// The last transaction of each store that comes before.
  var sequences: [UUID: Int64] {
    (others ?? []).reduce(into: [store: sequence]) { $0[$1.store] = $1.sequence }
  }
}

/// What one save or batch request has changed.
public struct PersistentHistoryTransaction: Sendable {
  /// What names the place after it.
  public internal(set) var token: PersistentHistoryToken
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
  /// The store it was written to, and its number there.
  let store: UUID
  let sequence: Int64
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
