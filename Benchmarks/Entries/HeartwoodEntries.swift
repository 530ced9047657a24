import HeartwoodEngine

/// Heartwood with default options, used through its public API.
struct HeartwoodEntries: EntryEngine {
  let options: StoreOptions

  let name = Engine.heartwood

  func makeStore(in directory: String, valueByteCount: Int) throws -> any EntryStore {
    let store = try Store(at: directory, options: options)
    try store.write { _ = try $0.keyspace(HeartwoodEntryStore.keyspaceName) }
    return HeartwoodEntryStore(store)
  }
}

private final class HeartwoodEntryStore: EntryStore {
  static let keyspaceName = "entries"

  private let store: Store

  init(_ store: Store) { self.store = store }

  private struct Writer: EntryWriter {
    let keyspace: KeyspaceWriter

    func put(_ key: [UInt8], _ value: RawSpan) throws { try keyspace.put(key, value) }
    func remove(_ key: [UInt8]) throws { try keyspace.delete(key) }
  }

  func write(isDurable: Bool, _ body: (any EntryWriter) throws -> Void) throws {
    try store.write(durability: isDurable ? .full : .normal) { transaction in
      try body(Writer(keyspace: try transaction.keyspace(Self.keyspaceName)))
    }
  }

  func put(_ key: [UInt8], _ value: RawSpan, isDurable: Bool) throws {
    try store.write(durability: isDurable ? .full : .normal) { transaction in
      try transaction.keyspace(Self.keyspaceName).put(key, value)
    }
  }

  func reader(isPinned: Bool) throws -> any EntryReader {
    isPinned
      ? HeartwoodPinnedReader(try store.snapshot().loaded(Self.keyspaceName))
      : HeartwoodNewestReader(store)
  }

  var checkpointCount: Int { store.statistics.activity.checkpointCount }

  func compact() throws { try store.compact() }

  func finish() throws {
    let findings = try store.verify().findings
    try store.close()
    guard findings.isEmpty else {
      throw BenchFailure("The store is damaged: \(findings.joined(separator: "; "))")
    }
  }
}

/// A reader that uses a single snapshot.
private final class HeartwoodPinnedReader: EntryReader {
  private let keyspace: KeyspaceReader

  init(_ keyspace: KeyspaceReader) { self.keyspace = keyspace }

  func withValue(_ key: [UInt8], _ body: (RawSpan) throws -> Void) throws -> Bool {
    try keyspace.withValue(key, body) != nil
  }

  func forEach(from key: [UInt8], count: Int, _ body: (RawSpan) throws -> Void) throws {
    try keyspace.forEachValue(from: key, count: count, body)
  }
}

/// A reader that takes a new snapshot for each call.
private final class HeartwoodNewestReader: EntryReader {
  private let store: Store

  init(_ store: Store) { self.store = store }

  func withValue(_ key: [UInt8], _ body: (RawSpan) throws -> Void) throws -> Bool {
    try store.read { snapshot in
      try snapshot.loaded(HeartwoodEntryStore.keyspaceName).withValue(key, body) != nil
    }
  }

  func forEach(from key: [UInt8], count: Int, _ body: (RawSpan) throws -> Void) throws {
    try store.read { snapshot in
      try snapshot.loaded(HeartwoodEntryStore.keyspaceName)
        .forEachValue(from: key, count: count, body)
    }
  }
}

extension KeyspaceReader {
  fileprivate func forEachValue(
    from key: [UInt8], count: Int, _ body: (RawSpan) throws -> Void
  ) throws {
    var remaining = count
    try forEach(from: Key(key)) { _, value in
      try body(value)
      remaining -= 1
      return remaining > 0
    }
  }
}
