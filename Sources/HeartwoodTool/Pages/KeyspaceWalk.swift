import HeartwoodEngine

/// An iteration over a keyspace, in key order, that reads only the displayed part of each value.
struct KeyspaceWalk {
  private let keyspace: KeyspaceReader
  private let from: Key?
  private let limit: Int

  init(_ keyspace: KeyspaceReader, from: Key?, limit: Int?) {
    self.keyspace = keyspace
    self.from = from
    self.limit = limit ?? .max
  }

  /// Calls `body` with each encoded key.
  func forEachKey(_ body: (_ key: [UInt8]) throws -> Void) throws {
    let cursor = keyspace.cursor()
    var isValid = try from.map { try cursor.seek($0) } ?? cursor.moveToFirst()
    var count = 0
    while isValid, count < limit, let key = cursor.key {
      try body(key)
      count += 1
      isValid = try cursor.moveToNext()
    }
  }

  /// Calls `body` with each encoded key and the first `byteLimit` bytes of its value, or with the
  /// complete value if `byteLimit` is `nil`.
  func forEachEntry(
    upTo byteLimit: Int?, _ body: (_ key: [UInt8], _ value: ShownValue) throws -> Void
  ) throws {
    try forEachKey { bytes in
      let key = Key(unverified: bytes)
      let byteCount = try keyspace.valueByteCount(key) ?? 0
      let end = min(byteCount, byteLimit ?? .max)
      var value: [UInt8] = []
      value.reserveCapacity(end)
      func append(_ chunk: RawSpan) { chunk.withUnsafeBytes { value.append(contentsOf: $0) } }
      if end == byteCount {
        // Use `forEachChunk`, because unlike `read`, it also checks the hash of the value.
        try keyspace.forEachChunk(key) { append($0) }
      } else {
        try keyspace.read(key, range: 0..<end) { append($0) }
      }
      try body(bytes, ShownValue(byteCount: byteCount, bytes: value))
    }
  }
}
