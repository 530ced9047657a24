import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests actions that another process performs between two steps of this process.
@Suite("A store in several processes")
struct ProcessOrderTests {
  private let memory = MemoryFileSystem()

  private func fixture(_ fileSystem: any FileSystem) -> StoreFixture {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    return .on(fileSystem, options)
  }

  /// Fills about a hundred pages of a store.
  private func fill(_ store: Store) throws {
    try store.write { transaction in
      let keyspace = try transaction.keyspace("large")
      for key in 0..<1000 { try keyspace.put(key, [UInt8](repeating: 1, count: 3000)) }
    }
  }

  private func empty(_ store: Store) throws {
    try store.write { try $0.removeKeyspace("large") }
  }

  @Test
  func `reserves space for its pages again after another process truncated the page file`() throws {
    let here = fixture(memory)
    try here.run { first throws in
      try here.elsewhere().run { second in
        try fill(first)
        try empty(first)
        let length = try first.files.pageFile.file.byteCount()
        try second.checkpoint()
        #expect(try first.files.pageFile.file.byteCount() < length)
        try fill(first)
        let needed = first.files.geometry.offset(
          ofPage: PageNumber(first.statistics.pageCount))
        #expect(try first.files.pageFile.file.byteCount() >= needed)
      }
    }
  }

  /// The test resets the counter to its value before the first maintenance run.
  ///
  /// This simulates a process that died before it published the new value.
  @Test(.evidence("D12"))
  func `can be read while a maintenance run repeats the steps of an interrupted run`() throws {
    let observed = ObservedFileSystem(memory)
    try fixture(memory).run { first in
      try fixture(observed).run { second throws in
        try first.write { try $0.keyspace("k").put(1, [1]) }
        try fixture(OtherProcess(memory)).open().checkpoint()
        first.files.counters.store(0, CountersLayout.checkpointed)
        try first.write { try $0.keyspace("k").put(1, [2]) }
        var lookCount = 0
        observed.onSync = { path in
          guard path.hasSuffix("/pages") else { return }
          lookCount += 1
          // Open the store read-only, because verifying or closing a writable store would wait for
          // the maintenance run.
          var reader = fixture(OtherProcess(memory))
          reader.options.isReadOnly = true
          #expect(throws: Never.self) {
            let store = try reader.open()
            #expect(try store.snapshot().keyspace("k")?.get(1) == [2])
            try store.close()
          }
        }
        try second.checkpoint()
        observed.onSync = nil
        #expect(lookCount >= 2)
      }
    }
  }

  /// Runs `body` once, after both header slots of the page file have been read through `observed`.
  private func afterHeaders(
    _ observed: ObservedFileSystem, _ body: @escaping () throws -> Void
  ) {
    var readCount = 0
    observed.onRead = { path, offset throws(StorageError) in
      guard path.hasSuffix("/pages"), HeaderSlotLayout.offsets.contains(offset) else { return }
      readCount += 1
      guard readCount == 2 else { return }
      let outcome = Result { try body() }
      #expect(throws: Never.self) { try outcome.get() }
    }
  }

  @Test(.evidence("I8"))
  func `can be attached to while another process truncates the page file`() throws {
    let observed = ObservedFileSystem(memory)
    try fixture(memory).run { first in
      try fill(first)
      try first.checkpoint()
      afterHeaders(observed) {
        try empty(first)
        try first.checkpoint()
      }
      try fixture(observed).run { _ in }
      observed.onRead = nil
    }
  }

  @Test(.evidence("I8"))
  func `throws in a process that waits too long for another to open it`() throws {
    var here = fixture(memory)
    try here.run { _ in }
    let file = try #require(try memory.open(here.path(of: "locks"), .write))
    #expect(try StoreLocks(file: file).tryLock(.exclusive, byte: LockByte.presenceReadWrite))
    here.options.busyTimeout = .milliseconds(20)
    let error = #expect(throws: StorageError.self) { try here.open() }
    #expect(error?.kind == .busy)
    try StoreLocks(file: file).unlock(byte: LockByte.presenceReadWrite)
    try here.run { _ in }
  }
}
