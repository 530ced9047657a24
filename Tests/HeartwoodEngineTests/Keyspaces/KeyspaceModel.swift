import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The expected contents of several keyspaces, kept in plain dictionaries that are sorted on
/// demand.
struct KeyspaceModel {
  typealias Row = (key: Key, value: [UInt8])

  private(set) var keyspaces: [String: [Key: [UInt8]]] = [:]

  static let names = ["a", "integers", "strings", "blobs", "tuples"]

  /// Returns a random key, usually of the kind that the given keyspace uses.
  static func key(_ name: String, _ random: inout SeededGenerator) -> AnyKey {
    let number = random.below(400)
    switch random.isTrue(in256: 20) ? names[random.below(names.count)] : name {
    case "integers": return .integer(random.isTrue(in256: 128) ? number : -number << 40)
    case "strings": return .string(String(repeating: "äx", count: number % 9) + "\(number)")
    case "blobs":
      return .bytes([UInt8](repeating: UInt8(number % 3), count: number % 300))
    case "tuples":
      return .key(Key(number % 5, "part \(number % 11)", number % 2 == 0))
    default: return .key(Key(number))
    }
  }

  static func value(_ random: inout SeededGenerator, pageByteCount: Int) -> [UInt8] {
    let quarter = (pageByteCount - 40) / 4
    let page = pageByteCount - 32
    let edges = [0, 10, 60, 60, 200, quarter - 22, quarter - 14, page, 2 * page]
    var count = max(0, edges[random.below(edges.count)] + random.below(5) - 2)
    if random.isTrue(in256: 2) { count = 200 << 10 }
    return [UInt8](repeating: UInt8(random.below(256)), count: count)
      + (count == 0 ? [] : random.bytes(min(count, 7)))
  }

  subscript(name: String, key: Key) -> [UInt8]? {
    get { keyspaces[name]?[key] }
    set { keyspaces[name, default: [:]][key] = newValue }
  }

  mutating func make(_ name: String) { keyspaces[name, default: [:]] = keyspaces[name] ?? [:] }

  mutating func remove(_ name: String) { keyspaces[name] = nil }

  func rows(_ name: String) -> [Row] {
    (keyspaces[name] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Expects that a snapshot has exactly these contents.
  func expectShown(
    by snapshot: Snapshot, _ context: String, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let comment = Comment(rawValue: context)
    let names = try snapshot.keyspaceNames
    #expect(names == keyspaces.keys.sorted(), comment, sourceLocation: location)
    for name in names {
      let keyspace = try #require(try snapshot.keyspace(name))
      var found: [Row] = []
      try keyspace.forEach { key, value in
        found.append((Key(unverified: key.array), value.array))
        return true
      }
      let isRight = found.elementsEqual(rows(name)) { $0.key == $1.key && $0.value == $1.value }
      #expect(isRight, "\(name), \(context)", sourceLocation: location)
      #expect(try keyspace.count() == found.count, comment, sourceLocation: location)
    }
  }
}

/// A key of one of the types that a program can use.
enum AnyKey: Hashable {
  case integer(Int)
  case string(String)
  case bytes([UInt8])
  case key(Key)

  var encoded: Key {
    switch self {
    case .integer(let integer): Key(integer)
    case .string(let string): Key(string)
    case .bytes(let bytes): Key(bytes)
    case .key(let key): key
    }
  }

  func put(_ value: [UInt8], in keyspace: KeyspaceWriter) throws {
    switch self {
    case .integer(let integer): try keyspace.put(integer, value)
    case .string(let string): try keyspace.put(string, value)
    case .bytes(let bytes): try keyspace.put(bytes, value)
    case .key(let key): try keyspace.put(key, value)
    }
  }

  func delete(from keyspace: KeyspaceWriter) throws -> Bool {
    switch self {
    case .integer(let integer): try keyspace.delete(integer)
    case .string(let string): try keyspace.delete(string)
    case .bytes(let bytes): try keyspace.delete(bytes)
    case .key(let key): try keyspace.delete(key)
    }
  }

  func get(from keyspace: KeyspaceWriter) throws -> [UInt8]? {
    switch self {
    case .integer(let integer): try keyspace.get(integer)
    case .string(let string): try keyspace.get(string)
    case .bytes(let bytes): try keyspace.get(bytes)
    case .key(let key): try keyspace.get(key)
    }
  }

  func get(from keyspace: KeyspaceReader) throws -> [UInt8]? {
    switch self {
    case .integer(let integer): try keyspace.get(integer)
    case .string(let string): try keyspace.get(string)
    case .bytes(let bytes): try keyspace.get(bytes)
    case .key(let key): try keyspace.get(key)
    }
  }
}

extension RawSpan {
  /// The bytes of the span, copied to an array.
  var array: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}
