import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Returns a disk with a durable file `s/a` of eight sectors, each of which is filled with its
/// index.
func diskWithDurableFile() throws -> (disk: SimulatedDisk, file: any File) {
  let disk = SimulatedDisk(seed: 5)
  try disk.createDirectory("s")
  let file = try #require(try disk.open("s/a", .create))
  try file.write((0..<8).flatMap { sector($0) }, at: 0)
  try file.sync()
  try disk.syncDirectory("s")
  try disk.syncDirectory("")
  return (disk, file)
}

/// Returns a sector in which every byte is `value`.
func sector(_ value: UInt8) -> [UInt8] { [UInt8](repeating: value, count: 512) }

extension SimulatedDisk {
  /// Returns the first byte of each sector of a file, and expects all bytes within each sector to
  /// be equal.
  func sectorValues(_ path: String = "s/a") throws -> [UInt8] {
    let content = try #require(bytes(of: path))
    return stride(from: 0, to: content.count, by: 512).map { start in
      let sector = content[start..<min(start + 512, content.count)]
      #expect(sector.elementsEqual(repeatElement(content[start], count: sector.count)))
      return content[start]
    }
  }
}

@Suite("The simulated power cut")
struct SimulatedDiskTests {
  private let old: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7]

  @Test func `only a synced write is sure to survive`() throws {
    let (disk, file) = try diskWithDurableFile()
    #expect(disk.isDurable("s/a", 0..<4096))
    try file.write(sector(10), at: 512)
    #expect(try disk.sectorValues() == [0, 10, 2, 3, 4, 5, 6, 7])
    #expect(!disk.isDurable("s/a", 1000..<1001) && disk.isDurable("s/a", 1024..<4096))
    #expect(try disk.crashed(.nothing).sectorValues() == old)
    #expect(try disk.crashed(.everything).sectorValues() == [0, 10, 2, 3, 4, 5, 6, 7])
    try file.sync()
    #expect(disk.isDurable("s/a", 0..<4096))
    #expect(try disk.crashed(.nothing).sectorValues() == [0, 10, 2, 3, 4, 5, 6, 7])
  }

  @Test func `a crash changes neither the disk it happens on nor its siblings`() throws {
    let (disk, file) = try diskWithDurableFile()
    try file.write(sector(10), at: 0)
    let crashed = disk.crashed(.nothing)
    let other = disk.crashed(.nothing)
    try #require(try crashed.open("s/a", .write)).write(sector(20), at: 0)
    #expect(try disk.sectorValues()[0] == 10)
    #expect(try other.sectorValues()[0] == 0)
  }

  @Test(arguments: TestScale.some(CrashMode.allCases, every: 5))
  func `every sector is one of its versions`(mode: CrashMode) throws {
    let (disk, file) = try diskWithDurableFile()
    try file.write(sector(10) + sector(11) + sector(12), at: 0)
    try file.write(sector(21) + sector(22), at: 512)
    var seen: Set<[UInt8]> = []
    for seed in TestScale.seeds(quick: 150, all: 400) {
      let values = try disk.crashed(.seeded(seed, mode)).sectorValues()
      #expect([0, 10].contains(values[0]) && [1, 11, 21].contains(values[1]), "seed \(seed)")
      #expect([2, 12, 22].contains(values[2]) && values[3...] == old[3...], "seed \(seed)")
      seen.insert(Array(values[..<3]))
      #expect(try disk.crashed(.seeded(seed, mode)).sectorValues() == values)
    }
    switch mode {
    case .uniform: #expect(seen.count == 2 * 3 * 3)
    // Even 400 seeds do not produce the least likely states.
    case .mostlyOld, .mostlyNew: #expect(seen.count > 6)
    case .tornNewest: #expect(seen == [[10, 11, 12], [10, 21, 12], [10, 11, 22], [10, 21, 22]])
    case .completeWrites: #expect(seen == [[0, 1, 2], [10, 11, 12], [0, 21, 22], [10, 21, 22]])
    }
  }

  @Test func `a kept sector also contains the bytes of earlier writes`() throws {
    let (disk, file) = try diskWithDurableFile()
    try file.write([9], at: 0)
    try file.write([9], at: 1)
    let states = try #require(disk.exhaustiveCrashes(limit: 4))
    #expect(
      Set(states.compactMap { $0.bytes(of: "s/a").map { Array($0[..<2]) } })
        == [[0, 0], [9, 0], [9, 9]])
  }

  @Test func `two writes to different locations leave four states`() throws {
    let (disk, file) = try diskWithDurableFile()
    #expect(disk.exhaustiveCrashes(limit: 1)?.count == 1)
    try file.write(sector(10) + sector(11), at: 0)
    try file.write(sector(13), at: 3 * 512)
    #expect(disk.exhaustiveCrashes(limit: 3) == nil)
    let states = try #require(disk.exhaustiveCrashes(limit: 4))
    let values = try states.map { Array(try $0.sectorValues()[..<4]) }
    #expect(values.count == 4)
    #expect(Set(values) == [[0, 1, 2, 3], [10, 11, 2, 3], [0, 1, 2, 13], [10, 11, 2, 13]])
  }

  @Test func `a file that grew has any of its lengths, with zeros where bytes were lost`() throws {
    let (disk, file) = try diskWithDurableFile()
    try file.write(sector(8), at: 8 * 512)
    try file.setByteCount(10 * 512)
    let states = try #require(disk.exhaustiveCrashes(limit: 100))
    let tails = try states.map { Array(try $0.sectorValues()[8...]) }
    #expect(tails.count == 5)
    #expect(Set(tails) == [[], [0], [8], [0, 0], [8, 0]])
  }

  @Test func `a file that grew can contain garbage where bytes were lost, and nowhere else`() throws
  {
    let (disk, file) = try diskWithDurableFile()
    try file.write(sector(8), at: 8 * 512)
    var hasGarbage = false
    for seed in 0..<50 as Range<UInt64> {
      let crashed = disk.crashed(.seeded(seed, .uniform, .staleGarbage))
      let bytes = try #require(crashed.bytes(of: "s/a"))
      #expect(Array(bytes[..<4096]) == old.flatMap { sector($0) })
      hasGarbage = hasGarbage || Set(bytes[4096...]).count > 100
    }
    #expect(hasGarbage)
  }

  @Test func `large sectors survive as a whole, and torn writes up to some sector`() throws {
    let (disk, file) = try diskWithDurableFile()
    try file.setByteCount(24 * 512)
    try file.sync()
    try file.write((0..<20).flatMap { _ in sector(9) }, at: 3 * 512)
    var counts: [CrashOptions: Set<Int>] = [:]
    for seed in 0..<60 as Range<UInt64> {
      for options in [CrashOptions.largeSectors, .tornEnds] {
        let values = try disk.crashed(.seeded(seed, .mostlyNew, options)).sectorValues()
        let survivors = (0..<24).filter { values[$0] == 9 }
        counts[options, default: []].insert(survivors.count)
        if options == .tornEnds {
          #expect(survivors == Array(3..<3 + survivors.count))
        } else {
          for range in [3..<8, 8..<16, 16..<23] {
            #expect([0, range.count].contains(survivors.count { range.contains($0) }))
          }
        }
      }
    }
    #expect((counts[.tornEnds]?.count ?? 0) > 8 && (counts[.largeSectors]?.count ?? 0) > 2)
  }

  @Test func `truncated bytes never come back once the truncation is kept`() throws {
    let (disk, file) = try diskWithDurableFile()
    try file.setByteCount(512)
    try file.setByteCount(1024)
    let states = try #require(disk.exhaustiveCrashes(limit: 3))
    #expect(Set(try states.map { try $0.sectorValues() }) == [old, [0], [0, 0]])
    try file.write(sector(9), at: 512)
    #expect(try disk.crashed(.everything).sectorValues() == [0, 9])
  }

  @Test func `a synced file without a synced name is gone`() throws {
    let (disk, _) = try diskWithDurableFile()
    let file = try #require(try disk.open("s/b", .create))
    try file.write(sector(1), at: 0)
    try file.sync()
    #expect(!disk.isNameDurable("s/b") && !disk.isDurable("s/b", 0..<512))
    #expect(disk.crashed(.nothing).bytes(of: "s/b") == nil)
    #expect(disk.crashed(.everything).bytes(of: "s/b") == sector(1))
    try disk.syncDirectory("s")
    #expect(disk.isDurable("s/b", 0..<512))
    #expect(disk.crashed(.nothing).bytes(of: "s/b") == sector(1))
  }

  @Test func `a synced name without a synced file is an empty file`() throws {
    let (disk, _) = try diskWithDurableFile()
    try #require(try disk.open("s/b", .create)).write(sector(1), at: 0)
    try disk.syncDirectory("s")
    #expect(disk.crashed(.nothing).bytes(of: "s/b") == [])
  }

  @Test func `a directory whose own name is lost loses its files`() throws {
    let (disk, _) = try diskWithDurableFile()
    try disk.createDirectory("s/t")
    try #require(try disk.open("s/t/b", .create)).sync()
    try disk.syncDirectory("s/t")
    #expect(!disk.isNameDurable("s/t/b"))
    #expect(try disk.crashed(.nothing).list("s/t") == nil)
    #expect(try disk.crashed(.nothing).list("s") == ["a"])
    try disk.syncDirectory("s")
    #expect(try disk.crashed(.nothing).list("s/t") == ["b"])
  }

  /// Returns a disk on which `s/new` was renamed over `s/a`, and `s/a` was then removed.
  ///
  /// Neither change was synced.
  private func diskWithNameChanges() throws -> SimulatedDisk {
    let (disk, _) = try diskWithDurableFile()
    let file = try #require(try disk.open("s/new", .create))
    try file.write(sector(9), at: 0)
    try file.sync()
    try disk.rename("s/new", to: "s/a")
    try disk.remove("s/a")
    return disk
  }

  @Test func `names change in order and a rename is atomic`() throws {
    let disk = try diskWithNameChanges()
    let states = try #require(disk.exhaustiveCrashes(limit: 4))
    let names = try states.map { try $0.list("s") }
    #expect(names == [["a"], ["a", "new"], ["a"], []])
    #expect(states.map { $0.bytes(of: "s/a")?.count } == [4096, 4096, 512, nil])
    for seed in 0..<100 as Range<UInt64> {
      let names = try disk.crashed(.seeded(seed, .uniform)).list("s")
      #expect([["a"], ["a", "new"], []].contains(names))
    }
  }

  @Test func `unordered names stay consistent`() throws {
    let disk = try diskWithNameChanges()
    try disk.open("s/late", .create)?.sync()
    var seen: Set<[String]> = []
    for seed in 0..<300 as Range<UInt64> {
      seen.insert(
        try #require(
          try disk.crashed(.seeded(seed, .uniform, .unorderedNames)).list("s")))
    }
    // The renaming of `new` to `a` can survive only if the creation of `new` survives. The removal
    // of `a` can survive only if the renaming survives.
    #expect(seen == [["a"], ["a", "late"], ["a", "new"], ["a", "late", "new"], [], ["late"]])
  }

  @Test func `memory shared with a file is absent, zero, garbage or old`() throws {
    let (disk, file) = try diskWithDurableFile()
    let mapping = try file.mapShared(byteCount: 4096)
    mapping.bytes.store64(.max, 0)
    let written = mapping.bytes.bytes.copied()
    #expect(disk.crashed(.nothing).bytes(of: "s/a") == old.flatMap { sector($0) })
    #expect(disk.crashed(.everything).bytes(of: "s/a") == written)
    let zeros = [UInt8](repeating: 0, count: 4096)
    var counts: [String: Int] = [:]
    for seed in 0..<100 as Range<UInt64> {
      switch disk.crashed(.seeded(seed, .uniform)).bytes(of: "s/a") {
      case nil: counts["absent", default: 0] += 1
      case zeros: counts["zero", default: 0] += 1
      case written: counts["old", default: 0] += 1
      default: counts["garbage", default: 0] += 1
      }
    }
    #expect(counts.keys.sorted() == ["absent", "garbage", "old", "zero"])
  }

  @Test func `a crash releases all locks and changes the boot identity`() throws {
    let (disk, file) = try diskWithDurableFile()
    #expect(try file.lock(.exclusive, 0..<1))
    let crashed = disk.crashed(.everything)
    #expect(try #require(try crashed.open("s/a", .read)).lock(.shared, 0..<1))
    #expect(crashed.bootIdentity != disk.bootIdentity)
    #expect(crashed.bootIdentity != crashed.crashed(.everything).bootIdentity)
  }
}

