import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which error each kind of damage to a backup causes.
@Suite("A backup that is not intact")
struct DamagedBackupTests {
  private let disk = MemoryFileSystem()
  private let store: Store

  init() throws { store = try StoreFixture.on(disk).open() }

  private var backup: Backup { Backup(at: "/backup", on: disk) }

  private var names: Set<String> { get throws { Set(try disk.list("/backup") ?? []) } }

  /// Commits a value, and adds the generation to the backup.
  private func add(_ value: UInt8) throws -> (state: BackedUpState, file: String) {
    try store.write { try $0.keyspace("k").put(1, [UInt8](repeating: value, count: 20_000)) }
    let state = try BackedUpState(store.snapshot())
    let report = try store.backup(to: "/backup")
    return (state, try #require(report.files.first))
  }

  private func change(_ name: String, _ body: (inout [UInt8]) -> Void) throws {
    let file = try disk.create("/backup/" + name)
    var bytes = try file.allBytes()
    body(&bytes)
    try file.setByteCount(0)
    try file.write(bytes, at: 0)
  }

  private func restoreError(_ state: BackedUpState) throws -> StorageError {
    let error = #expect(throws: StorageError.self) {
      try backup.restore(state.generation, to: "/restored")
    }
    #expect(try disk.list("/restored") == nil)
    return try #require(error)
  }

  @Test(.evidence("A4")) func `because a newer program wrote it names both versions`() throws {
    let (state, file) = try add(1)
    try change(file) { $0[BackupLayout.version.offset] = 9 }
    let error = try restoreError(state)
    #expect(error.kind == .incompatibleFormat)
    #expect(error.message.contains("version 9"))
    try store.close()
  }

  @Test(.evidence("A4")) func `is corrupt if the length of its names exceeds the file`() throws {
    let (state, file) = try add(1)
    try change(file) { bytes in
      for index in 0..<4 { bytes[BackupLayout.nameByteCount.offset + index] = 0xFF }
    }
    #expect(try restoreError(state).kind == .corrupt)
    try store.close()
  }

  @Test(.evidence("A4")) func `is corrupt if its digest belongs to other pages`() throws {
    let (state, file) = try add(1)
    try change(file) { $0[$0.count - 1] ^= 1 }
    let error = try restoreError(state)
    #expect(error.kind == .corrupt && error.file == file)
    #expect(error.message.hasSuffix("Nothing can be restored from the other files."))
    try store.close()
  }

  /// The next backup contains all pages, because it cannot build on the damaged file.
  @Test(.evidence("A4")) func `names a later generation if no earlier one is intact`() throws {
    let (state, file) = try add(1)
    try change(file) { $0[BackupLayout.byteCount - 1] ^= 1 }
    let (later, _) = try add(2)
    let error = try restoreError(state)
    #expect(error.kind == .corrupt)
    let frame = later.generation.frame
    #expect(error.message.hasSuffix("Generation \(frame) can still be restored."))
    try backup.restore(to: "/later")
    try later.expectEqual(at: "/later", on: disk)
    try store.close()
  }

  @Test(.evidence("A5"), .evidence("A7")) func `is not merged if a page is damaged`() throws {
    _ = try add(1)
    let (second, file) = try add(2)
    let (third, _) = try add(3)
    try change(file) { $0[$0.count - 5000] ^= 1 }
    let before = try names
    let error = #expect(throws: StorageError.self) {
      try backup.thin { $0.generation != second.generation }
    }
    #expect(error?.kind == .corrupt && error?.file == file)
    #expect(try names.isSuperset(of: before))
    try change(file) { $0[$0.count - 5000] ^= 1 }
    try backup.restore(to: "/third")
    try third.expectEqual(at: "/third", on: disk)
    try store.close()
  }

  @Test(.evidence("A7")) func `after an interrupted merge is merged again`() throws {
    let (first, _) = try add(1)
    let (second, _) = try add(2)
    let (third, _) = try add(3)
    let merged = BackupName(base: first.generation.frame, frame: third.generation.frame).text
    try change(merged + ".partial") { $0 = [UInt8](repeating: 7, count: 1 << 20) }
    #expect(try backup.thin { $0.generation != second.generation } == 1)
    #expect(try names.contains(merged))
    #expect(try names.contains(merged + ".partial") == false)
    try backup.restore(to: "/third")
    try third.expectEqual(at: "/third", on: disk)
    try store.close()
  }

  @Test func `because its directory is empty has nothing to restore or remove`() throws {
    try disk.createDirectory("/backup")
    #expect(try backup.restorePoints() == [])
    let error = #expect(throws: StorageError.self) { try backup.restore(to: "/restored") }
    #expect(error?.kind == .notAStore)
    #expect(try backup.thin { _ in false } == 0)
    try store.close()
  }
}
