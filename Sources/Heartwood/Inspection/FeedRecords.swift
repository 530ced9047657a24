import Foundation

/// How far the feed of another store has been applied.
struct FeedPosition: Comparable {
  /// The number of the last transaction.
  var transaction: Int64 = 0
  /// The position of the last change in it.
  var index: Int64 = -1
  /// Its time, in milliseconds since 1970.
  var time: Int64 = 0

  static func < (one: FeedPosition, other: FeedPosition) -> Bool {
    (one.transaction, one.index) < (other.transaction, other.index)
  }
}

/// The records that a store keeps of the feeds applied to it.
struct FeedRecords {
  /// The feed position of each source, encoded as a key.
  private let positions: KeyspaceWriter
  /// For each source and object ID in it, the object's number in this store and the time of the
  /// last event about the object, encoded as keys.
  private let numbers: KeyspaceWriter
  /// For each source and object number in this store, the object's ID in the source.
  private let subjects: KeyspaceWriter

  init(_ transaction: WriteTransaction) throws {
    positions = try transaction.keyspace("heartwood.feeds")
    numbers = try transaction.keyspace("heartwood.feeds.numbers")
    subjects = try transaction.keyspace("heartwood.feeds.objects")
  }

  func position(of source: String) throws -> FeedPosition {
    let position = try positions.withValue(source) { value in
      let (number, index, time) = try Key.decode(value, as: Int64.self, Int64.self, Int64.self)
      return FeedPosition(transaction: number, index: index, time: time)
    }
    return position ?? FeedPosition()
  }

  func put(_ position: FeedPosition, of source: String) throws {
    try positions.put(source, Key(position.transaction, position.index, position.time).bytes)
  }

  func number(of source: String, _ id: String) throws -> ObjectNumber? {
    try numbers.withValue(Key(source, id)) { value in
      ObjectNumber(bits: try Key.decode(value, as: Int64.self, Int64.self).0)
    }
  }

  /// Returns the objects for which there has been no event of a time or later.
  func unseen(since time: Int64, _ source: String) throws -> [(id: String, ObjectNumber)] {
    var unseen: [(String, ObjectNumber)] = []
    // The keys of a source are those that begin with its name.
    try numbers.forEach(from: Key(source)) { key, value in
      let (owner, id) = try Key.decode(key, as: String.self, String.self)
      guard owner == source else { return false }
      let (number, seen) = try Key.decode(value, as: Int64.self, Int64.self)
      if seen < time { unseen.append((id, ObjectNumber(bits: number))) }
      return true
    }
    return unseen
  }

  /// Returns whether no object of the source is known to correspond to an object of this store.
  func isUnknown(_ number: ObjectNumber, _ source: String) throws -> Bool {
    try subjects.get(Key(source, number.bits)) == nil
  }

  func put(
    _ number: ObjectNumber, for source: String, _ id: String, seen time: Int64
  ) throws {
    if let old = try self.number(of: source, id), old != number {
      try subjects.delete(Key(source, old.bits))
    }
    try numbers.put(Key(source, id), Key(number.bits, time).bytes)
    try subjects.put(Key(source, number.bits), Array(id.utf8))
  }

  func forget(_ source: String, _ id: String, _ number: ObjectNumber) throws {
    try numbers.delete(Key(source, id))
    try subjects.delete(Key(source, number.bits))
  }
}
