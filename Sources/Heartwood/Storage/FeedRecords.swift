import Foundation

/// The position of the last applied event in another store's feed.
struct FeedPosition: Comparable {
  /// The number of the event's transaction.
  var transaction: Int64 = 0
  /// The position of the event's change within the transaction.
  var index: Int64 = -1
  /// The transaction's time, in milliseconds since 1970.
  var time: Int64 = 0

  static func < (one: FeedPosition, other: FeedPosition) -> Bool {
    (one.transaction, one.index) < (other.transaction, other.index)
  }
}

/// The records that a store keeps about the feeds applied to it.
struct FeedRecords {
  /// The positions of each source's feed, encoded in the format used for keys.
  ///
  /// The key of a feed's position is the source. The key of its newest snapshot's position is the
  /// source and `snapshot`.
  private let positions: KeyspaceWriter
  /// The records of all source objects, keyed by source and ID.
  ///
  /// Each record contains the number of the object in this store, the time of the last event about
  /// the object, and the hashes of its values. The records are encoded in the format used for keys.
  private let numbers: KeyspaceWriter
  /// The ID of each object in its source, keyed by the source and by the object's number in this
  /// store.
  private let subjects: KeyspaceWriter

  init(_ transaction: WriteTransaction) throws {
    positions = try transaction.keyspace("heartwood.feeds")
    numbers = try transaction.keyspace("heartwood.feeds.numbers")
    subjects = try transaction.keyspace("heartwood.feeds.objects")
  }

  /// Returns the position of the last applied event that was not part of an incomplete snapshot.
  func position(of source: String) throws -> FeedPosition {
    try position(Key(source)) ?? FeedPosition()
  }

  /// Returns the position of the newest snapshot of existing objects, which may be incomplete.
  func snapshot(of source: String) throws -> FeedPosition? {
    try position(Key(source, Self.snapshot))
  }

  private static let snapshot = "snapshot"

  private func position(_ key: Key) throws -> FeedPosition? {
    try positions.withValue(key) { value in
      let (number, index, time) = try Key.decode(value, as: Int64.self, Int64.self, Int64.self)
      return FeedPosition(transaction: number, index: index, time: time)
    }
  }

  func put(_ position: FeedPosition, of source: String) throws {
    try put(position, Key(source))
  }

  func putSnapshot(_ position: FeedPosition, of source: String) throws {
    try put(position, Key(source, Self.snapshot))
  }

  private func put(_ position: FeedPosition, _ key: Key) throws {
    try positions.put(key, Key(position.transaction, position.index, position.time).bytes)
  }

  /// Returns this store's number for an object in the source, and the values last applied to the
  /// object.
  ///
  /// Returns `nil` if the object is unknown.
  func object(
    of source: String, _ id: String
  ) throws -> (number: ObjectNumber, values: AppliedValues)? {
    try numbers.withValue(Key(source, id)) { value in
      let (bits, _, hashes) = try Key.decode(value, as: Int64.self, Int64.self, [UInt8].self)
      return (ObjectNumber(bits: bits), AppliedValues(hashes))
    }
  }

  /// Returns the source's objects whose last event was recorded before the given time.
  func unseen(since time: Int64, _ source: String) throws -> [(id: String, ObjectNumber)] {
    var unseen: [(String, ObjectNumber)] = []
    // Start at the source's name, because all keys of the source begin with it.
    try numbers.forEach(from: Key(source)) { key, value in
      let (owner, id) = try Key.decode(key, as: String.self, String.self)
      guard owner == source else { return false }
      let (number, seen, _) = try Key.decode(value, as: Int64.self, Int64.self, [UInt8].self)
      if seen < time { unseen.append((id, ObjectNumber(bits: number))) }
      return true
    }
    return unseen
  }

  /// Returns whether an object in this store corresponds to none of the source's known objects.
  func isUnknown(_ number: ObjectNumber, _ source: String) throws -> Bool {
    try subjects.get(Key(source, number.bits)) == nil
  }

