package import HeartwoodEngine

/// Uses a possibly damaged store in every way that a program can, and records any misbehaviour that
/// the damage does not excuse.
///
/// The use consists of several phases. A `StorageError` ends only the current phase, and the next
/// phase then begins.
package struct StoreUse {
  private let disk: SimulatedDisk
  private let path: String
  private let options: StoreOptions
  /// A Boolean value that indicates whether a phase threw a `StorageError`, or verification
  /// reported a finding.
  package private(set) var metError = false
  /// One sentence for each misbehaviour of the engine.
  package private(set) var findings: [String] = []
  /// The content digests of all snapshots read before anything was written.
  package private(set) var contents: Set<UInt64> = []

  /// The number of entries after which a scan is considered endless.
  ///
  /// Files of a few megabytes cannot hold this many entries.
  private static let entryLimit = 1_000_000

  package init(of disk: SimulatedDisk, at path: String, options: StoreOptions) {
    self.disk = disk
    self.path = path
    self.options = options
  }

  /// Opens, verifies and reads the store.
  ///
  /// - Parameter writes: Whether the store is then also written, maintained and reopened.
  /// - Throws: Any error other than `StorageError`, which no part of the engine may throw.
  package mutating func run(writes: Bool) throws {
    var isSound = false
    try attempt { use in
      let store = try use.open()
      isSound = try store.verify().findings.isEmpty
      if !isSound { use.metError = true }
      try use.attempt { try $0.read(store) }
      guard writes else { return }
      if isSound { try use.attempt { try $0.overwrite(store) } }
      try use.attempt { try $0.write(store) }
      try use.attempt { try $0.keepUp(store) }
      try use.attempt { try $0.expectSound(store, isSound) }
      try use.attempt { _ in try store.close() }
      try use.expectSound(try use.open(), isSound)
    }
  }

  private func open() throws -> Store {
    try Store(at: path, options: options, fileSystem: disk)
  }

  private mutating func attempt(_ part: (inout StoreUse) throws -> Void) throws {
    do { try part(&self) } catch is StorageError { metError = true }
  }

  /// Verifies the store, and records a finding if it has become unsound even though no error
  /// occurred.
  private mutating func expectSound(_ store: Store, _ wasSound: Bool) throws {
    let found = try store.verify().findings
    if wasSound, !metError, let first = found.first {
      findings.append("A sound store has become unsound: \(first)")
    }
  }

  // MARK: Reading

  private mutating func read(_ store: Store) throws {
    var snapshots = [try store.snapshot()]
    try attempt { _ in _ = try store.liveGenerations() }
    try attempt { _ in
      for generation in try store.namedGenerations().values.sorted() {
        snapshots.append(try store.snapshot(at: generation))
      }
    }
    for snapshot in snapshots {
      try attempt { $0.contents.insert(try Self.digest(of: snapshot)) }
      try attempt { try $0.look(into: snapshot) }
    }
    for (source, target) in zip(snapshots, snapshots.dropFirst() + snapshots.prefix(1)) {
      try attempt { use in
        var count = 0
        try store.changes(from: source, to: target) { _ in try use.record(&count) }
      }
    }
  }

  /// Returns a digest of the complete contents of a snapshot.
  package static func digest(of snapshot: Snapshot) throws -> UInt64 {
    var digest: UInt64 = 0
    var count = 0
    for name in try snapshot.keyspaceNames {
      digest = Array(name.utf8).withBytes { XXH64.hash($0, seed: digest) }
      try snapshot.keyspace(name)?.forEach { key, value in
        digest = key.withBytes { XXH64.hash($0, seed: digest) }
        digest = value.withBytes { XXH64.hash($0, seed: digest) }
        count += 1
        return count < entryLimit
      }
    }
    return digest
  }

  /// Reads a snapshot in every possible way other than the scan that computes the digest.
  private mutating func look(into snapshot: Snapshot) throws {
    for name in try snapshot.keyspaceNames {
      guard let keyspace = try snapshot.keyspace(name) else { continue }
      _ = try keyspace.count()
      try attempt { use in
        var count = 0
        try keyspace.forEach(reversed: true) { _, _ in
          try use.record(&count)
          return true
        }
      }
      try attempt { try $0.move(keyspace.cursor()) }
      try attempt { _ in try keyspace.getMany(Array(0..<40)) { _, _ in } }
      for key in [0, 3, 8, 39] {
        try attempt { _ in
          _ = try keyspace.get(key)
          guard let count = try keyspace.valueByteCount(key) else { return }
          try keyspace.read(key, range: count / 3..<count - count / 3) { _ in }
          try keyspace.forEachChunk(key) { _ in }
        }
      }
      try attempt { _ in
        try keyspace.forEach(from: Key(7), upTo: Key(30)) { _, _ in true }
        _ = try keyspace.estimatedCount(from: Key(3), upTo: Key(30))
        _ = try keyspace.estimatedCount(upTo: Key("z"))
        _ = try keyspace.get(SampleStore.longKey(5))
      }
    }
  }

  /// Moves a cursor over all entries, forwards and backwards.
  private mutating func move(_ cursor: Cursor) throws {
    var count = 0
    var keys: [[UInt8]] = []
    while try cursor.moveToNext() {
      try record(&count)
      if let key = cursor.key, keys.count < 100 { keys.append(key) }
      _ = try cursor.value
    }
    try cursor.moveToLast()
    repeat { try record(&count) } while try cursor.moveToPrevious()
    for key in keys where try !cursor.seek(Key(unverified: key)) {
      findings.append("A cursor did not find a key that it had returned.")
    }
  }

  /// Counts an entry of a scan, and throws once the scan is considered endless.
  private mutating func record(_ count: inout Int) throws {
    count += 1
    guard count == Self.entryLimit else { return }
    findings.append("A scan visited more entries than the files can contain.")
    throw StorageError(.corrupt, "The scan was abandoned, because it would not end.")
  }

  // MARK: Writing

  /// Overwrites every third entry of a sound store with a value of the same length, and records a
  /// finding if that changes another entry.
  private mutating func overwrite(_ store: Store) throws {
    func entries(_ name: String) throws -> [(key: [UInt8], value: [UInt8])] {
      var entries: [(key: [UInt8], value: [UInt8])] = []
      try store.snapshot().keyspace(name)?.forEach { key, value in
        entries.append((key.withBytes { $0.copied() }, value.withBytes { $0.copied() }))
        return entries.count < 200
      }
      return entries
    }
    for name in try store.snapshot().keyspaceNames {
      try attempt { use in
        var expected = try entries(name)
        for index in stride(from: 0, to: expected.count, by: 3) {
          expected[index].value = expected[index].value.map { ~$0 }
        }
        try store.write { transaction in
          let keyspace = try transaction.keyspace(name)
          for index in stride(from: 0, to: expected.count, by: 3) {
            try keyspace.put(Key(unverified: expected[index].key), expected[index].value)
          }
        }
        guard try !entries(name).elementsEqual(expected, by: { $0 == $1 }) else { return }
        use.findings.append("Overwriting entries of \(name) has changed other entries.")
      }
    }
  }

  private mutating func write(_ store: Store) throws {
    for number in 0..<30 {
      try attempt { use in
        try store.write { transaction in try Self.change(&transaction, number) }
      }
    }
    for name in try store.snapshot().keyspaceNames {
      try attempt { [options] _ in
        try store.write { transaction in
          try Self.rewrite(transaction.keyspace(name), options.pageByteCount / 5)
        }
      }
    }
  }

  /// Frees every second cell of the nodes, and then writes larger values.
  ///
  /// The values need more contiguous space than the nodes have, so nodes are compacted while some
  /// of their cells are free.
  private static func rewrite(_ keyspace: KeyspaceWriter, _ largeByteCount: Int) throws {
    for (freed, byteCount) in [(0, largeByteCount), (1, largeByteCount), (0, 30)] {
      var keys: [Key] = []
      try keyspace.forEach { key, _ in
        keys.append(Key(unverified: key.withBytes { $0.copied() }))
        return keys.count < 100
      }
      for (index, key) in keys.enumerated() where index % 2 == freed { try keyspace.delete(key) }
      for key in keys { try keyspace.put(key, [UInt8](repeating: 3, count: byteCount)) }
    }
  }

  private static func change(_ transaction: inout WriteTransaction, _ number: Int) throws {
    switch number {
    case 20: return try transaction.removeKeyspace("b")
    case 21: return try transaction.keyspace("new").load(sorted: loaded)
    case 22:
      let keyspace = try transaction.keyspace("c")
      try keyspace.put(50, byteCount: 20_000) { writer in
        for _ in 0..<5 { try writer.append([UInt8](repeating: 5, count: 4000)) }
      }
    default:
      try transaction.keyspace("a").put(number, [UInt8](repeating: 7, count: 600))
      try transaction.keyspace("c").delete(number)
      try transaction.keyspace("text").put(SampleStore.longKey(number * 7), [1])
      try transaction.keyspace("text").delete(SampleStore.longKey(number * 3))
    }
  }

  private static let loaded = (0..<50).map { (Key($0), [UInt8](repeating: 9, count: 90)) }

  // MARK: Maintenance

  private mutating func keepUp(_ store: Store) throws {
    _ = store.statistics
    try attempt { _ in try store.checkpoint() }
    try attempt { [path] _ in try store.copy(try store.snapshot(), to: path + "-copy") }
    try attempt { [options] _ in _ = try store.compact(stepByteCount: options.pageByteCount * 6) }
    try attempt { _ in
      for name in try store.namedGenerations().keys.sorted() { try store.release(name) }
      try store.checkpoint()
    }
  }
}
