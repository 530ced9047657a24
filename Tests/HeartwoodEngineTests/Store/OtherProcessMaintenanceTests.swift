import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A page file that another process checkpoints")
struct OtherProcessMaintenanceTests {
  private let fileSystem = ObservedFileSystem(MemoryFileSystem())

  private func fixture(
    _ access: StoreOptions.Access = .buffered
  ) throws -> (here: StoreFixture, elsewhere: StoreFixture) {
    var options = StoreOptions()
    options.access = access
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 64 << 10
    let here: StoreFixture =
      access == .buffered ? .on(fileSystem, options) : try .onDisk(options)
    return (here, here.elsewhere())
  }

  private func put(_ store: Store, _ name: String, _ value: UInt8) throws {
    try store.write { try $0.keyspace(name).put(1, [UInt8](repeating: value, count: 100)) }
  }

  private func value(_ snapshot: Snapshot, _ name: String) throws -> UInt8? {
    try snapshot.keyspace(name)?.get(1)?.first
  }

  /// This process has read the earlier version of the page, and does not learn of the change from
  /// the log.
  ///
  /// The commit that changed the page is already in the memory of this process, so the process does
  /// not read the log again.
  @Test(.evidence("I1"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `is read again after a maintenance run of its own`(access: StoreOptions.Access) throws {
    let (here, elsewhere) = try fixture(access)
    try here.run { first in
      try elsewhere.run { second in
        try put(first, "a", 1)
        try first.checkpoint()
        #expect(try value(first.snapshot(), "a") == 1)
        try put(first, "a", 2)
        var held: Snapshot? = try first.snapshot()
        try put(first, "b", 1)
        // The other process checkpoints up to the held generation, which contains a newer version
        // of the page.
        let result = try second.checkpoint()
        #expect(result.checkpointedGeneration == held?.generation)
        withExtendedLifetime(held) {}
        held = nil
        try first.checkpoint()
        #expect(try value(first.snapshot(), "a") == 2)
      }
    }
  }

  /// The other process has truncated the file, but this process still assumes the old length.
  @Test(.evidence("F6")) func `is long enough for each commit`() throws {
    let large = [UInt8](repeating: 7, count: 4_000_000)
    let (here, elsewhere) = try fixture()
    try here.run { first in
      try elsewhere.run { second in
        try first.write { try $0.keyspace("k").put(1, large) }
        try first.write { try $0.keyspace("k").delete(1) }
        try second.checkpoint()
        try first.write { try $0.keyspace("k").put(1, large) }
        let needed = first.files.geometry.offset(ofPage: PageNumber(first.statistics.pageCount))
        let byteCount = try first.files.pageFile.file.byteCount()
        #expect(byteCount >= needed)
      }
    }
  }

  /// The maintenance run is about to truncate the file to a length that was sufficient when the run
  /// began.
  @Test(.evidence("F6")) func `is long enough for a commit during the maintenance run`() throws {
    let large = [UInt8](repeating: 7, count: 4_000_000)
    let (here, elsewhere) = try fixture()
    try here.run { first in
      try elsewhere.run { second in
        try first.write { try $0.keyspace("k").put(1, large) }
        try first.write { try $0.keyspace("k").delete(1) }
        var hasRun = false
        fileSystem.onWrite = { path, _ throws(StorageError) in
          guard path.hasSuffix("/pages"), !hasRun else { return }
          hasRun = true
          #expect(throws: Never.self) {
            try second.write(durability: .normal) { try $0.keyspace("k").put(1, large) }
          }
        }
        try first.checkpoint()
        fileSystem.onWrite = nil
        #expect(hasRun)
        let needed = second.files.geometry.offset(
          ofPage: PageNumber(second.statistics.pageCount))
        let byteCount = try first.files.pageFile.file.byteCount()
        #expect(byteCount >= needed)
      }
    }
  }

  // MARK: Pages read before

  /// The ways in which this process finds the commits that another process has made and
  /// checkpointed.
  enum Way: CaseIterable {
    /// This process reads the groups that follow the last group it has read.
    case readingOn
    /// This process starts from the header slot, because the log no longer contains the new
    /// commits.
    case fromTheStart
  }

  /// Checkpoints a value in this process and reads it, and then checkpoints another value in the
  /// other process.
  private func exchange(_ first: Store, _ second: Store, _ way: Way) throws {
    try put(first, "a", 1)
    try first.checkpoint()
    #expect(try value(first.snapshot(), "a") == 1)
    try put(second, "a", 2)
    for number: UInt8 in 0..<(way == .readingOn ? 1 : 60) { try put(second, "b", number) }
    try second.checkpoint()
  }

  @Test(.evidence("I1"), arguments: Way.allCases)
  func `is read again when its commits are found`(way: Way) throws {
    let (here, elsewhere) = try fixture()
    try here.run { first in
      try elsewhere.run { second in
        try exchange(first, second, way)
        #expect(try value(first.snapshot(), "a") == 2)
      }
    }
  }

  /// This process has not verified the bytes that another process has written.
  @Test(.evidence("B1"), arguments: Way.allCases)
  func `is verified again when its commits are found`(way: Way) throws {
    let (here, elsewhere) = try fixture(.mapped)
    try here.run { first in
      try elsewhere.run { second in
        try exchange(first, second, way)
        let bytes = try here.bytes(of: "pages")
        let value = [UInt8](repeating: 2, count: 100)
        let position = try #require(
          bytes.indices.dropLast(100).last { Array(bytes[$0..<$0 + 100]) == value })
        let file = try #require(try here.fileSystem.open(here.path(of: "pages"), .write))
        func write(_ byte: UInt8) throws {
          let block = ByteBlock(count: 1)
          block.bytes.store8(byte, 0)
          try file.write([block.bytes.bytes], at: UInt64(position + 50))
          block.keep()
        }
        try write(3)
        let error = #expect(throws: StorageError.self) {
          try first.snapshot().keyspace("a")?.get(1)
        }
        #expect(error?.kind == .corrupt)
        try write(2)
      }
    }
  }

  /// The test uses the table in the same way as the maintenance thread of a process without
  /// readers.
  @Test(.evidence("I1"), .evidence("K3")) func `is noticed while idle`() throws {
    let (here, elsewhere) = try fixture()
    try here.run { first in
      try elsewhere.run { second in
        try put(first, "a", 1)
        try first.checkpoint()
        #expect(try value(first.snapshot(), "a") == 1)
        for number: UInt8 in 0..<60 { try put(first, "b", number) }
        try put(first, "a", 2)
        let table = GenerationTable(
          try first.snapshot().state, files: first.files, lingers: false)
        #expect(table.appended.segments.segments.count > 1)
        try second.checkpoint()
        try table.releaseCheckpointedSegments()
        #expect(table.appended.segments.segments.count <= 1)
        let snapshot = Snapshot(try table.pinNewest(), table: table)
        #expect(try value(snapshot, "a") == 2)
      }
    }
  }

  /// The states that a process has opened, read and appended can differ, and each of them refers to
  /// segments.
  @Test(.evidence("I1"), .evidence("K3"), arguments: [false, true], [false, true])
  func `is noticed by an idle process that does not write`(opensLate: Bool, readsAgain: Bool) throws
  {
    let (here, elsewhere) = try fixture()
    try here.run { writer in
      try elsewhere.run { reader in
        func write() throws { for number: UInt8 in 0..<60 { try put(writer, "b", number) } }
        try put(writer, "a", 1)
        try writer.checkpoint()
        if opensLate { try write() }
        let table = GenerationTable(
          try reader.snapshot().state, files: reader.files, lingers: false)
        if !opensLate { try write() }
        func expectReadable() throws {
          let snapshot = Snapshot(try table.pinNewest(), table: table)
          #expect(try value(snapshot, "a") == 1)
          #expect(try value(snapshot, "b") != nil)
        }
        try expectReadable()
        #expect(table.visible.segments.segments.count > 1)
        // The maintenance thread checks for checkpoints only while this value is true.
        #expect(table.needsLog)
        try writer.checkpoint()
        if readsAgain {
          try put(writer, "b", 60)
          try expectReadable()
        }
        #expect(table.needsLog)
        try table.releaseCheckpointedSegments()
        for state in [table.appended, table.visible, try #require(table.durable)] {
          #expect(state.segments.segments.count <= 1)
        }
        try expectReadable()
        // Nothing is left to release, so the thread sleeps.
        try writer.checkpoint()
        try table.releaseCheckpointedSegments()
        #expect(!table.needsLog)
        try expectReadable()
      }
    }
  }
}
