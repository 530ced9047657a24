import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// What was verified in the page file says nothing about what a checkpoint puts in its place.
@Suite("A page that was moved home")
struct MovedPageTests {
  @Test(.evidence("B1"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `is verified again when it is read again`(access: StoreOptions.Access) throws {
    var options = StoreOptions()
    options.access = access
    options.upkeep = .inline
    options.checkpointLogByteCount = 0
    let fixture = try StoreFixture.onDisk(options)
    let store = try fixture.open()
    for value: UInt8 in 1...2 {
      try store.write { try $0.keyspace("k").put(1, [value]) }
      try store.checkpoint()
      if value == 1 { #expect(try store.snapshot().keyspace("k")?.get(1) == [1]) }
    }
    // Bitmap and catalog come first; the leaf of the only keyspace is page 2.
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
