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

@Suite("The permissions of a store")
struct FileModeTests {
  private func fixture(_ mode: UInt16?) throws -> StoreFixture {
    var options = StoreOptions()
    options.segmentByteCount = 32 << 10
    options.reclaimLogByteCount = 1
    options.fileMode = mode
    return try StoreFixture.onDisk(options)
  }

  /// Writes to the store until every kind of file that a store can have exists.
  private func use(_ fixture: StoreFixture) throws {
    try fixture.run { store in
      let snapshot = try store.snapshot()
      for key in 0..<60 {
        try store.write { try $0.keyspace("k").put(key, [UInt8](repeating: 7, count: 900)) }
      }
      try store.keep(snapshot.generation, as: "\(snapshot.generation)")
      try store.checkpoint()
      withExtendedLifetime(snapshot) {}
    }
  }

  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  private func expectModes(
    _ fixture: StoreFixture, _ expected: mode_t, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let names = try fixture.names()
    for name in ["pages", "locks", "counters", "reserve", "holders", "kept", "map"] {
      #expect(names.contains(name), sourceLocation: location)
    }
    #expect(names.contains { $0.hasPrefix("wal-") }, sourceLocation: location)
    for name in names {
      #expect(mode(fixture.path(of: name)) == expected, "\(name)", sourceLocation: location)
    }
  }

  @Test(.evidence("E8"), arguments: TestScale.some([UInt16(0o600), 0o640, 0o660, 0o666]))
  func `are those of its options from the beginning`(mode: UInt16) throws {
    let fixture = try fixture(mode)
    try use(fixture)
    try expectModes(fixture, mode_t(mode))
    #expect(self.mode(fixture.path) == mode_t(mode | (mode & 0o444) >> 2))
  }

  @Test(.evidence("E8")) func `that were removed stay removed`() throws {
    let fixture = try fixture(nil)
    try fixture.run { _ in }
    for name in try fixture.names() { #expect(chmod(fixture.path(of: name), 0o600) == 0) }
    try use(fixture)
    try expectModes(fixture, 0o600)
    for name in try fixture.names() where !["pages", "locks"].contains(name) {
      if name.hasPrefix("wal-") || name == "kept" || name == "map" { continue }
      #expect(unlink(fixture.path(of: name)) == 0)
    }
    try use(fixture)
    try expectModes(fixture, 0o600)
  }

  @Test(.evidence("E8")) func `of a copy are those of its source`() throws {
    let fixture = try fixture(0o600)
    let directory = try ScratchDirectory()
    let path = directory.path(of: "copy")
    try fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [1]) }
      try store.copy(store.snapshot(), to: path)
    }
    #expect(mode(path) == 0o700)
    for name in try #require(try PosixFileSystem().list(path)) {
      #expect(mode(path + "/" + name) == 0o600, "\(name)")
    }
  }

  @Test(.evidence("E8")) func `of backups and restored stores are those of the store`() throws {
    let directory = try ScratchDirectory()
    let (path, restored) = (directory.path(of: "backup"), directory.path(of: "restored"))
    try fixture(0o600).run { store in
      for key in 0..<3 {
        try store.write { try $0.keyspace("k").put(key, [1]) }
        try store.backup(to: path)
      }
    }
    let backup = Backup(at: path)
    let newest = try #require(try backup.restorePoints().last).generation.frame
    // An interrupted call of a process with another mode has left a file behind.
    _ = try PosixFileSystem().create(
      path + "/" + BackupName(base: nil, frame: newest).text + ".partial")
    try backup.thin { _ in false }
    try backup.restore(to: restored)
    for path in [path, restored] {
      for name in try #require(try PosixFileSystem().list(path)) {
        #expect(mode(path + "/" + name) == 0o600, "\(path)/\(name)")
      }
    }
  }
}
