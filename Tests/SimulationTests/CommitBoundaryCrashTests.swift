import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests power cuts while a store is opened, and during commits that end at the boundaries of
/// sectors and segments.
@Suite("A commit at a segment boundary")
struct CommitBoundaryCrashTests {
  /// Small and large commits, some of which end a segment, start a segment, or fill several
  /// segments.
  private static let steps: [Step] =
    [150, 9000, 150, 5000, 40_000, 150, 13_000, 150].map {
      .write(.full, operationCount: 2, valueByteCount: $0)
    }

  /// Returns the slots in which commits begin and end, and the number of frames in the largest
  /// commit.
  private func slots(seed: UInt64) throws -> (first: Set<Int>, last: Set<Int>, largest: UInt64) {
    let run = CrashHistory(disk: SimulatedDisk(seed: 1), seed: seed)
    try run.open()
    let geometry = try #require(run.store).files.geometry
    var result: (first: Set<Int>, last: Set<Int>, largest: UInt64) = ([], [], 0)
    for step in Self.steps {
      let before = try #require(run.store).statistics.newestGeneration.frame
      try run.run(step)
      let after = run.newestGeneration.frame
      result.first.insert(geometry.slot(of: geometry.next(after: before)))
      result.last.insert(geometry.slot(of: after))
      result.largest = max(result.largest, after - before)
    }
    return result
  }

  @Test(
    .evidence("D1"), .evidence("D2"), .evidence("D3"), .evidence("D7"),
    arguments: TestScale.pick(quick: [11], all: [11], long: [3, 11] as [UInt64]))
  func `is complete after a power cut at every call`(seed: UInt64) throws {
    let found = try slots(seed: seed)
    // A segment has eight slots, and slots 1 to 6 contain its frames.
    #expect(found.first.contains(1) && found.last.contains(6), "\(found)")
    #expect(found.largest > 8)
    let states = try CrashHistory.cutEverywhere(Self.steps, seed: seed, "seed \(seed)")
    print("crash states: \(states) (boundaries \(seed))")
  }

  /// Disks write complete sectors, but the store must not rely on that.
  @Test(.evidence("D1"), .evidence("D2"), .evidence("D3"))
  func `is complete or absent when its last sector is torn at any byte`() throws {
    let steps: [Step] = [
      .write(.full, operationCount: 2, valueByteCount: 150),
      .write(.normal, operationCount: 3, valueByteCount: 5000), .checkpoint,
      .write(.full, operationCount: 1, valueByteCount: 150),
    ]
    let complete = CrashHistory(disk: SimulatedDisk(seed: 1), seed: 5)
    try complete.run(steps)
    var states = 0
    for call in 1..<complete.callCount where complete.disk.calls[call - 1] == .write {
      let before = try CrashHistory.cut(steps, seed: 5, atCall: call)
      let after = try CrashHistory.cut(steps, seed: 5, atCall: call + 1)
      let old = before.disk.crashed(.everything)
      let new = after.disk.crashed(.everything)
      guard let (path, sector) = try lastChangedSector(old, new) else { continue }
      let bytes = try #require(new.bytes(of: path))
      for end in TestScale.some([1, 7, 8, 16, 100, 200, 256, 300, 400, 500, 504, 511], every: 4) {
        // Write everything before the sector, plus the first `end` bytes of the sector.
        let torn = old.killed()
        let file = try #require(try torn.open(path, .write))
        let count = min(sector + end, bytes.count)
        try file.write(Array(bytes[..<count]), at: 0)
        before.expectPrefix(
          on: torn.crashed(.everything), "call \(call), \(path) torn at \(sector + end)")
        states += 1
      }
    }
    print("crash states: \(states) (torn sectors)")
    #expect(states > TestScale.pick(quick: 12, all: 50))
  }

  /// Returns the position of the last sector that differs between two disks, or `nil` if the disks
  /// are equal.
  private func lastChangedSector(
    _ old: SimulatedDisk, _ new: SimulatedDisk
  ) throws -> (path: String, offset: Int)? {
    for name in try new.list("/store") ?? [] where name != "counters" {
      let path = "/store/" + name
      guard let one = old.bytes(of: path), let other = new.bytes(of: path), one != other else {
        continue
      }
      let last = (0..<other.count).last { $0 >= one.count || one[$0] != other[$0] }
      return last.map { (path, $0 / 512 * 512) }
    }
    return nil
  }

