import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A commit that is whole in the log, and whose state cannot be made.
@Suite("A store that cannot map its pages")
struct FailedMappingTests {
  @Test(.evidence("F2")) func `writes nothing over the commit in question`() throws {
    let fileSystem = ObservedFileSystem(PosixFileSystem())
    let folder = try ScratchDirectory()
    var options = StoreOptions()
    options.upkeep = .inline
    func open() throws -> Store {
      try Store(at: folder.path(of: "store"), options: options, fileSystem: fileSystem)
    }
    do {
      let store = try open()
      fileSystem.onMap = { path throws(StorageError) in
        if path.hasSuffix("/pages") { throw StorageError(.io, "No room to map.", file: path) }
      }
      let failed = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").put(1, [1]) }
      }
      #expect(failed?.kind == .io)
      fileSystem.onMap = nil
      let refused = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").put(2, [2]) }
      }
      #expect(refused?.kind == .failed)
      try StoreFixture.expectSound(store)
    }
    let store = try open()
    #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
    try StoreFixture.expectSound(store)
    try store.close()
  }
}
