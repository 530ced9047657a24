import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A simulated disk with faults")
struct SimulatedFaultTests {
  private func kind(_ body: () throws -> Void) -> StorageError.Kind? {
    #expect(throws: StorageError.self, performing: body)?.kind
  }

  @Test func `only calls that change something are numbered`() throws {
    let (disk, file) = try diskWithDurableFile()
    #expect(
      disk.calls == [
        .createDirectory, .create, .write, .sync, .syncDirectory, .syncDirectory,
      ])
    _ = try file.bytes(at: 0, 10)
    _ = try disk.open("s/a", .create)
    _ = try disk.open("s/missing", .read)
    try disk.createDirectory("s")
    try disk.remove("s/missing")
    _ = try disk.list("s")
    #expect(disk.callCount == 6 && disk.readCount == 1)
    try file.setByteCount(1)
    try disk.rename("s/a", to: "s/b")
    try disk.remove("s/b")
    #expect(disk.calls.suffix(3) == [.setByteCount, .rename, .remove])
  }

  @Test func `without power no call works and no byte changes`() throws {
    let (disk, file) = try diskWithDurableFile()
    disk.faultPlan = .powerCut(atCall: disk.callCount + 1)
    #expect(!disk.hasLostPower)
    let calls: [() throws -> Void] = [
      { try file.write(sector(9), at: 0) }, { try file.sync() }, { try file.setByteCount(0) },
      { _ = try file.bytes(at: 0, 1) }, { _ = try disk.open("s/a", .read) },
      { _ = try disk.list("s") }, { try disk.remove("s/a") }, { try disk.syncDirectory("s") },
      { _ = try file.lock(.shared, 0..<1) }, { _ = try file.byteCount() },
    ]
    for call in calls {
      #expect(throws: SimulatedDisk.powerIsOff) { try call() }
    }
    #expect(disk.hasLostPower)
    for choice in [CrashChoice.nothing, .everything] {
      let crashed = disk.crashed(choice)
      #expect(try crashed.sectorValues() == [0, 1, 2, 3, 4, 5, 6, 7])
      #expect(!crashed.hasLostPower)
    }
  }

  @Test func `the write at the power cut may arrive in part`() throws {
    var seen: Set<[UInt8]> = []
    for seed in 0..<200 as Range<UInt64> {
      let disk = SimulatedDisk(seed: seed)
      let file = try #require(try disk.open("a", .create))
      try file.write(sector(1) + sector(1) + sector(1), at: 0)
      disk.faultPlan = .powerCut(atCall: 3, leavesPart: true)
      #expect(throws: SimulatedDisk.powerIsOff) {
        try file.write(sector(2) + sector(2) + sector(2), at: 0)
      }
      seen.insert(try disk.crashed(.everything).sectorValues("a"))
    }
    #expect(seen.count == 8)
  }

  @Test func `the name change at the power cut may have happened`() throws {
    for leavesPart in [false, true] {
      let (disk, _) = try diskWithDurableFile()
      disk.faultPlan = .powerCut(atCall: 7, leavesPart: leavesPart)
      #expect(throws: SimulatedDisk.powerIsOff) { try disk.rename("s/a", to: "s/b") }
      #expect(try disk.crashed(.everything).list("s") == [leavesPart ? "b" : "a"])
      #expect(try disk.crashed(.nothing).list("s") == ["a"])
    }
  }

  @Test func `a call fails once, or together with all later calls`() throws {
    let (disk, file) = try diskWithDurableFile()
    disk.faultPlan = .failure(.io, atCall: 7)
    #expect(kind { try file.write(sector(9), at: 0) } == .io)
    #expect(try disk.sectorValues()[0] == 0)
    try file.write(sector(9), at: 0)
    disk.faultPlan = .failure(.io, atCall: 9, isLasting: true)
    for _ in 0..<3 { #expect(kind { try file.sync() } == .io) }
    #expect(try disk.crashed(.nothing).sectorValues()[0] == 0)
    disk.faultPlan = FaultPlan()
    try file.sync()
    #expect(try disk.crashed(.nothing).sectorValues()[0] == 9)
  }

  @Test func `a full disk still allows removals`() throws {
    let (disk, file) = try diskWithDurableFile()
    disk.faultPlan = .failure(.diskFull, atCall: 1, isLasting: true)
    #expect(kind { try file.write(sector(9), at: 0) } == .diskFull)
    #expect(kind { _ = try disk.open("s/b", .create) } == .diskFull)
    try disk.remove("s/a")
    try disk.syncDirectory("s")
    #expect(try disk.list("s") == [])
  }

  @Test func `a failing write may write its first bytes`() throws {
    let (disk, file) = try diskWithDurableFile()
    disk.faultPlan = .failure(.diskFull, atCall: 7, leavesPart: true)
    #expect(kind { try file.write([UInt8](repeating: 9, count: 4096), at: 0) } == .diskFull)
    let bytes = try #require(disk.bytes(of: "s/a"))
    let count = bytes.prefix { $0 == 9 }.count
    #expect(count > 0 && count < 4096 && !bytes[count...].contains(9))
  }

  @Test func `a failing sync may drop the bytes that it should have written`() throws {
    let (disk, file) = try diskWithDurableFile()
    try file.write(sector(9) + sector(9), at: 7 * 512)
    disk.faultPlan = .failure(.io, atCall: 8, dropsUnsynced: true)
    #expect(kind { try file.sync() } == .io)
    try file.sync()
    #expect(try disk.sectorValues().suffix(2) == [9, 9])
    #expect(!disk.isDurable("s/a", 3584..<3585) && disk.isDurable("s/a", 0..<3584))
    // The new length survives the failed sync, because it is in the journal of the file system.
    for choice in [CrashChoice.nothing, .everything, .seeded(1, .mostlyNew)] {
      #expect(try disk.crashed(choice).sectorValues().suffix(2) == [7, 0])
    }
    try file.write(sector(9) + sector(9), at: 7 * 512)
    try file.sync()
    #expect(try disk.crashed(.nothing).sectorValues().suffix(2) == [9, 9])
    #expect(disk.isDurable("s/a", 0..<4608))
  }

  @Test func `a read fails once`() throws {
    let (disk, file) = try diskWithDurableFile()
    disk.faultPlan = .failingRead(2)
    _ = try file.bytes(at: 0, 1)
    #expect(kind { _ = try file.bytes(at: 0, 1) } == .io)
    _ = try file.bytes(at: 0, 1)
  }

  @Test func `a hook sees each write before it happens and may read the disk`() throws {
    let (disk, file) = try diskWithDurableFile()
    var seen: [String] = []
    disk.onWrite = { path, offset, count in
      seen.append("\(path) \(offset) \(count) \(disk.isDurable(path, 0..<512))")
    }
    try file.write(sector(9), at: 0)
    try file.write([1, 2], at: 512)
    disk.onWrite = nil
    #expect(seen == ["s/a 0 512 true", "s/a 512 2 false"])
  }

  @Test func `the same seed replays the same calls`() throws {
    func hash(_ seed: UInt64) throws -> (lines: [String], hash: UInt64) {
      let disk = SimulatedDisk(seed: seed)
      disk.keepsLog = true
      let file = try #require(try disk.open("a", .create))
      try file.write([UInt8(truncatingIfNeeded: disk.random()), 1], at: 3)
      try file.setByteCount(disk.wallClockMilliseconds % 100)
      disk.faultPlan = .failure(.diskFull, atCall: 4)
      _ = kind { try file.sync() }
      return (disk.operationLog, disk.operationHash)
    }
    let first = try hash(1)
    #expect(try hash(1) == first)
    #expect(try hash(2) != first)
    #expect(first.lines.count == 4)
    #expect(first.lines.last?.hasSuffix("diskFull") == true)
  }

  @Test func `locks follow the locking rules`() throws {
    let (disk, file) = try diskWithDurableFile()
    try expectLockRules(first: file, second: try #require(try disk.open("s/a", .write)))
  }

  @Test func `locks end with the open file`() throws {
    let (disk, watcher) = try diskWithDurableFile()
    var holder = try disk.open("s/a", .write)
    #expect(try holder?.lock(.exclusive, 0..<10) == true)
    #expect(try watcher.lockedByOthers(in: 5..<20) == 5..<10)
    holder = nil
    #expect(try watcher.lockedByOthers(in: 5..<20) == nil)
  }

  @Test func `a removed file stays usable and comes back in a crash`() throws {
    let (disk, file) = try diskWithDurableFile()
    try disk.remove("s/a")
    #expect(try file.byteCount() == 4096)
    #expect(disk.crashed(.nothing).bytes(of: "s/a")?.count == 4096)
    try disk.syncDirectory("s")
    try disk.syncDirectory("s")
    #expect(try file.byteCount() == 4096)
    #expect(try disk.crashed(.nothing).list("s") == [])
  }
}
