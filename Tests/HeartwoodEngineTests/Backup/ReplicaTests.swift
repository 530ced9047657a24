import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A replica")
struct ReplicaTests {
  private let disk = MemoryFileSystem()
  private let source: Store
  private let options: StoreOptions

  init() throws {
    let fixture = StoreFixture.on(disk)
    options = fixture.options
    source = try fixture.open()
  }

  private var backup: Backup { Backup(at: "/backup", on: disk) }

  private func write(_ value: UInt8, keyCount: Int = 40) throws -> BackedUpState {
    try source.write { transaction in
      let keyspace = try transaction.keyspace("k")
      for key in 0..<keyCount {
        try keyspace.put(key, [UInt8](repeating: value, count: 900))
      }
    }
    return try BackedUpState(source.snapshot())
  }

  private func replica() throws -> Replica {
    try Replica(at: "/replica", following: backup, options)
  }

  private func reader() throws -> Store {
    var options = options
    options.isReadOnly = true
    return try Store(at: "/replica", options: options, fileSystem: disk)
  }

  private func expectError(
    _ kind: StorageError.Kind, _ words: String = "", _ location: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) {
    let error = #expect(throws: StorageError.self, sourceLocation: location) { try body() }
    #expect(error?.kind == kind, sourceLocation: location)
    #expect(error?.message.contains(words) ?? words.isEmpty, sourceLocation: location)
  }

  @Test(.evidence("A8")) func `accepts the tokens of its source but no writers`() throws {
    let first = try write(1)
    try source.backup(to: "/backup")
    let token = try source.snapshot().token
    let replica = try replica()
    #expect(try replica.generation == first.generation)
    let reader = try reader()
    let held = try reader.snapshot(at: token)
    let second = try write(2)
    try source.backup(to: "/backup")
    #expect(try replica.advance() == [second.generation])
    #expect(try replica.advance() == [])
    try first.expectSamePages(held, "")
    try second.expectSamePages(reader.snapshot(at: source.snapshot().token), "")
    expectError(.readOnly, "The store is a replica") {
      _ = try Store(at: "/replica", options: options, fileSystem: disk)
    }
    expectError(.readOnly) { try reader.write { try $0.keyspace("k").put(1, [1]) } }
    expectError(.busy) { _ = try self.replica() }
    expectError(.busy) { try Replica.promote("/replica", options, disk) }
    try replica.close()
    expectError(.closed) { try replica.advance() }
    expectError(.readOnly, "The store is a replica") {
      _ = try Store(at: "/replica", options: options, fileSystem: disk)
    }
    try StoreFixture.expectSound(reader)
    try reader.close()
  }

  @Test(.evidence("A8")) func `wakes readers when a generation arrives`() async throws {
    _ = try write(1)
    try source.backup(to: "/backup")
    let replica = try replica()
    let reader = try reader()
    var commits = reader.commits().makeAsyncIterator()
    let second = try write(2)
    try source.backup(to: "/backup")
    try replica.advance()
    #expect(await commits.next() == second.generation)
    try replica.close()
    try reader.close()
  }

  @Test(.evidence("A9")) func `that was promoted is written, and never follows again`() throws {
    _ = try write(1)
    try source.backup(to: "/backup")
    try replica().close()
    let reader = try reader()
    let before = try reader.snapshot()
    #expect(try reader.replicaStatus != nil)
    try Replica.promote("/replica", options, disk)
    #expect(try reader.replicaStatus == nil)
    let promoted = try Store(at: "/replica", options: options, fileSystem: disk)
    try promoted.write { try $0.keyspace("k").put(1, [7]) }
    #expect(try reader.snapshot().keyspace("k")?.get(1) == [7])
    _ = try reader.snapshot(at: before.token)
    _ = try write(2)
    try source.backup(to: "/backup")
    expectError(.invalidArgument, "can no longer follow") { _ = try replica() }
    expectError(.invalidArgument) { try Replica.promote("/replica", options, disk) }
    // The promoted store has a different lineage, so it cannot add to the backup of its source.
    expectError(.foreignStore) { try promoted.backup(to: "/backup") }
    try promoted.backup(to: "/backup2")
    try Backup(at: "/backup2", on: disk).restore(to: "/again")
    try BackedUpState(promoted.snapshot()).expectEqual(at: "/again", on: disk)
    try promoted.close()
    try reader.close()
  }

