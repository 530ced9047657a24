import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests concurrent openings of a store, and the operations that a reader may perform.
@Suite("A second opening")
struct SharingTests {
  private func sample(_ access: StoreOptions.Access = .mapped) throws -> StoreFixture {
    var options = StoreOptions()
    options.access = access
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 64 << 10
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for number in 0..<500 { try keyspace.put(number, Array("value \(number)".utf8)) }
        try keyspace.put("large", [UInt8](repeating: 4, count: 50_000))
      }
    }
    return fixture
  }

  private func readOnly(_ fixture: StoreFixture) -> StoreFixture {
    var fixture = fixture
    fixture.options.isReadOnly = true
    return fixture
  }

  private func expectReadable(_ store: Store) throws {
    let keyspace = try #require(try store.snapshot().keyspace("k"))
    #expect(try keyspace.count() == 501)
    for number in 0..<500 {
      #expect(try keyspace.get(number) == Array("value \(number)".utf8))
    }
    #expect(try keyspace.get("large")?.count == 50_000)
  }

  /// A store is identified by device and inode number, so the path does not matter.
  @Test(.evidence("I8"))
  func `in one process shares the state of the first`() throws {
    let fixture = try sample()
    let link = fixture.path + "-link"
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: fixture.path)
    defer { try? FileManager.default.removeItem(atPath: link) }
    try fixture.run { first in
      let second = try Store(at: link, options: fixture.options)
      #expect(first.files === second.files)
      try second.write { try $0.keyspace("other").put(1, [1]) }
      let reader = try readOnly(fixture).open()
      #expect(reader.files === first.files)
      #expect(try reader.snapshot().keyspace("other")?.get(1) == [1])
      let refusal = #expect(throws: StorageError.self) { try reader.write { _ in } }
      #expect(refusal?.kind == .readOnly)
      try second.close()
      #expect(throws: StorageError.self) { try second.snapshot() }
      try reader.close()
      try first.write { try $0.keyspace("other").put(2, [2]) }
      try expectReadable(first)
    }
    try fixture.run { store throws in
      #expect(try store.snapshot().keyspace("other")?.count() == 2)
    }
  }

  @Test(.evidence("I8"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `in another process sees every commit immediately`(access: StoreOptions.Access) throws {
    let fixture = try sample(access)
    let elsewhere = fixture.elsewhere()
    try fixture.run { first in
      try elsewhere.run { second in
        #expect(first.files !== second.files)
        for number in 0..<200 {
          let (writer, reader) = number % 3 == 0 ? (first, second) : (second, first)
          let generation = try writer.write(durability: number % 2 == 0 ? .normal : .full) {
            try $0.keyspace("k").put(number, Array("round \(number)".utf8))
          }
          let snapshot = try reader.snapshot()
          #expect(snapshot.generation == generation)
          #expect(try snapshot.keyspace("k")?.get(number) == Array("round \(number)".utf8))
          if number % 50 == 49 { try reader.checkpoint() }
        }
        try StoreFixture.expectSound(first)
      }
      #expect(try first.snapshot().keyspace("k")?.count() == 501)
    }
  }

  @Test(.evidence("I8")) func `waits for an opening in progress`() throws {
    let fixture = try sample()
    let other = try #require(
      try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
    #expect(try other.lock(.exclusive, 0..<1))
    let thread = try #require(
      SystemThread {
        SystemThread.sleep(milliseconds: 100)
        _ = try? other.lock(.none, 0..<1)
      })
    try fixture.run { try expectReadable($0) }
    thread.join()
  }

  @Test(.evidence("I8"), .evidence("I6"))
  func `succeeds after a store was released without being closed`() throws {
    let fixture = try sample()
    do {
      let store = try fixture.open()
      try store.write { try $0.keyspace("k").put(1, Array("value 1".utf8)) }
    }
    try fixture.run { try expectReadable($0) }
  }

  @Test(.evidence("I8")) func `waits for the last snapshot of a closed store`() throws {
    let fixture = try sample()
    let store = try fixture.open()
    var held: [Snapshot] = [try store.snapshot()]
    try StoreFixture.expectSound(store)
    try store.close()
    #expect(try held[0].keyspace("k")?.count() == 501)
    held = []
    withExtendedLifetime(store) {}
  }

  // MARK: Reading only

  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `for reading changes no byte of any file`(access: StoreOptions.Access) throws {
    let fixture = try sample(access)
    let before = try fixture.allBytes()
    try readOnly(fixture).run { store in
      try expectReadable(store)
      let write = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").put(1, [1]) }
      }
      #expect(write?.kind == .readOnly)
      let checkpoint = #expect(throws: StorageError.self) { try store.checkpoint() }
      #expect(checkpoint?.kind == .readOnly)
      let generation = try store.snapshot().generation
      #expect(try store.snapshot(at: generation).generation == generation)
    }
    let isUnchanged = try fixture.allBytes() == before
    #expect(isUnchanged)
  }

  /// All commits are still in the log, because the store was released as if its process had died.
  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `for reading sees commits that are only in the log`(access: StoreOptions.Access) throws {
    let fixture = try sample(access)
    do {
      let store = try fixture.open()
      for number in 0..<100 {
        try store.write { try $0.keyspace("log").put(number, [UInt8(number)]) }
      }
    }
    let before = try fixture.allBytes()
    try readOnly(fixture).run { store in
      try expectReadable(store)
      #expect(try store.snapshot().keyspace("log")?.count() == 100)
      #expect(store.recovery.commitCount >= 100)
    }
    let isUnchanged = try fixture.allBytes() == before
    #expect(isUnchanged)
    try fixture.run { store throws in
      #expect(try store.snapshot().keyspace("log")?.get(99) == [99])
    }
  }

  @Test func `for reading needs no right to write`() throws {
    let fixture = try sample()
    let paths = try fixture.names().map { fixture.path(of: $0) }
    func setPermissions(_ files: Int, _ directory: Int) throws {
      for path in paths {
        try FileManager.default.setAttributes([.posixPermissions: files], ofItemAtPath: path)
      }
      try FileManager.default.setAttributes(
        [.posixPermissions: directory], ofItemAtPath: fixture.path)
    }
    try setPermissions(0o444, 0o555)
    defer { try? setPermissions(0o644, 0o755) }
    try readOnly(fixture).run { try expectReadable($0) }
    // Permissions do not restrict an administrator, and many containers run with administrator
    // rights. The test therefore checks that the engine opens no file for writing.
    let guarded = WriteGuard(fixture.fileSystem)
    var options = fixture.options
    options.isReadOnly = true
    let store = try Store(at: fixture.path, options: options, fileSystem: guarded)
    try expectReadable(store)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test func `for reading may coexist with another opening for reading`() throws {
    let fixture = try sample()
    try readOnly(fixture).run { first in
      try readOnly(fixture).run { second in
        try expectReadable(first)
        try expectReadable(second)
      }
      try expectReadable(first)
      // A writer can attach to the store, and the readers then see the writer's commits.
      try fixture.elsewhere().run { writer in
        try writer.write { try $0.keyspace("new").put(1, [1]) }
        #expect(try first.snapshot().keyspace("new")?.get(1) == [1])
      }
      try expectReadable(first)
    }
    try fixture.run { try expectReadable($0) }
  }
}

/// A file system that rejects all changes.
private final class WriteGuard: FileSystem {
  private let inner: any FileSystem

  init(_ inner: any FileSystem) { self.inner = inner }

  private static func refusal(_ path: String) -> StorageError {
    StorageError(.io, "The store was opened read-only, but changes a file.", file: path)
  }

  func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    guard access == .read else { throw Self.refusal(path) }
    return try inner.open(path, access)
  }

  func createDirectory(_ path: String) throws(StorageError) { throw Self.refusal(path) }

  func list(_ path: String) throws(StorageError) -> [String]? { try inner.list(path) }

  func remove(_ path: String) throws(StorageError) { throw Self.refusal(path) }

  func removeDirectory(_ path: String) throws(StorageError) { throw Self.refusal(path) }

  func rename(_ source: String, to target: String) throws(StorageError) {
    throw Self.refusal(source)
  }

  func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    try inner.volumeType(of: path)
  }

  func syncDirectory(_ path: String) throws(StorageError) { try inner.syncDirectory(path) }

  var bootIdentity: UInt64? { inner.bootIdentity }

  var wallClockMilliseconds: UInt64 { inner.wallClockMilliseconds }

  func random() -> UInt64 { inner.random() }
}
