import Foundation

/// How far the feed of another store has been applied.
struct FeedPosition: Comparable {
  /// The number of the last transaction.
  var transaction: Int64 = 0
  /// The position of the last change in it.
  var index: Int64 = -1

  static func < (one: FeedPosition, other: FeedPosition) -> Bool {
    (one.transaction, one.index) < (other.transaction, other.index)
  }
}

/// What a store remembers of the feeds that are applied to it.
struct FeedRecords {
  /// By source, the position, encoded as a key.
  private let positions: KeyspaceWriter
  /// By source and ID there, the numbers of the objects here and the transactions of the last
  /// events about them, encoded as keys.
  private let numbers: KeyspaceWriter
  /// By source and number here, the IDs there.
  private let subjects: KeyspaceWriter

  init(_ transaction: WriteTransaction) throws {
    positions = try transaction.keyspace("heartwood.feeds")
    numbers = try transaction.keyspace("heartwood.feeds.numbers")
    subjects = try transaction.keyspace("heartwood.feeds.objects")
  }

  func position(of source: String) throws -> FeedPosition {
    let position = try positions.withValue(source) { value in
      let (number, index) = try Key.decode(value, as: Int64.self, Int64.self)
      return FeedPosition(transaction: number, index: index)
    }
    return position ?? FeedPosition()
  }

  func put(_ position: FeedPosition, of source: String) throws {
    try positions.put(source, Key(position.transaction, position.index).bytes)
  }

  func number(of source: String, _ id: String) throws -> ObjectNumber? {
    try numbers.withValue(Key(source, id)) { value in
      ObjectNumber(bits: try Key.decode(value, as: Int64.self, Int64.self).0)
    }
  }

  /// Returns the objects about which there has been no event since a transaction.
  func unseen(since transaction: Int64, _ source: String) throws -> [(id: String, ObjectNumber)] {
    var unseen: [(String, ObjectNumber)] = []
    // The keys of a source are those that begin with its name.
    try numbers.forEach(from: Key(source)) { key, value in
      let (owner, id) = try Key.decode(key, as: String.self, String.self)
      guard owner == source else { return false }
      let (number, seen) = try Key.decode(value, as: Int64.self, Int64.self)
      if seen < transaction { unseen.append((id, ObjectNumber(bits: number))) }
      return true
    }
    return unseen
  }

  /// Returns whether no object of the other store is known to be this one.
  func isUnknown(_ number: ObjectNumber, _ source: String) throws -> Bool {
    try subjects.get(Key(source, number.bits)) == nil
  }

  func put(
    _ number: ObjectNumber, for source: String, _ id: String, seen transaction: Int64
  ) throws {
    if let old = try self.number(of: source, id), old != number {
      try subjects.delete(Key(source, old.bits))
    }
    try numbers.put(Key(source, id), Key(number.bits, transaction).bytes)
    try subjects.put(Key(source, number.bits), Array(id.utf8))
  }

  func forget(_ source: String, _ id: String, _ number: ObjectNumber) throws {
    try numbers.delete(Key(source, id))
    try subjects.delete(Key(source, number.bits))
  }
}
