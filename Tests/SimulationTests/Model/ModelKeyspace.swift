import HeartwoodEngine
import HeartwoodTestSupport

/// A keyspace of a run, and the type of its keys.
struct ModelKeyspace: Sendable {
  enum Kind: Sendable {
    case integers
    case strings
    case bytes
    case pairs
    case triples
  }

  let name: String
  let kind: Kind
  /// The number of different keys, each of which is derived from a smaller number.
  let keyCount: Int

  static let all = [
    ModelKeyspace(name: "accounts", kind: .integers, keyCount: 400),
    ModelKeyspace(name: "busy", kind: .integers, keyCount: 12),
    ModelKeyspace(name: "wide", kind: .integers, keyCount: 4000),
    ModelKeyspace(name: "names", kind: .strings, keyCount: 300),
    ModelKeyspace(name: "Namen größerer Länge", kind: .strings, keyCount: 60),
    ModelKeyspace(name: "blobs", kind: .bytes, keyCount: 120),
    ModelKeyspace(name: "long keys", kind: .bytes, keyCount: 60),
    ModelKeyspace(name: "events", kind: .pairs, keyCount: 500),
    ModelKeyspace(name: "index", kind: .pairs, keyCount: 2000),
    ModelKeyspace(name: "mixed", kind: .triples, keyCount: 300),
    ModelKeyspace(name: "rare", kind: .triples, keyCount: 40),
    ModelKeyspace(
      name: String(repeating: "n", count: 255), kind: .strings, keyCount: 100),
  ]

  func key(_ random: inout SeededGenerator) -> ModelKey { key(random.below(keyCount)) }

  /// Returns the key for a number; different numbers result in different keys.
  func key(_ number: Int) -> ModelKey {
    switch kind {
    case .integers: .integer(number % 2 == 0 ? number : -number << 33)
    case .strings: .string(String(repeating: "äx", count: number % 9) + "\(number)")
    case .bytes:
      .bytes([UInt8](repeating: UInt8(number % 3), count: number * 7 % 400) + [UInt8(number)])
    case .pairs: .parts(Key(number % 7, "part \(number)"))
    case .triples:
      .parts(Key(number % 3 == 0 ? nil : number, Double(number) / 8, number % 2 == 0))
    }
  }

  /// Returns a random value, often with a length near one of the limits at which the storage of
  /// values changes.
  static func value(_ random: inout SeededGenerator, pageByteCount: Int) -> [UInt8] {
    let quarter = (pageByteCount - 40) / 4
    let page = pageByteCount - 32
    let edges = [0, 8, 30, 60, 60, 200, 200, quarter - 22, quarter - 14, page, 2 * page]
    var count = max(0, edges[random.below(edges.count)] + random.below(5) - 2)
    if random.isTrue(in256: 3) { count = random.below(160 << 10) }
    var value = [UInt8](repeating: UInt8(random.below(256)), count: count)
    // Make the pages of a large value differ, so that a read of the wrong page is detected.
    for offset in stride(from: 0, to: count, by: 256) {
      value[offset] = UInt8(truncatingIfNeeded: random.next())
    }
    return value
  }
}

/// A key of one of the types that a program can use.
enum ModelKey {
  case integer(Int)
  case string(String)
  case bytes([UInt8])
  case parts(Key)

  var encoded: Key {
    switch self {
    case .integer(let integer): Key(integer)
    case .string(let string): Key(string)
    case .bytes(let bytes): Key(bytes)
    case .parts(let key): key
    }
  }
}

/// The read operations on a keyspace that snapshots and transactions have in common.
protocol KeyspaceReading {
  func count() throws -> Int
  func get(_ key: Int) throws -> [UInt8]?
  func get(_ key: String) throws -> [UInt8]?
  func get(_ key: [UInt8]) throws -> [UInt8]?
  func get(_ key: Key) throws -> [UInt8]?
  func getMany(_ keys: [Int], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void) throws
  func getMany(_ keys: [String], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void) throws
  func valueByteCount(_ key: Key) throws -> Int?
  func withValue<R>(_ key: Key, _ body: (RawSpan) throws -> R) throws -> R?
  func read(_ key: Key, range: Range<Int>, _ body: (RawSpan) throws -> Void) throws -> Bool
  func forEachChunk(_ key: Key, _ body: (RawSpan) throws -> Void) throws -> Bool
  func forEach(
    from lower: Key?, upTo upper: Key?, reversed: Bool,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws
  func cursor() -> Cursor
}

extension KeyspaceReader: KeyspaceReading {}
extension KeyspaceWriter: KeyspaceReading {}

extension KeyspaceReading {
  func get(_ key: ModelKey) throws -> [UInt8]? {
    switch key {
    case .integer(let integer): try get(integer)
    case .string(let string): try get(string)
    case .bytes(let bytes): try get(bytes)
    case .parts(let key): try get(key)
    }
  }
}

extension KeyspaceWriter {
  func put(_ key: ModelKey, _ value: [UInt8]) throws {
    switch key {
    case .integer(let integer): try put(integer, value)
    case .string(let string): try put(string, value)
    case .bytes(let bytes): try put(bytes, value)
    case .parts(let key): try put(key, value)
    }
  }

  func put(
    _ key: ModelKey, byteCount: Int, _ body: (inout ValueWriter) throws -> Void
  ) throws {
    switch key {
    case .integer(let integer): try put(integer, byteCount: byteCount, body)
    case .string(let string): try put(string, byteCount: byteCount, body)
    case .bytes(let bytes): try put(bytes, byteCount: byteCount, body)
    case .parts(let key): try put(key, byteCount: byteCount, body)
    }
  }

  func delete(_ key: ModelKey) throws -> Bool {
    switch key {
    case .integer(let integer): try delete(integer)
    case .string(let string): try delete(string)
    case .bytes(let bytes): try delete(bytes)
    case .parts(let key): try delete(key)
    }
  }
}
