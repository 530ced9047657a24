import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Salvages stores on a failing disk, and stores after a power cut.
@Suite("Salvage of a store that cannot be read completely")
struct SalvageReadingTests {
  /// A read of many pages fails at an unknown page, so salvage must read the pages one by one.
  @Test func `treats a block that cannot be read as a damaged page`() throws {
    let disk = ObservedFileSystem(MemoryFileSystem())
    let fixture = StoreFixture.on(disk)
    try fixture.run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for key in 0..<2000 { try keyspace.put(key, [UInt8](repeating: 1, count: 200)) }
      }
    }
    // The log must not contain copies of the pages.
    for name in try fixture.names() where name.hasPrefix("wal-") {
      try disk.remove(fixture.path(of: name))
    }
    let pages = fixture.path(of: "pages")
    let failing = Geometry.firstPageOffset + 20 * 4096
    var hasFailed = false
    disk.onRead = { path, offset throws(StorageError) in
      let isScan = offset == Geometry.firstPageOffset && !hasFailed
      guard path == pages, isScan || offset == failing else { return }
      hasFailed = true
      throw StorageError(.io, "The block cannot be read.", file: path)
    }
    let report = try StoreSalvage(of: fixture.path, to: "/new", on: disk).run()
    disk.onRead = nil
    #expect(report.damagedPageCount == 1)
    #expect(report.notes.contains { $0.contains("number of blocks: 1") })
    let keyspace = try #require(report.keyspaces.first)
    #expect((1900..<2000).contains(keyspace.entryCount))
    #expect(keyspace.missing.count == 1)
    let store = try Store(at: "/new", options: fixture.options, fileSystem: disk)
    #expect(try store.snapshot().keyspace("k")?.count() == keyspace.entryCount)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test func `rejects a store whose headers and pages are all damaged`() throws {
    var sample = try SalvageSample(pageByteCount: 4096, isCheckpointed: true, seed: 1)
    for name in sample.files.keys where name.hasPrefix("wal-") { sample.remove(name) }
    let start = Int(Geometry.firstPageOffset)
    let count = try #require(sample.files["pages"]).count - start
    sample.files["pages"]?.replaceSubrange(start..., with: [UInt8](repeating: 0, count: count))
    for offset in HeaderSlotLayout.offsets {
      sample.files["pages"]?[Int(offset) + HeaderSlotLayout.hash.offset] ^= 1
    }
    let error = #expect(throws: StorageError.self) { try sample.salvaged() }
    #expect(error?.kind == .notAStore)
  }

  /// The header of the commit is durable, but its pages are not.
  @Test func `leaves out a commit that a power cut has interrupted`() throws {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    let fixture = StoreFixture.inMemory(options)
    let store = try fixture.open()
    try store.write { try $0.keyspace("k").put(1, [1]) }
    let before = try store.write { try $0.keyspace("k").put(1, [2]) }
    let last = try store.write { try $0.keyspace("k").put(1, [3]) }
    var files = try fixture.allBytes()
    let geometry = store.files.geometry
    try store.close()
    let name = geometry.segmentName(geometry.segment(of: last.frame))
    let header = geometry.next(after: before.frame)
    let start = Int(geometry.offset(of: geometry.next(after: header)))
    let end = Int(geometry.offset(of: last.frame)) + geometry.pageByteCount
    files[name]?.replaceSubrange(
      start..<end, with: [UInt8](repeating: 0, count: end - start))
    files["counters"] = nil
    files["locks"] = []
    let torn = StoreFixture.inMemory(options)
    for (name, bytes) in files { try torn.write(bytes, to: name) }
    let report = try StoreSalvage(of: torn.path, to: "/new", on: torn.fileSystem).run()
    #expect(report.generation == before)
    #expect(report.notes.contains { $0.contains("was interrupted") })
    let new = try Store(at: "/new", options: torn.options, fileSystem: torn.fileSystem)
    #expect(try new.snapshot().keyspace("k")?.get(1) == [2])
    try StoreFixture.expectSound(new)
    try new.close()
  }

  @Test func `leaves no new store when the disk is full`() throws {
    let disk = ObservedFileSystem(MemoryFileSystem())
    let fixture = StoreFixture.on(disk)
    try fixture.run { store in try store.write { try $0.keyspace("k").put(1, [1]) } }
    disk.onDemand = { demand, path throws(StorageError) in
      guard demand == .space, path == "/new.partial/pages" else { return }
      throw .unchanged(.diskFull, "The disk is full.", file: path)
    }
    let error = #expect(throws: StorageError.self) {
      try StoreSalvage(of: fixture.path, to: "/new", on: disk).run()
    }
    #expect(error?.kind == .diskFull)
    disk.onDemand = nil
    #expect(try disk.list("/new") == nil)
    #expect(try StoreSalvage(of: fixture.path, to: "/new", on: disk).run().isComplete)
  }
}