@Suite("The simulated process death")
struct KilledProcessTests {
  @Test func `all bytes stay, unsynced bytes stay unsynced, and locks are released`() throws {
    let (disk, file) = try diskWithDurableFile()
    try file.write(sector(9), at: 0)
    #expect(try file.lock(.exclusive, 0..<1))
    disk.faultPlan = .failure(.io, atCall: 1, isLasting: true)
    let killed = disk.killed()
    #expect(killed.bootIdentity == disk.bootIdentity)
    #expect(killed.callCount == 0 && killed.faultPlan == FaultPlan())
    #expect(try killed.sectorValues()[0] == 9)
    #expect(try killed.crashed(.nothing).sectorValues()[0] == 0)
    let reopened = try #require(try killed.open("s/a", .write))
    #expect(try reopened.lock(.exclusive, 0..<1))
    try reopened.sync()
    #expect(try killed.crashed(.nothing).sectorValues()[0] == 9)
    #expect(try disk.crashed(.nothing).sectorValues()[0] == 0)
  }

  @Test func `shared memory survives, and the dead process no longer writes it`() throws {
    let (disk, file) = try diskWithDurableFile()
    let mapping = try file.mapShared(byteCount: 4096)
    mapping.bytes.store64(42, 0)
    let killed = disk.killed()
    mapping.bytes.store64(43, 0)
    let reopened = try #require(try killed.open("s/a", .write))
    #expect(try reopened.mapShared(byteCount: 4096).bytes.bytes.load64(0) == 42)
  }
}