  @Test(
    .evidence("D1"), .evidence("D2"), .evidence("D9"), arguments: TestScale.seeds(quick: 1, all: 3))
  func `survives cuts of three recoveries in a row at every call`(seed: UInt64) throws {
    let steps: [Step] = [
      .write(.full, operationCount: 2, valueByteCount: 3000), .checkpoint,
      .write(.full, operationCount: 2, valueByteCount: 3000),
      .write(.normal, operationCount: 2, valueByteCount: 3000),
    ]
    let complete = CrashHistory(disk: SimulatedDisk(seed: 1), seed: seed)
    try complete.run(steps)
    let run = try CrashHistory.cut(
      steps, seed: seed, atCall: complete.callCount - Int(seed), leavesPart: true)
    var generator = SeededGenerator(seed: seed)
    var states = 0
    let share = TestScale.pick(quick: 96, all: 12, long: 4)
    for first in 1...15 {
      let one = opened(run.disk.crashed(.everything), cutAt: first)
      for second in 1...15 {
        let mode = CrashMode.allCases[(first + second) % CrashMode.allCases.count]
        let two = opened(one.crashed(.seeded(generator.next(), mode)), cutAt: second)
        for third in 1...15 where (first * 31 + second * 7 + third) % share == 0 {
          let three = opened(two.crashed(.seeded(generator.next(), mode)), cutAt: third)
          let context = "seed \(seed), recoveries cut at calls \(first), \(second) and \(third)"
          run.expectPrefix(on: three.crashed(.seeded(generator.next(), mode)), context)
          states += 1
        }
      }
    }
    print("crash states: \(states) (three recoveries, seed \(seed))")
  }

  /// Opens the store and cuts the power at the given call, unless opening the store makes fewer
  /// calls.
  private func opened(_ disk: SimulatedDisk, cutAt call: Int) -> SimulatedDisk {
    disk.faultPlan = .powerCut(atCall: call, leavesPart: call % 2 == 0)
    do {
      _ = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
    } catch {
      #expect(error.kind != .corrupt, "\(error)")
    }
    return disk
  }

  /// The next process finds commits that were not synced, and shows them to its readers.
  @Test(.evidence("D4"), .evidence("D8"))
  func `survives a power cut once a process has shown it after a kill`() throws {
    let run = CrashHistory(disk: SimulatedDisk(seed: 8), seed: 8)
    for _ in 0..<6 {
      try run.run([
        .write(.normal, operationCount: 3, valueByteCount: 6000),
        .write(.normal, operationCount: 1, valueByteCount: 100), .kill,
      ])
      #expect(
        try CrashHistory.number(of: try #require(run.store).snapshot()) == run.acknowledgedCount)
      #expect(run.durableCount == run.acknowledgedCount)
      for mode in CrashMode.allCases {
        run.expectPrefix(on: run.disk.crashed(.seeded(8, mode)), "\(mode)")
      }
      run.expectPrefix(on: run.disk.crashed(.nothing), "nothing kept")
    }
  }

  /// The times in the files are only informative, so the behaviour must not depend on the clock.
  @Test(
    .evidence("D1"), .evidence("D2"),
    arguments: [(0, 86_400_000), (.max, 86_400_000), (1, 0)] as [(UInt64, UInt64)])
  func `does not depend on the clock`(start: UInt64, step: UInt64) throws {
    let steps: [Step] = [
      .write(.full, operationCount: 2, valueByteCount: 50), .checkpoint, .keep("x"),
      .write(.full, operationCount: 2, valueByteCount: 50),
    ]
    let run = CrashHistory(disk: SimulatedDisk(seed: 1), seed: 4)
    var looks: UInt64 = 0
    run.disk.clock = {
      // Let the clock jump back and forth, further each time. If the step is 0, the clock does not
      // advance.
      looks += 1
      return looks % 2 == 0 ? start : start &+ looks &* step
    }
    for _ in 0..<3 {
      try run.run(steps)
      for mode in CrashMode.allCases {
        run.expectPrefix(on: run.disk.crashed(.seeded(looks, mode)), "clock at \(start), \(mode)")
      }
      try run.run([.pin, .release("x"), .checkpoint, .reopen])
    }
    #expect(looks > 10)
  }
}
