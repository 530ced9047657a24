import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Tests stores that contain links to files elsewhere, such as stores from an untrusted archive.
@Suite("A store with symbolic links")
struct LinkTests {
  private static let names = [
    "pages", "pages.new", "map", "map.new", "kept", "kept.new", "reserve", "counters", "locks",
    "holders", "wal-0000000000000001", "wal-0000000000000002", "wal-0000000000000003",
  ]
  private let fixture: StoreFixture
  private let directory: ScratchDirectory

  init() throws {
    var options = StoreOptions()
    options.segmentByteCount = 32 << 10
    options.maintenance = .inline
    options.reclaimLogByteCount = 1
    fixture = try StoreFixture.onDisk(options)
    directory = try ScratchDirectory()
    try fixture.run { store in try store.write { try $0.keyspace("k").put(1, [1]) } }
  }

  /// Opens the store, and works with it until every kind of store file has been used.
  private func use() throws {
    let store = try fixture.open()
    let snapshot = try store.snapshot()
    for key in 2..<40 {
      try store.write { try $0.keyspace("k").put(key, [UInt8](repeating: 7, count: 800)) }
    }
    try store.keep(snapshot.generation, as: "first")
    try store.checkpoint()
    withExtendedLifetime(snapshot) {}
    try store.close()
  }

  @Test(.evidence("B6"), arguments: TestScale.some(names), TestScale.some([true, false]))
  func `changes nothing outside its directory`(name: String, exists: Bool) throws {
    let target = directory.path(of: "target")
    let bytes = Data((0..<9000).map { UInt8($0 & 255) })
    if exists { try bytes.write(to: URL(fileURLWithPath: target)) }
    try? FileManager.default.removeItem(atPath: fixture.path(of: name))
    #expect(symlink(target, fixture.path(of: name)) == 0)
    do { try use() } catch let error as StorageError {
      #expect(error.kind == .notAStore)
      #expect(error.file == fixture.path(of: name), "\(error)")
      #expect(error.message.contains("link"), "\(error)")
    }
    #expect(FileManager.default.contents(atPath: target) == (exists ? bytes : nil))
  }

  @Test(.mustEnd, .evidence("B6"), arguments: TestScale.some(names))
  func `does not wait for a pipe`(name: String) throws {
    try? FileManager.default.removeItem(atPath: fixture.path(of: name))
    #expect(mkfifo(fixture.path(of: name), 0o600) == 0)
    do { try use() } catch let error as StorageError {
      #expect(error.kind == .notAStore)
      #expect(error.file == fixture.path(of: name), "\(error)")
    }
  }

  @Test func `can be opened through a link to its directory`() throws {
    let link = directory.path(of: "link")
    #expect(symlink(fixture.path, link) == 0)
    let store = try Store(at: link)
    #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
    try store.close()
  }
}
