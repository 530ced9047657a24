import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests systems on which a process cannot tell whether the machine has been restarted.
///
/// On these systems, the shared counters are never trusted.
@Suite("A store without a boot identity")
struct BootIdentityTests {
  private let fileSystem = ObservedFileSystem(MemoryFileSystem())

  init() { fileSystem.hasBootIdentity = false }

  /// Returns the location of a closed store with one entry, for a writer and for a reader in
  /// another process.
  private func fixtures() throws -> (writer: StoreFixture, reader: StoreFixture) {
    let writer = StoreFixture.on(fileSystem)
    try writer.run { store in try store.write { try $0.keyspace("k").put(1, [1]) } }
    var reader = writer.elsewhere()
    reader.options.isReadOnly = true
    return (writer, reader)
  }

  private func expectBusy(_ fixture: StoreFixture) {
    let error = #expect(throws: StorageError.self) { try fixture.open() }
    #expect(error?.kind == .busy)
    #expect(error?.message.contains("no boot identity") == true)
  }

  @Test(.evidence("I8")) func `is opened by no other process while it is written`() throws {
    let (writing, reading) = try fixtures()
    try writing.run { store in
      expectBusy(writing.elsewhere())
      expectBusy(reading)
      try store.write { try $0.keyspace("k").put(2, [2]) }
    }
    try writing.elsewhere().run { store throws in
      #expect(try store.snapshot().keyspace("k")?.count() == 2)
    }
  }

  @Test(.evidence("I8")) func `is read by several processes while none writes`() throws {
    let (writing, reading) = try fixtures()
    try reading.run { reader in
      try writing.elsewhere().readOnly.run { other throws in
        #expect(try other.snapshot().keyspace("k")?.get(1) == [1])
      }
      expectBusy(writing)
      #expect(try reader.snapshot().keyspace("k")?.get(1) == [1])
    }
    try writing.run { store in try store.write { try $0.keyspace("k").put(1, [2]) } }
  }
}

extension StoreFixture {
  /// The same location, opened for reading only.
  fileprivate var readOnly: StoreFixture {
    var fixture = self
    fixture.options.isReadOnly = true
    return fixture
  }
}