  /// Records that an object in the source corresponds to an object in this store.
  ///
  /// - Parameters:
  ///   - old: The object that previously corresponded to the source's object, or `nil` if unknown.
  ///   - time: The time of the event, in milliseconds since 1970.
  func put(
    _ number: ObjectNumber, insteadOf old: ObjectNumber?, for source: String, _ id: String,
    seen time: Int64, _ values: AppliedValues
  ) throws {
    try numbers.put(Key(source, id), Key(number.bits, time, values.bytes).bytes)
    guard old != number else { return }
    if let old { try subjects.delete(Key(source, old.bits)) }
    try subjects.put(Key(source, number.bits), Array(id.utf8))
  }

  /// Replaces the names of renamed entities in the IDs of the source objects.
  ///
  /// A source uses the same model, so its events contain the new names.
  ///
  /// - Parameter names: The new names, keyed by the former names.
  func rename(_ names: [String: String]) throws {
    struct Record {
      let source: String
      let old: String
      let new: String
      let number: Int64
      let bytes: [UInt8]
    }
    var renamed: [Record] = []
    try numbers.forEach { key, value in
      let (source, id) = try Key.decode(key, as: String.self, String.self)
      guard let slash = id.lastIndex(of: "/"), let name = names[String(id[..<slash])] else {
        return true
      }
      let (number, time, hashes) = try Key.decode(
        value, as: Int64.self, Int64.self, [UInt8].self)
      renamed.append(
        Record(
          source: source, old: id, new: name + id[slash...], number: number,
          bytes: Key(number, time, hashes).bytes))
      return true
    }
    // Delete all old records first, because entities can exchange their names.
    for record in renamed { try numbers.delete(Key(record.source, record.old)) }
    for record in renamed {
      try numbers.put(Key(record.source, record.new), record.bytes)
      try subjects.put(Key(record.source, record.number), Array(record.new.utf8))
    }
  }

  func forget(_ source: String, _ id: String, _ number: ObjectNumber) throws {
    try numbers.delete(Key(source, id))
    try subjects.delete(Key(source, number.bits))
  }
}

/// The hashes of the values that a feed last assigned to an object's attributes.
///
/// If the hash of the current value differs, the value was changed in this store.
struct AppliedValues {
  /// For each attribute, its number in the store followed by the hash of its value.
  private(set) var bytes: [UInt8] = []
  private static let entryByteCount = 10

  init() {}

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func append(_ property: UInt16, _ value: StoredValue) {
    bytes.append(littleEndian: property)
    bytes.append(littleEndian: value.fingerprint)
  }

  /// Returns whether a value is the last value that the feed assigned to an attribute.
  ///
  /// Returns `false` if the last assigned value is unknown.
  func contains(_ property: UInt16, _ value: StoredValue) -> Bool {
    var wanted: [UInt8] = []
    wanted.append(littleEndian: property)
    let start = stride(from: 0, to: bytes.count, by: Self.entryByteCount).first { start in
      bytes[start...].prefix(2).elementsEqual(wanted)
    }
    guard let start else { return false }
    wanted.append(littleEndian: value.fingerprint)
    return bytes[start...].prefix(Self.entryByteCount).elementsEqual(wanted)
  }
}

extension StoredValue {
  /// A hash of the value's bits.
  fileprivate var fingerprint: UInt64 {
    var bytes: [UInt8] = []
    switch self {
    case .null: bytes = [0]
    case .bool(let value): bytes = [1, value ? 1 : 0]
    case .integer(let value):
      bytes = [2]
      bytes.append(littleEndian: value)
    case .largeInteger(let value):
      bytes = [3]
      bytes.append(littleEndian: value)
    case .double(bits: let bits):
      bytes = [4]
      bytes.append(littleEndian: bits)
    case .date(bits: let bits):
      bytes = [5]
      bytes.append(littleEndian: bits)
    case .uuid(let high, let low):
      bytes = [6]
      bytes.append(littleEndian: high)
      bytes.append(littleEndian: low)
    case .string(let text): bytes = [7] + text.utf8
    case .bytes(let value): bytes = [8] + value
    }
    var hash = XXH64()
    bytes.withBytes { hash.update($0) }
    return hash.finish()
  }
}
