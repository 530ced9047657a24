import Foundation
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

/// Tests stores that this process may read but not write, because of permissions or read-only
/// mounts.
@Suite("A store in a given location")
struct PermissionTests {
  /// Returns, as text, the contents and change times of the store's files and its directory.
  private static func traces(of fixture: StoreFixture) throws -> [String] {
    var status = stat()
    return try ([""] + fixture.names()).map { name in
      let path = fixture.path + "/" + name
      guard stat(path, &status) == 0 else { return "\(name) is missing" }
      #if canImport(Darwin)
        let time = status.st_mtimespec
      #else
        let time = status.st_mtim
      #endif
      return "\(name) \(status.st_size) \(status.st_ino) \(time.tv_sec).\(time.tv_nsec)"
    }
  }

  private static func sample(_ fixture: StoreFixture) throws {
    try fixture.run { store in
      try store.write { transaction in
        for number in 0..<300 { try transaction.keyspace("k").put(number, [1, 2, 3]) }
      }
    }
    // Make one more commit, and leave it in the log, as if the process had died.
    let store = try fixture.open()
    try store.write { try $0.keyspace("k").put(300, [4]) }
  }

  /// Reads a store without having write permission, and expects that changes are rejected.
  private static func expectReadableOnly(_ fixture: StoreFixture, errno: Int32) throws {
    let before = try traces(of: fixture)
    for access in [StoreOptions.Access.mapped, .buffered] {
      var fixture = fixture
      fixture.options.access = access
      let error = #expect(throws: StorageError.self) { try fixture.open() }
      #expect(error?.kind == .io && error?.errno == errno)
      #expect(error?.message.contains("read-only") == true)
      fixture.options.isReadOnly = true
      try fixture.run { store in
        #expect(try store.snapshot().keyspace("k")?.count() == 301)
        #expect(try store.snapshot().keyspace("k")?.get(300) == [4])
        let write = #expect(throws: StorageError.self) { try store.write { _ in } }
        #expect(write?.kind == .readOnly)
        // Open the store for a second reader while the first reader has it open.
        try fixture.run { other throws in
          #expect(try other.snapshot().keyspace("k")?.get(1) == [1, 2, 3])
        }
      }
    }
    #expect(try traces(of: fixture) == before)
  }

  @Test(
    .spawning, .evidence("E6"),
    .enabled(if: getuid() == 0, "only the administrator can become somebody else"))
  func `can be read without permission to write`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk()
      try Self.sample(fixture)
      for name in try fixture.names() { chmod(fixture.path(of: name), 0o444) }
      chmod(fixture.path, 0o555)
      // This process loses its rights permanently, so its parent removes the directory.
      #expect(setgid(65_534) == 0 && setuid(65_534) == 0)
      #expect(access(fixture.path(of: "pages"), W_OK) == -1)
      try Self.expectReadableOnly(fixture, errno: EACCES)
    }
  }

  @Test(
    .spawning, .evidence("F8"),
    .enabled(if: getuid() == 0, "only the administrator can become somebody else"))
  func `stays writable if no file can be removed from its directory`() async {
    await #expect(processExitsWith: .success) {
      var options = StoreOptions()
      options.maintenance = .inline
      options.checkpointLogByteCount = 0
      options.segmentByteCount = 256 << 10
      let fixture = try StoreFixture.onDisk(options)
      let store = try fixture.open()
      // Fill the first segment and about half of the second one.
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for number in 0..<90 { try keyspace.put(number, [UInt8](repeating: 1, count: 3000)) }
      }
      for name in try fixture.names() { chmod(fixture.path(of: name), 0o666) }
      chmod(fixture.path, 0o555)
      #expect(setgid(65_534) == 0 && setuid(65_534) == 0)
      let error = #expect(throws: StorageError.self) { try store.checkpoint() }
      #expect(error?.errno == EACCES)
      try store.write { try $0.keyspace("k").put(90, [2]) }
      #expect(try store.snapshot().keyspace("k")?.count() == 91)
    }
  }

  @Test(
    .spawning, .evidence("E6"),
    .enabled(if: PrivateMounts.arePossible, "this process may not mount"))
  func `can be read on a read-only volume`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk()
      try Self.sample(fixture)
      #expect(PrivateMounts.begin() && PrivateMounts.mountReadOnly(fixture.path))
      try Self.expectReadableOnly(fixture, errno: EROFS)
    }
  }

  @Test(
    .spawning, .evidence("E1"),
    .enabled(if: PrivateMounts.arePossible, "this process may not mount"))
  func `works on tmpfs, overlays and bind mounts`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchDirectory()
      #expect(PrivateMounts.begin() && PrivateMounts.mountMemory(on: scratch.path))
      let names = ["memory", "lower", "upper", "work", "layer", "shown"]
      let paths = names.map(scratch.path(of:))
      for path in paths { mkdir(path, 0o755) }
      let below = try Store(at: paths[1] + "/store")
      try below.write { try $0.keyspace("k").put(1, [1]) }
      try below.close()
      #expect(
        PrivateMounts.mountOverlay(
          on: paths[4], lower: paths[1], upper: paths[2], work: paths[3]))
      #expect(PrivateMounts.mountDirectory(paths[0], on: paths[5]))
      let types = try [paths[0], paths[4]].map { try PosixFileSystem().volumeType(of: $0) }
      #expect(types == [.number(0x0102_1994), .number(0x794C_7630)])
      for path in [
        paths[0] + "/store", paths[5] + "/store", paths[4] + "/store", paths[4] + "/other",
      ] {
        for round in 0..<3 {
          let store = try Store(at: path)
          try store.write { transaction in
            for number in 0..<500 { try transaction.keyspace("k").put(number, [UInt8(round)]) }
          }
          // A store that is accessed through another mount is still the same store.
          for other in [path, path.replacing(paths[0], with: paths[5])] {
            let second = try Store(at: other)
            #expect(second.files === store.files)
            try second.close()
          }
          #expect(try store.snapshot().keyspace("k")?.count() == 500)
          #expect(try store.verify().findings == [])
          try store.close()
        }
      }
      let untouched = try Store(at: paths[1] + "/store")
      #expect(try untouched.snapshot().keyspace("k")?.count() == 1)
      #expect(try untouched.verify().findings == [])
      try untouched.close()
    }
  }
}
