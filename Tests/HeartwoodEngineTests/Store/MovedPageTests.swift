import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that a page in the page file is accepted only in its own location, and is verified again
/// after a checkpoint has replaced it.
@Suite("A checkpointed page")
struct MovedPageTests {
  /// The two leaves that are exchanged are valid, and belong to the same tree and the same commit.
  @Test(.evidence("B1"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `is not accepted in the location of another page`(access: StoreOptions.Access) throws {
    var options = StoreOptions()
    options.access = access
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      try store.write { transaction in
        let rows = try transaction.keyspace("k")
        for number in 0..<200 { try rows.put(number, [UInt8](repeating: 1, count: 100)) }
      }
    }
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: "pages"), .write))
    let pages = try (0..<16).map { page in
      try file.bytes(at: Geometry.firstPageOffset + UInt64(page) * 4096, 4096)
    }
    let leaves = pages.indices.filter { page in
      pages[page][PageLayout.kind.offset] == PageKind.leaf.rawValue
        && pages[page][PageLayout.tree.offset] == 1
    }
    #expect(leaves.count > 2)
    for (source, target) in [(0, 1), (1, 0)] {
      let offset = Geometry.firstPageOffset + UInt64(leaves[target]) * 4096
      try file.write(pages[leaves[source]], at: offset)
    }
    let store = try fixture.open()
    let rows = try #require(try store.snapshot().keyspace("k"))
    let error = #expect(throws: StorageError.self) { try rows.get(0) }
    #expect(error?.kind == .corrupt)
    #expect(try !store.verify().findings.isEmpty)
    try store.close()
  }

  @Test(.evidence("B1"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `is verified again when it is read again`(access: StoreOptions.Access) throws {
    var options = StoreOptions()
    options.access = access
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    let fixture = try StoreFixture.onDisk(options)
    let store = try fixture.open()
    for value: UInt8 in 1...2 {
      try store.write { try $0.keyspace("k").put(1, [value]) }
      try store.checkpoint()
      if value == 1 { #expect(try store.snapshot().keyspace("k")?.get(1) == [1]) }
    }
    // Page 0 is the bitmap, page 1 the catalog, and page 2 the leaf of the only keyspace.
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: "pages"), .write))
    let start = Geometry.firstPageOffset + 2 * 4096
    let leaf = try file.bytes(at: start, 4096)
    var damaged = leaf
    damaged[PageLayout.frame.offset] ^= 1
    try file.write(damaged, at: start)
    let error = #expect(throws: StorageError.self) { try store.snapshot().keyspace("k")?.get(1) }
    #expect(error?.kind == .corrupt)
    #expect(error?.page == 2)
    try file.write(leaf, at: start)
    #expect(try store.snapshot().keyspace("k")?.get(1) == [2])
    try StoreFixture.expectSound(store)
    try store.close()
  }
}
