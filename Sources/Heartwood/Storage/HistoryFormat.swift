/// The format in which the history is stored in its keyspace.
///
/// A transaction is stored as a header, followed by chunks that contain its changes. The key of
/// each entry consists of the transaction number, counted from 1, and the chunk number, which is 0
/// for the header. The entry that contains the ``HistoryBounds`` precedes all transactions.
package enum HistoryFormat {
  package static let keyspace = "heartwood.history"
  static let boundsKey = Key(0 as Int64, 0 as Int64)

  /// A change to an object, with properties identified by their numbers in the store.
  package enum Change {
    case insert
    case update([UInt16])
    case delete([(UInt16, String)])
  }

  package static func append(_ change: Change, _ number: ObjectNumber, to bytes: inout [UInt8]) {
    switch change {
    case .insert:
      bytes.append(1)
      bytes.append(littleEndian: number.bits)
    case .update(let properties):
      bytes.append(2)
      bytes.append(littleEndian: number.bits)
      bytes.append(littleEndian: UInt16(properties.count))
      for property in properties { bytes.append(littleEndian: property) }
    case .delete(let tombstone):
      bytes.append(3)
      bytes.append(littleEndian: number.bits)
      bytes.append(littleEndian: UInt16(tombstone.count))
      for (property, text) in tombstone {
        bytes.append(littleEndian: property)
        bytes.append(text: text)
      }
    }
  }

  /// Calls `body` with each change in a chunk.
  ///
  /// - Throws: `corrupt` if the bytes cannot be decoded.
  package static func forEachChange(
    _ bytes: [UInt8], _ body: (ObjectNumber, Change) throws -> Void
  ) throws {
    var reader = ByteReader(bytes)
    while !reader.isAtEnd {
      let kind: UInt8 = try reader.next()
      let number = ObjectNumber(bits: try reader.next())
      switch kind {
      case 1: try body(number, .insert)
      case 2:
        let count: UInt16 = try reader.next()
        try body(number, .update(try (0..<count).map { _ in try reader.next() }))
      case 3:
        let count: UInt16 = try reader.next()
        let tombstone = try (0..<count).map { _ in (try reader.next() as UInt16, try reader.text())
        }
        try body(number, .delete(tombstone.map { ($0, $1 ?? "") }))
      default:
        throw StorageError(
          .corrupt,
          "The store is corrupt: the history contains a change of an unknown kind (\(kind)). "
            + "Restore a backup.")
      }
    }
  }
}

/// The range of transactions in the history.
package struct HistoryBounds {
  /// The number of the next transaction.
  package var next: Int64 = 1
  /// The number of the last deleted transaction, or 0 if no transaction has been deleted.
  ///
  /// All earlier transactions have been deleted too.
  var deleted: Int64 = 0
  /// The time of the last deleted transaction, in milliseconds since 1970, or `nil` if the time is
  /// unknown.
  var deletedTime: Int64?

  package init() {}

  package init(_ value: RawSpan) throws {
    var reader = ByteReader(value.copy)
    next = try reader.next()
    deleted = try reader.next()
    // Earlier versions of the format do not include the time, so it may be missing.
    if !reader.isAtEnd { deletedTime = try reader.next() }
    guard deleted >= 0, deleted < next, next < .max else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: the bounds of the history are invalid. Restore a backup.")
    }
  }

  package var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: next)
    bytes.append(littleEndian: deleted)
    if let deletedTime { bytes.append(littleEndian: deletedTime) }
    return bytes
  }
}

/// The metadata of a transaction in the history.
package struct HistoryHeader {
  /// The time of the transaction, in seconds since the start of 2001 (UTC).
  var timestamp: Double
  var processID: Int32
  /// The number of the transaction's first frame.
  var base: UInt64
  var author: String?
  var contextName: String?

  private static let version: UInt8 = 1

  package var encoded: [UInt8] {
    var bytes: [UInt8] = [Self.version]
    bytes.append(littleEndian: timestamp.bitPattern)
    bytes.append(littleEndian: processID)
    bytes.append(littleEndian: base)
    bytes.append(text: author)
    bytes.append(text: contextName)
    return bytes
  }
}

extension HistoryHeader {
  package init(_ bytes: [UInt8]) throws {
    var reader = ByteReader(bytes)
    let version: UInt8 = try reader.next()
    guard version == Self.version else {
      throw StorageError(
        .corrupt,
        "The history contains a transaction in an unknown format (\(version)). Open the store with "
          + "a newer version of the program, or restore a backup.")
    }
    timestamp = Double(bitPattern: try reader.next())
    processID = try reader.next()
    base = try reader.next()
    author = try reader.text()
    contextName = try reader.text()
  }
}

extension [UInt8] {
  /// Appends the length of a string, followed by the string.
  ///
  /// `nil` is encoded as a length that no string can have.
  fileprivate mutating func append(text: String?) {
    guard let text else { return append(littleEndian: UInt32.max) }
    append(littleEndian: UInt32(text.utf8.count))
    append(contentsOf: text.utf8)
  }
}

/// A reader that decodes numbers and strings, one after another, from bytes that may be corrupt.
private struct ByteReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  private mutating func readBytes(_ count: Int) throws -> ArraySlice<UInt8> {
    guard count <= rest.count else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: an entry in the history is too short. Restore a backup.")
    }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func next<Value: FixedWidthInteger>() throws -> Value {
    var value: Value = 0
    for (position, byte) in try readBytes(MemoryLayout<Value>.size).enumerated() {
      value |= Value(truncatingIfNeeded: byte) << (8 * position)
    }
    return value
  }

  mutating func text() throws -> String? {
    let count: UInt32 = try next()
    guard count != .max else { return nil }
    guard let text = String(validating: try readBytes(Int(count)), as: UTF8.self) else {
      throw StorageError(
        .corrupt,
        "The store is corrupt: a string in the history is not valid UTF-8. Restore a backup.")
    }
    return text
  }
}
