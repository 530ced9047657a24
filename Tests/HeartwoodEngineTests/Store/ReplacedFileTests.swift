import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests a store whose directory or files are deleted, moved or replaced while it is open.
@Suite("A store whose files are replaced")
struct ReplacedFileTests {
  /// A change made to the files of an open store.
  enum Change: String, CaseIterable, Sendable {
    case deleted, replacedByNewStore, pagesReplaced, pagesDeleted, locksReplaced, countersReplaced
    case segmentReplaced
  }

  private let files = FileManager.default
  private let fixture: StoreFixture

  init() throws {
    var options = StoreOptions()
    options.segmentByteCount = 64 << 10
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    fixture = try StoreFixture.onDisk(options)
  }

  private func put(
    _ key: Int, in store: Store, _ durability: StoreOptions.Durability = .full
  ) throws {
    try store.write(durability: durability) { try $0.keyspace("k").put(key, [UInt8(key & 255)]) }
  }

  private func kind(_ body: () throws -> Void) -> StorageError.Kind? { ForkedProcess.kind(body) }

  /// Replaces a file of the store with an identical copy.
  private func replace(_ name: String) throws {
    let path = fixture.path(of: name)
    try files.copyItem(atPath: path, toPath: path + ".copy")
    try files.removeItem(atPath: path)
    try files.moveItem(atPath: path + ".copy", toPath: path)
  }

  private func apply(_ change: Change) throws {
    switch change {
    case .deleted: try files.removeItem(atPath: fixture.path)
    case .replacedByNewStore:
      try files.removeItem(atPath: fixture.path)
      try fixture.with(OtherProcess(PosixFileSystem())).run { try put(99, in: $0) }
    case .pagesReplaced: try replace("pages")
    case .pagesDeleted: try files.removeItem(atPath: fixture.path(of: "pages"))
    case .locksReplaced: try replace("locks")
    case .countersReplaced: try replace("counters")
    case .segmentReplaced:
      let segments = try fixture.names().filter { $0.hasPrefix("wal-") }
      for segment in segments { try replace(segment) }
    }
  }

  /// Returns the bytes of all files in the store's directory, or an empty dictionary if the
  /// directory does not exist.
  private func bytes() throws -> [String: [UInt8]] {
    try files.fileExists(atPath: fixture.path) ? fixture.allBytes() : [:]
  }

  @Test(.evidence("D17"), arguments: Change.allCases, [true, false])
  func `throws on the next write and writes nothing`(change: Change, isIdle: Bool) throws {
    let store = try fixture.open()
    let other = try fixture.elsewhere().open()
    for key in 0..<20 { try put(key, in: key % 2 == 0 ? store : other) }
    // The store compares the file names in a different way if they have not changed for a while.
    if isIdle { usleep(30_000) }
    try put(20, in: store)
    try put(21, in: other)
    try apply(change)
    let before = try bytes()
    for store in [store, other] {
      for durability in [StoreOptions.Durability.normal, .full] {
        let error = #expect(throws: StorageError.self) { try put(30, in: store, durability) }
        #expect(error?.kind == .foreignStore)
        #expect(error?.file?.hasPrefix(fixture.path) == true)
      }
      #expect(try store.snapshot().keyspace("k")?.get(21) == [21])
    }
    if change != .segmentReplaced {
      for store in [store, other] {
        #expect(kind { try store.checkpoint() } == .foreignStore)
        #expect(store.statistics.lastCheckpointError?.kind == .foreignStore)
        #expect(kind { try store.keep(store.snapshot().generation, as: "a") } == .foreignStore)
        #expect(kind { try store.close() } == .foreignStore)
      }
    }
    #expect(try bytes() == before)
  }

  @Test(.evidence("D17")) func `continues after its directory is moved`() throws {
    let store = try fixture.open()
    let moved = fixture.path + "-moved"
    try put(1, in: store)
    try files.moveItem(atPath: fixture.path, toPath: moved)
    // Create another store at the earlier path. The two stores must not affect each other.
    try fixture.with(OtherProcess(PosixFileSystem())).run { try put(2, in: $0) }
    let before = try fixture.allBytes()
    for key in 3..<200 { try put(key, in: store, .normal) }
    try store.checkpoint()
    try put(200, in: store)
    try store.close()
    #expect(try fixture.allBytes() == before)
    let again = try Store(at: moved)
    #expect(try again.snapshot().keyspace("k")?.get(200) == [200])
    #expect(try again.snapshot().keyspace("k")?.get(2) == nil)
    #expect(try again.verify().findings == [])
    try again.close()
  }

  @Test(.evidence("D17")) func `detects a copy of another store that overwrote it`() throws {
    let source = try StoreFixture.onDisk(fixture.options)
    try source.run { try put(1, in: $0) }
    let store = try fixture.open()
    try put(2, in: store)
    let handle = try #require(FileHandle(forWritingAtPath: fixture.path(of: "pages")))
    try handle.write(contentsOf: Data(try source.bytes(of: "pages")))
    try handle.close()
    let before = try fixture.bytes(of: "pages")
    #expect(kind { try store.checkpoint() } == .foreignStore)
    #expect(try fixture.bytes(of: "pages") == before)
  }
}