  @Test(.evidence("F3")) func `is not advanced after a failed write`() throws {
    _ = try write(1)
    try source.backup(to: "/backup")
    let replica = try replica()
    let generation = try replica.generation
    _ = try write(2)
    try source.backup(to: "/backup")
    let file = try #require(try disk.open("/replica/counters", .write))
    SharedCounters(try file.mapShared(byteCount: CountersLayout.byteCount)).setFailed()
    expectError(.writesDisabled) { try replica.advance() }
    #expect(try replica.generation == generation)
    try? replica.close()
    let again = try self.replica()
    #expect(try again.advance().count == 1)
    try again.close()
  }

  @Test(.evidence("A8")) func `does not follow a source that was restored to an older state`()
    throws
  {
    let first = try write(1)
    try source.backup(to: "/backup")
    _ = try write(2)
    try source.backup(to: "/backup")
    let replica = try replica()
    let generation = try replica.generation
    try backup.restore(first.generation, to: "/old")
    let old = try Store(at: "/old", options: options, fileSystem: disk)
    // Write more frames than the replica contains.
    for value in 0..<40 as Range<UInt8> {
      try old.write { try $0.keyspace("k").put(2, [UInt8](repeating: value, count: 20_000)) }
    }
    try old.backup(to: "/backup2")
    try old.close()
    for name in try disk.list("/backup2") ?? [] where name != "lock" {
      let file = try #require(try disk.open("/backup2/" + name, .read))
      try disk.create("/backup/" + name).write(file.allBytes(), at: 0)
    }
    expectError(.foreignStore, "create a new replica") { try replica.advance() }
    #expect(try replica.generation == generation)
    let reader = try reader()
    let status = try #require(try reader.replicaStatus)
    #expect(status.lastError?.contains("does not continue") == true && status.errorTime != nil)
    try replica.close()
    try reader.close()
  }

