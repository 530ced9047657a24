import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

/// Tests a store that is opened read-only before any process has written to it since the machine
/// booted.
///
/// Shared counters do not exist yet, so the store's state is known only from its files.
@Suite("A reader without shared counters")
struct PrivateReaderTests {
  private let fileSystem = ObservedFileSystem(MemoryFileSystem())

  /// Returns two fixtures of the same closed store, one for a writer and one for a reader.
  ///
  /// The store has one entry and no counters, as after a restart of the machine.
  private func fixtures() throws -> (writer: StoreFixture, reader: StoreFixture) {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 64 << 10
    let writer = StoreFixture.on(fileSystem, options)
    try writer.run { store in try store.write { try $0.keyspace("k").put(1, [1]) } }
    try fileSystem.remove(writer.path(of: "counters"))
    var reader = writer.elsewhere()
    reader.options.isReadOnly = true
    return (writer, reader)
  }

  private func value(_ snapshot: Snapshot) throws -> UInt8? {
    try snapshot.keyspace("k")?.get(1)?.first
  }

  @Test(.evidence("I1"), .evidence("I8"))
  func `sees commits made after it opened the store`() throws {
    let (writing, reading) = try fixtures()
    try reading.run { reader in
      #expect(try value(reader.snapshot()) == 1)
      try writing.run { writer in
        for number: UInt8 in 2..<10 {
          let generation = try writer.write { try $0.keyspace("k").put(1, [number]) }
          let snapshot = try reader.snapshot()
          #expect(snapshot.generation == generation)
          #expect(try value(snapshot) == number)
          if number % 4 == 0 { try writer.checkpoint() }
        }
      }
      #expect(try value(reader.snapshot()) == 9)
    }
  }

  @Test(.evidence("I5"), .evidence("I8"))
  func `does not revive a generation that others have released`() throws {
    let (writing, reading) = try fixtures()
    try reading.run { reader in
      let generation = try reader.snapshot().generation
      #expect(try value(reader.snapshot(at: generation)) == 1)
      try writing.run { writer in
        try writer.write { try $0.keyspace("k").put(1, [2]) }
        try writer.checkpoint()
        let error = #expect(throws: StorageError.self) { try reader.snapshot(at: generation) }
        #expect(error?.kind == .generationExpired)
      }
    }
  }

  /// The log does not show these commits, because their segments have been deleted.
  @Test(.evidence("I1"), .evidence("I8"))
  func `sees commits made and checkpointed after it opened the store`() throws {
    let (writing, reading) = try fixtures()
    try reading.run { reader in
      #expect(try value(reader.snapshot()) == 1)
      try writing.run { writer in
        for number: UInt8 in 2..<40 { try writer.write { try $0.keyspace("k").put(1, [number]) } }
        try writer.checkpoint()
        #expect(try writer.verify().logCommitCount == 0)
      }
      #expect(try value(reader.snapshot()) == 39)
    }
  }

  @Test(.evidence("I1"), .evidence("I8"))
  func `sees a commit made while it pins the newest known generation`() throws {
    let (writing, reading) = try fixtures()
    try reading.run { reader in
      let known = try reader.snapshot().generation
      var writer: Store?
      fileSystem.onLock = { kind, range in
        guard case .shared = kind, range.lowerBound == LockByte.live + known.frame, writer == nil
        else { return }
        #expect(throws: Never.self) {
          writer = try writing.open()
          try writer?.write { try $0.keyspace("k").put(1, [2]) }
          try writer?.checkpoint()
        }
      }
      let snapshot = try reader.snapshot()
      fileSystem.onLock = nil
      #expect(snapshot.generation > known)
      #expect(try value(snapshot) == 2)
      let store = try #require(writer)
      try StoreFixture.expectSound(store)
      try store.close()
    }
  }

  /// Until the reader finds the counters, it has a private core with its own thread.
  @Test(.evidence("I6")) func `releases its lock when it finds the shared counters`() throws {
    var (writing, reading) = try fixtures()
    reading.options.maintenance = .background
    try reading.run { reader in
      #expect(try value(reader.snapshot()) == 1)
      try writing.run { writer in try writer.write { try $0.keyspace("k").put(1, [2]) } }
      #expect(try value(reader.snapshot()) == 2)
    }
    let file = try #require(try writing.fileSystem.open(writing.path(of: "locks"), .write))
    #expect(try file.lockedByOthers(in: 0..<1 << 62) == nil)
  }

  /// A switch for errors, and the number of errors so far.
  private final class Errors: Sendable {
    let areOn = Atomic(true)
    let count = Atomic(0)
  }

  /// Until the reader finds the counters, each wait for commits polls the files.
  @Test(
    .evidence("N1"), .evidence("N3"), arguments: [StorageError.Kind.io, .busy, .corrupt],
    [false, true])
  func `waits for commits until it is closed, whatever errors occur`(
    kind: StorageError.Kind, isClosed: Bool
  ) async throws {
    let (writing, reading) = try fixtures()
    let reader = try reading.open()
    let commits = reader.commits()
    let errors = Errors()
    fileSystem.onDemand = { _, path throws(StorageError) in
      guard path.hasSuffix("/counters"), errors.areOn.load(ordering: .relaxed) else { return }
      errors.count.add(1, ordering: .relaxed)
      throw .unchanged(kind, "The call was refused.", file: path)
    }
    let waiting = Task {
      var iterator = commits.makeAsyncIterator()
      return await iterator.next()
    }
    let end = ContinuousClock.now + .seconds(60)
    while errors.count.load(ordering: .relaxed) == 0, ContinuousClock.now < end {
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(errors.count.load(ordering: .relaxed) > 0)
    if isClosed { try reader.close() }
    errors.areOn.store(false, ordering: .relaxed)
    try writing.run { writer in try writer.write { try $0.keyspace("k").put(1, [2]) } }
    #expect(await (waiting.value == nil) == isClosed)
    try reader.close()
  }

  @Test(.evidence("N3"))
  func `stops waiting for commits when its task is cancelled`() async throws {
    let (_, reading) = try fixtures()
    let reader = try reading.open()
    let commits = reader.commits()
    let waiting = Task {
      var iterator = commits.makeAsyncIterator()
      return await iterator.next()
    }
    try await Task.sleep(for: .milliseconds(50))
    waiting.cancel()
    #expect(await waiting.value == nil)
    try reader.close()
  }
}
