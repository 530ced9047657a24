import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A store that cannot map its pages")
struct FailedMappingTests {
  @Test(.evidence("F8")) func `rolls the transaction back, and continues when there is room`()
    throws
  {
    let fileSystem = ObservedFileSystem(PosixFileSystem())
    let directory = try ScratchDirectory()
    var options = StoreOptions()
    options.maintenance = .inline
    func open() throws -> Store {
      try Store(at: directory.path(of: "store"), options: options, fileSystem: fileSystem)
    }
    do {
      let store = try open()
      fileSystem.onMap = { path throws(StorageError) in
        if path.hasSuffix("/pages") { throw .unchanged(.io, "No room to map.", file: path) }
      }
      let failed = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").put(1, [1]) }
      }
      #expect(failed?.kind == .io)
      fileSystem.onMap = nil
      #expect(try store.snapshot().keyspace("k") == nil)
      try store.write { try $0.keyspace("k").put(2, [2]) }
      try StoreFixture.expectSound(store)
    }
    let store = try open()
    #expect(try store.snapshot().keyspace("k")?.get(1) == nil)
    #expect(try store.snapshot().keyspace("k")?.get(2) == [2])
    try StoreFixture.expectSound(store)
    try store.close()
  }
}