  @Test(.evidence("A8"), arguments: TestScale.seeds(quick: 60, all: 600, long: 50_000))
  func `is unaffected by damaged files, and continues when they are repaired`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var states = [try write(1)]
    try source.backup(to: "/backup")
    let replica = try replica()
    for value in 2..<5 as Range<UInt8> {
      states.append(try write(value, keyCount: 10 * Int(value)))
      try source.backup(to: "/backup")
    }
    if generator.isTrue(in256: 100) { try backup.thin { _ in generator.isTrue(in256: 128) } }
    let names = try (disk.list("/backup") ?? []).filter { $0 != "lock" }.sorted()
    let name = names[generator.below(names.count)]
    let path = "/backup/" + name
    let whole = try #require(try disk.open(path, .read)).allBytes()
    var bytes = whole
    switch generator.below(6) {
    case 0: bytes = []
    case 1: bytes = Array(bytes.prefix(generator.below(bytes.count)))
    case 2: bytes += generator.bytes(1 + generator.below(5000))
    case 3:
      let other = names[generator.below(names.count)]
      bytes = try #require(try disk.open("/backup/" + other, .read)).allBytes()
    default:
      let limit = generator.isTrue(in256: 128) ? 1300 : bytes.count
      bytes[generator.below(limit)] ^= 1 << UInt8(generator.below(8))
    }
    try replace(path, bytes)
    if bytes.isEmpty { try disk.remove(path) }
    let reader = try reader()
    do { try replica.advance() } catch let error as StorageError {
      let kinds: [StorageError.Kind] = [.corrupt, .incompatibleFormat, .notAStore]
      #expect(kinds.contains(error.kind), "seed \(seed): \(error)")
    }
    let snapshot = try reader.snapshot()
    let state = states.first { $0.generation == snapshot.generation }
    try #require(state, "seed \(seed)").expectSamePages(snapshot, "seed \(seed)")
    try StoreFixture.expectSound(reader)
    try replace(path, whole)
    try replica.advance()
    try states[3].expectSamePages(reader.snapshot(), "seed \(seed)")
    try StoreFixture.expectSound(reader)
    try replica.close()
    try reader.close()
  }

  @Test(.evidence("A8")) func `applies the files before a missing file, and names that file`()
    throws
  {
    _ = try write(1)
    try source.backup(to: "/backup")
    let replica = try replica()
    var states: [BackedUpState] = []
    for value in 2..<6 as Range<UInt8> {
      states.append(try write(value))
      try source.backup(to: "/backup")
    }
    let names = try (disk.list("/backup") ?? []).filter { $0.hasPrefix("delta") }.sorted()
    let bytes = try #require(try disk.open("/backup/" + names[1], .read)).allBytes()
    try disk.remove("/backup/" + names[1])
    expectError(.corrupt, "depends on generation") { try replica.advance() }
    #expect(try replica.generation == states[0].generation)
    try replace("/backup/" + names[1], bytes)
    #expect(try replica.advance() == states[1...].map(\.generation))
    try replica.close()
  }

  /// Another process may be promoting the replica, so nothing may be written after the closing.
  @Test(.evidence("A8"), .evidence("U4"))
  func `that is closed between two generations keeps the first, and records no error`() throws {
    _ = try write(1)
    try source.backup(to: "/backup")
    let replica = try replica()
    let second = try write(2)
    try source.backup(to: "/backup")
    let third = try write(3)
    try source.backup(to: "/backup")
    expectError(.closed) { try replica.advance { _ in _ = try? replica.close() } }
    let reader = try reader()
    #expect(try reader.snapshot().generation == second.generation)
    let status = try #require(try reader.replicaStatus)
    #expect(status.lastError == nil)
    try reader.close()
    let again = try self.replica()
    #expect(try again.advance() == [third.generation])
    try again.close()
  }

  @Test(.evidence("A8")) func `rejects generations that no log can contain`() throws {
    _ = try write(1)
    try source.backup(to: "/backup")
    let replica = try replica()
    let state = try source.snapshot().state
    let geometry = state.files.geometry
    for frame in [geometry.lastSlot(of: geometry.segment(of: state.generation)), 1 << 55] {
      var point = state.point
      point.frame = frame
      let header = BackupHeader(
        geometry: geometry, identity: state.files.identity, series: 1,
        base: BackupStart(state.point), point: point, lineages: [], names: [:], imageCount: 0)
      let block = header.encoded()
      var bytes = block.bytes.bytes.copied()
      bytes += [UInt8](repeating: 0, count: Int(header.fileByteCount) - bytes.count)
      try replace("/backup/" + header.name.text, bytes)
      #expect(throws: StorageError.self) { try replica.advance() }
      #expect(throws: StorageError.self) { try backup.restore(to: "/restored") }
      #expect(try replica.generation.frame == state.generation)
      try disk.remove("/backup/" + header.name.text)
    }
    try replica.close()
  }

  private func replace(_ path: String, _ bytes: [UInt8]) throws {
    let file = try disk.create(path)
    try file.setByteCount(0)
    try file.write(bytes, at: 0)
  }

  // MARK: Forks

  @Test(.evidence("A10")) func `differs from a fork, which has its own identity`() throws {
    let first = try write(1)
    try source.backup(to: "/backup")
    let token = try source.snapshot().token
    try backup.restore(first.generation, to: "/fork", asFork: true)
    let fork = try Store(at: "/fork", options: options, fileSystem: disk)
    #expect(fork.files.identity != source.files.identity)
    expectError(.foreignStore) { _ = try fork.snapshot(at: token) }
    #expect(
      try fork.snapshot().keyspace("k")?.get(39) == [UInt8](repeating: 1, count: 900))
    try StoreFixture.expectSound(fork)
    try fork.write { try $0.keyspace("k").put(1, [2]) }
    expectError(.foreignStore) { try fork.backup(to: "/backup") }
    try fork.backup(to: "/backup2")
    try Backup(at: "/backup2", on: disk).restore(to: "/again")
    try BackedUpState(fork.snapshot()).expectEqual(at: "/again", on: disk)
    try StoreFixture.expectSound(fork)
    try fork.close()
  }
}
