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

/// Tests stores in processes that reach a system limit; each test runs in its own process.
@Suite("A process short of resources")
struct ResourceLimitTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 64 << 10
    return options
  }

  #if canImport(Glibc)
    private typealias LimitedResource = __rlimit_resource
  #else
    private typealias LimitedResource = Int32
  #endif

  /// Sets a limit on a resource, or restores the original limit if `value` is `nil`.
  private static func limit(_ limited: LimitedResource, to value: rlim_t?) {
    var limit = rlimit()
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(limited.rawValue)
    #else
      let resource = limited
    #endif
    _ = getrlimit(resource, &limit)
    limit.rlim_cur = value ?? limit.rlim_max
    _ = setrlimit(resource, &limit)
  }

  private static func limitFileSizes(to byteCount: rlim_t?) { limit(RLIMIT_FSIZE, to: byteCount) }

  /// Sets the limit on descriptors to the value that shells on macOS have.
  private static func limitDescriptors() { limit(RLIMIT_NOFILE, to: 256) }

  /// Returns options with segments so small that a log of a few megabytes has more segments than
  /// the process may have descriptors.
  private static func smallSegments(isMapped: Bool) -> StoreOptions {
    var options = options()
    options.access = isMapped ? .mapped : .buffered
    options.segmentByteCount = 32 << 10
    options.transactionMemoryByteCount = 1 << 20
    return options
  }

  private static let rowCount = 3000

  /// Writes 12 MB in one transaction.
  private static func writeAll(_ store: Store, _ byte: UInt8) throws {
    try store.write { transaction in
      let keyspace = try transaction.keyspace("k")
      for row in 0..<Self.rowCount {
        try keyspace.put(row, [UInt8](repeating: byte, count: 4000))
      }
    }
  }

  private static func expectAll(_ snapshot: Snapshot, _ byte: UInt8) throws {
    let keyspace = try #require(try snapshot.keyspace("k"))
    #expect(try keyspace.count() == UInt64(Self.rowCount))
    for row in stride(from: 0, to: Self.rowCount, by: TestScale.pick(quick: 29, all: 7)) {
      let value = try keyspace.get(row)
      #expect(value?.count == 4000 && value?.last == byte, "row \(row)")
    }
  }

  @Test(.spawning, .evidence("F7"), arguments: TestScale.some([true, false]))
  func `writes and opens a log with more segments than it may have descriptors`(
    isMapped: Bool
  ) async {
    await #expect(processExitsWith: .success) { [isMapped = isMapped as Bool] in
      Self.limitDescriptors()
      let fixture = try StoreFixture.onDisk(Self.smallSegments(isMapped: isMapped))
      do {
        let store = try fixture.open()
        try Self.writeAll(store, 1)
        #expect(try fixture.names().filter { $0.hasPrefix("wal-") }.count > 350)
        #expect(descriptors(openIn: fixture.path).count < Limits.maxOpenSegmentCount + 18)
        try Self.expectAll(store.snapshot(), 1)
        let elsewhere = try fixture.elsewhere().open()
        try Self.expectAll(elsewhere.snapshot(), 1)
        try StoreFixture.expectSound(store)
      }
      // No checkpoint was run, so the complete log is still needed.
      #expect(try fixture.names().filter { $0.hasPrefix("wal-") }.count > 350)
      try fixture.run { store in
        #expect(descriptors(openIn: fixture.path).count < Limits.maxOpenSegmentCount + 18)
        try Self.expectAll(store.snapshot(), 1)
        try Self.writeAll(store, 2)
        try store.checkpoint()
        try Self.expectAll(store.snapshot(), 2)
      }
    }
  }

  /// Two processes read the older generation from segments that a maintenance run is deleting.
  @Test(
    .spawning, .evidence("F7"), .evidence("I1"), .enabled(if: TestScale.current >= .all),
    arguments: [true, false])
  func `reads a held generation from a long log while another process deletes segments`(
    isMapped: Bool
  ) async {
    await #expect(processExitsWith: .success) { [isMapped = isMapped as Bool] in
      Self.limitDescriptors()
      var options = Self.smallSegments(isMapped: isMapped)
      options.cacheByteCount = 64 << 10
      var fixture = try StoreFixture.onDisk(options)
      fixture.options = options
      let store = try fixture.open()
      let elsewhere = try fixture.elsewhere().open()
      try Self.writeAll(store, 1)
      let old = [try store.snapshot(), try elsewhere.snapshot()]
      try Self.writeAll(store, 2)
      let newer = [try store.snapshot(), try elsewhere.snapshot()]
      let segmentCount = try fixture.names().filter { $0.hasPrefix("wal-") }.count
      for _ in 0..<2 {
        for snapshot in old { try Self.expectAll(snapshot, 1) }
        for snapshot in newer { try Self.expectAll(snapshot, 2) }
        // The first checkpoint advances the page file to the old generation, and deletes the
        // segments before this generation.
        try store.checkpoint()
      }
      let leftCount = try fixture.names().filter { $0.hasPrefix("wal-") }.count
      #expect(leftCount < segmentCount - 300, "\(leftCount) of \(segmentCount)")
      #expect(descriptors(openIn: fixture.path).count < 2 * Limits.maxOpenSegmentCount + 16)
      try StoreFixture.expectSound(store)
      try StoreFixture.expectSound(elsewhere)
    }
  }

  /// Reaching the limit on file sizes must be treated as a full disk, and must not end the process
  /// by a signal.
  @Test(.spawning, .evidence("F1"))
  func `rolls back a transaction beyond the file size limit, and continues after it is raised`()
    async
  {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk(Self.options())
      let store = try fixture.open()
      try store.write { try $0.keyspace("k").put(1, [1]) }
      Self.limitFileSizes(to: 400_000)
      let large = [UInt8](repeating: 7, count: 600_000)
      for _ in 0..<3 {
        let error = #expect(throws: StorageError.self) {
          try store.write { try $0.keyspace("k").put(2, large) }
        }
        #expect(error?.kind == .diskFull)
        #expect(try store.snapshot().keyspace("k")?.count() == 1)
      }
      // A smaller transaction can be committed.
      try store.write { try $0.keyspace("k").put(3, [3]) }
      Self.limitFileSizes(to: nil)
      try store.write { try $0.keyspace("k").put(2, large) }
      #expect(try store.snapshot().keyspace("k")?.get(2) == large)
      try StoreFixture.expectSound(store)
      try store.close()
    }
  }

  @Test(.spawning, .evidence("F5"), .evidence("I8"))
  func `reports that it has no descriptors left, and keeps its store and its lock`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk(Self.options())
      let store = try fixture.open()
      try store.write { try $0.keyspace("k").put(1, [1]) }
      var taken: [Int32] = []
      while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
      #expect(errno == EMFILE)
      var failure: StorageError?
      // A new segment needs a descriptor, so the first commit that creates a segment fails.
      for number in 2..<100 where failure == nil {
        do {
          try store.write { try $0.keyspace("k").put(number, [UInt8](repeating: 1, count: 900)) }
        } catch let error as StorageError { failure = error }
      }
      #expect(failure?.errno == EMFILE)
      let count = try store.snapshot().keyspace("k")?.count() ?? 0
      #expect(count > 0)
      let opening = #expect(throws: StorageError.self) { try fixture.open() }
      #expect(opening?.errno == EMFILE)
      for descriptor in taken { close(descriptor) }
      // The error occurred before anything was written, so it does not affect later calls.
      try store.write { try $0.keyspace("k").put(0, [1]) }
      // The failed opening must have released the locks of the store.
      let locks = StoreLocks(
        file: try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write)))
      #expect(try locks.isLockedElsewhere(byte: LockByte.presenceReadWrite))
      try StoreFixture.expectSound(store)
      try store.close()
      try fixture.run { store throws in
        #expect(try store.snapshot().keyspace("k")?.count() == count + 1)
        try store.write { try $0.keyspace("k").put(0, [2]) }
      }
    }
  }
}
