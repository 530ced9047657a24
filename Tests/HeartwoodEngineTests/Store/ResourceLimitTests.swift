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

/// Limits of the system on a real process; each in one of its own.
@Suite("A process short of resources")
struct ResourceLimitTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.upkeep = .inline
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 64 << 10
    return options
  }

  /// Lowers a limit, or raises it to what it was at first.
  private static func limitFileSizes(to byteCount: rlim_t?) {
    var limit = rlimit()
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    #else
      let resource = RLIMIT_FSIZE
    #endif
    _ = getrlimit(resource, &limit)
    limit.rlim_cur = byteCount ?? limit.rlim_max
    _ = setrlimit(resource, &limit)
  }

  /// A page file that may not grow any more is a full disk, and no signal ends the process.
  @Test(.evidence("F1"))
  func `rolls back what would make a file too long, and goes on when it may`() async {
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
        #expect(error?.kind == .full)
        #expect(try store.snapshot().keyspace("k")?.count() == 1)
      }
      // What fits goes through.
      try store.write { try $0.keyspace("k").put(3, [3]) }
      Self.limitFileSizes(to: nil)
      try store.write { try $0.keyspace("k").put(2, large) }
      #expect(try store.snapshot().keyspace("k")?.get(2) == large)
      try StoreFixture.expectSound(store)
      try store.close()
    }
  }

  @Test(.evidence("F5"), .evidence("I8"))
  func `says that it has no descriptors left, and keeps its store and its lock`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk(Self.options())
      let store = try fixture.open()
      try store.write { try $0.keyspace("k").put(1, [1]) }
      var taken: [Int32] = []
      while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
      #expect(errno == EMFILE)
      var failure: StorageError?
      // A new segment needs a descriptor.
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
      // The attempt that failed has not taken the locks along.
      let locks = StoreLocks(
        file: try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write)))
      #expect(try locks.isLockedElsewhere(byte: LockByte.presenceReadWrite))
      try StoreFixture.expectSound(store)
      try? store.close()
      try fixture.run { store throws in
        #expect(try store.snapshot().keyspace("k")?.count() ?? 0 >= count)
        try store.write { try $0.keyspace("k").put(0, [1]) }
      }
    }
  }
}
