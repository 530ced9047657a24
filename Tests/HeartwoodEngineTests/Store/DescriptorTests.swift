import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Tests the descriptors of an open store, both in its process and in programs that it starts.
@Suite("The descriptors of a store")
struct DescriptorTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.segmentByteCount = 64 << 10
    return options
  }

  /// Makes the store create segments, a map and a list of named generations.
  private static func use(_ store: Store) throws {
    let held = try store.write { try $0.keyspace("k").put(0, [1]) }
    try store.keep(held, as: "first")
    for number in 0..<100 {
      try store.write { try $0.keyspace("k").put(number, [UInt8](repeating: 1, count: 2000)) }
    }
    try store.checkpoint()
    _ = try store.snapshot(at: held).keyspace("k")?.get(0)
  }

  @Test(.spawning, .evidence("E5"))
  func `are never those of standard streams, even if these are free`() async {
    await #expect(processExitsWith: .exitCode(42)) {
      let fixture = try StoreFixture.onDisk(Self.options())
      for descriptor in 0...2 { close(Int32(descriptor)) }
      // Check continuously, because any thread might print to a standard stream at any time.
      let watch = try Watch(for: fixture)
      let thread = SystemThread { watch.run() }
      let store = try fixture.open()
      try Self.use(store)
      let own = descriptors(openIn: fixture.path)
      let isSound = try store.verify().findings == []
      try store.close()
      let sawNothing = watch.end()
      thread?.join()
      // The placeholders that occupied the standard streams while files were opened must now be
      // closed. Other code may since have opened files with the same descriptors.
      var status = stat()
      let areFree = (Int32(0)...2).allSatisfy {
        fstat($0, &status) == -1 || status.st_mode & S_IFMT != S_IFCHR
      }
      let isAsExpected = [own.count >= 3, isSound, sawNothing, areFree]
      exit(Int32(isAsExpected.firstIndex(of: false) ?? 42))
    }
  }

  /// Checks repeatedly whether a file on the store's disk has become a standard stream.
  ///
  /// Files on other disks are ignored, because the C library briefly opens system files with any
  /// free descriptor.
  private final class Watch: Sendable {
    private let device: dev_t
    private let isOver = Atomic(false)
    private let count = Atomic(0)
    private let found = Atomic(false)

    init(for fixture: StoreFixture) throws {
      let directory = fixture.path.split(separator: "/").dropLast().joined(separator: "/")
      var status = stat()
      try #require(stat("/" + directory, &status) == 0)
      device = status.st_dev
    }

    func run() {
      var status = stat()
      while !isOver.load(ordering: .relaxed) {
        for stream in Int32(0)...2
        where fstat(stream, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
          && status.st_dev == device
        {
          found.store(true, ordering: .relaxed)
        }
        count.wrappingAdd(1, ordering: .relaxed)
      }
    }

    /// Ends the checks.
    ///
    /// - Returns: `true` if at least one check was made and no check found such a file.
    func end() -> Bool {
      isOver.store(true, ordering: .relaxed)
      return count.load(ordering: .relaxed) > 0 && !found.load(ordering: .relaxed)
    }
  }

  @Test(.evidence("E5")) func `are not inherited by a started program`() throws {
    let fixture = try StoreFixture.onDisk(Self.options())
    let scratch = try ScratchDirectory()
    try fixture.run { store in
      try Self.use(store)
      let held = try store.snapshot()
      let own = descriptors(openIn: fixture.path)
      #expect(own.count >= 3)
      for descriptor in own { #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0) }
      #if os(Linux)
        let list = scratch.path(of: "list")
        // The shell lists the descriptors that it has inherited from this process.
        let words = ["sh", "-c", "ls -l /proc/$$/fd > '\(list)'"]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        #expect(posix_spawn(&child, "/bin/sh", nil, nil, &arguments, environ) == 0)
        var status: Int32 = 0
        #expect(waitpid(child, &status, 0) == child && status == 0)
        let text = try String(contentsOfFile: list, encoding: .utf8)
        #expect(text.contains("/dev/") || text.contains("pipe:"))
        #expect(!text.contains(fixture.path), "\(text)")
      #endif
      withExtendedLifetime((held, scratch)) {}
    }
  }
}
