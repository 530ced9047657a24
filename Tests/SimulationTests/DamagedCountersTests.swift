import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Damages the shared counters between two processes in the same boot, where they are trusted.
@Suite("Damaged counters of an earlier process")
struct DamagedCountersTests {
  /// The offsets of all counters and of the used parts of the decision records.
  private static let offsets: [Int] =
    CountersLayout.fields.filter { $0.byteCount == 8 }.map(\.offset)
    + [CountersLayout.firstDecision, CountersLayout.secondDecision].flatMap { record in
      stride(from: 0, to: 48, by: 8).map { record.offset + $0 }
    }

  private func flip(_ bit: Int, of offset: Int, on disk: SimulatedDisk) throws {
    let file = try #require(try disk.open("/store/counters", .write))
    let counters = try file.mapShared(byteCount: CountersLayout.byteCount)
    counters.bytes.store64(counters.bytes.bytes.load64(offset) ^ 1 << UInt64(bit), offset)
  }

  @Test(.evidence("B2"), .evidence("D1"), arguments: TestScale.seeds(quick: 1, all: 4))
  func `lead to correct data or are detected, whatever bit has flipped`(seed: UInt64) throws {
    let sample = try WrittenStore(seed: seed)
    var noticed = 0
    let step = TestScale.pick(quick: 64, all: 12, long: 4)
    for offset in Self.offsets {
      for bit in stride(from: Int(seed) % step, to: 64, by: step) {
        let context = "seed \(seed), bit \(bit) of the word at \(offset)"
        let disk = sample.history.disk.killed()
        try flip(bit, of: offset, on: disk)
        switch sample.outcome(on: disk) {
        case .right(let commit):
          #expect(commit == sample.history.acknowledgedCount, "\(context)")
          try expectUsable(disk, context)
        case .noticed:
          noticed += 1
        case .wrong(let what):
          Issue.record("\(context): \(what)")
        }
      }
    }
    print("flipped bits in counters: noticed \(noticed) (seed \(seed))")
  }

  /// The named generation is removed from both decision records, but the next maintenance run must
  /// not reclaim it.
  @Test(.evidence("K1")) func `release no named generation`() throws {
    let disk = SimulatedDisk(seed: 5)
    var options = CrashHistory.options()
    options.segmentByteCount = 64 << 10
    let store = try StoreFixture.on(disk, options).open()
    func put(_ number: Int) throws {
      try store.write { try $0.keyspace("a").put(number % 3, [UInt8](repeating: 7, count: 700)) }
    }
    try store.write { try $0.keyspace("old").put(1, [1]) }
    try store.keep(store.snapshot().generation, as: "kept")
    try store.write { try $0.removeKeyspace("old") }
    for number in 0..<60 { try put(number) }
    try store.checkpoint()
    let killed = disk.killed()
    let file = try #require(try killed.open("/store/counters", .write))
    let counters = try file.mapShared(byteCount: CountersLayout.byteCount).bytes
    for record in [CountersLayout.firstDecision, CountersLayout.secondDecision] {
      let newestRetained = counters.bytes.load64(
        record.offset + DecisionLayout.newestRetained.offset)
      counters.store64(newestRetained, record.offset + DecisionLayout.low.offset)
      counters.store64(0, record.offset + DecisionLayout.olderRetainedCount.offset)
    }
    try StoreFixture.on(killed, options).run { store in
      for number in 60..<120 {
        try store.write { try $0.keyspace("a").put(number, [UInt8](repeating: 8, count: 700)) }
      }
      for _ in 0..<2 {
        let kept = try #require(try store.namedGenerations()["kept"])
        #expect(try store.snapshot(at: kept).keyspace("old")?.get(1) == [1])
        try store.checkpoint()
      }
    }
  }

  /// Expects that, with these counters, commits survive a power cut and maintenance works.
  private func expectUsable(_ disk: SimulatedDisk, _ context: String) throws {
    let disk = disk.killed()
    do {
      let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
      try store.write { try $0.keyspace("after").put("flip", [1]) }
      for checkpoints in [false, true] {
        if checkpoints { try store.checkpoint() }
        let cut = try Store(
          at: "/store", options: CrashHistory.options(), fileSystem: disk.crashed(.nothing))
        #expect(try cut.snapshot().keyspace("after")?.get("flip") == [1], "\(context)")
        #expect(try cut.verify().findings == [], "\(context)")
      }
    } catch {
      Issue.record("\(context), used: \(error)")
    }
  }
}
