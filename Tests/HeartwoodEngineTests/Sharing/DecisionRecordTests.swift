import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the record of the generations that can be pinned, which maintenance publishes and openings
/// of the store read.
@Suite("A decision record")
struct DecisionRecordTests {
  @Test(.evidence("I5")) func `defines which generations are alive`() {
    let record = DecisionRecord(low: 10, newestRetained: 30, olderRetained: [10, 17, 25])
    let alive = (0...40 as ClosedRange<UInt64>).filter { record.isAlive($0) }
    #expect(alive == [10, 17, 25] + Array(30...40))
    let raised = DecisionRecord(low: 17, newestRetained: 30, olderRetained: [10, 17, 25])
    #expect((0...30 as ClosedRange<UInt64>).filter { raised.isAlive($0) } == [17, 25, 30])
    let high = DecisionRecord(low: 35, newestRetained: 30, olderRetained: [10, 17, 25])
    #expect((0...40 as ClosedRange<UInt64>).filter { high.isAlive($0) } == Array(35...40))
  }

  @Test(arguments: [0, 1, 2, 199, 200]) func `is read back as published`(olderRetainedCount: Int) {
    let counters = SharedCounters.ofThisProcess()
    #expect(counters.decision == DecisionRecord(low: 0, newestRetained: 0, olderRetained: []))
    for round in 1...4 as ClosedRange<UInt64> {
      let record = DecisionRecord(
        low: round, newestRetained: round * 10_000,
        olderRetained: (0..<olderRetainedCount).map { round + UInt64($0) * 7 })
      counters.publish(record)
      #expect(counters.decision == record)
    }
  }

  @Test func `shrinks from one publication to the next`() {
    let counters = SharedCounters.ofThisProcess()
    counters.publish(
      DecisionRecord(low: 1, newestRetained: 900, olderRetained: (1...200).map { UInt64($0) }))
    counters.publish(DecisionRecord(low: 900, newestRetained: 901, olderRetained: [900]))
    counters.publish(DecisionRecord(low: 950, newestRetained: 951, olderRetained: []))
    #expect(counters.decision == DecisionRecord(low: 950, newestRetained: 951, olderRetained: []))
  }

  @Test(.evidence("I5"), arguments: [201, 202, 300, 5000])
  func `with more retained generations than fit releases none of them`(olderRetainedCount: Int) {
    let counters = SharedCounters.ofThisProcess()
    let record = DecisionRecord(
      low: 5, newestRetained: 1_000_000,
      olderRetained: (0..<olderRetainedCount).map { 5 + UInt64($0) * 11 })
    counters.publish(record)
    let read = counters.decision
    #expect(
      read.olderRetained == Array(record.olderRetained.prefix(Limits.maxRetainedGenerationCount)))
    #expect(read.newestRetained == record.olderRetained[Limits.maxRetainedGenerationCount])
    #expect(record.olderRetained.allSatisfy { read.isAlive($0) })
    #expect(!read.isAlive(6))
  }

  @Test(.evidence("B2")) func `with an invalid count reads nothing beyond its bytes`() {
    let block = ByteBlock(count: CountersLayout.byteCount)
    for offset in stride(from: 0, to: CountersLayout.byteCount, by: 8) {
      block.bytes.store64(.max, offset)
    }
    let counters = SharedCounters(Mapping(block.bytes) { _ in withExtendedLifetime(block) {} })
    #expect(counters.decision.olderRetained.count == Limits.maxRetainedGenerationCount)
    #expect(!counters.decision.isAlive(5))
  }

  @Test func `stays within its bytes in the counters`() {
    #expect(DecisionLayout.olderRetained.byteCount >= Limits.maxRetainedGenerationCount * 8)
    #expect(DecisionLayout.olderRetained.end <= CountersLayout.firstDecision.byteCount)
    #expect(CountersLayout.secondDecision.end <= CountersLayout.byteCount)
  }

  @Test(arguments: TestScale.seeds(quick: 2, all: 4))
  func `of live locks lists each of them, wherever they are`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let directory = try ScratchDirectory()
    let path = directory.path(of: "locks")
    let fileSystem: any FileSystem = seed % 2 == 0 ? PosixFileSystem() : MemoryFileSystem()
    if seed % 2 == 1 { try fileSystem.createDirectory("/store") }
    let filePath = seed % 2 == 0 ? path : "/store/locks"
    let own = StoreLocks(file: try #require(try fileSystem.open(filePath, .create)))
    var others: [StoreLocks] = []
    var locked: Set<FrameNumber> = []
    for _ in 0..<5 {
      let other = StoreLocks(file: try #require(try fileSystem.open(filePath, .write)))
      for _ in 0..<40 {
        let generation = UInt64(random.below(random.isTrue(in256: 128) ? 100 : 1 << 40))
        try other.lockLive(generation)
        locked.insert(generation)
      }
      others.append(other)
    }
    try own.lockLive(3)
    if !locked.contains(4) { try own.lockLive(4) }
    #expect(try own.liveElsewhere(in: 0..<1 << 41) == locked.sorted(), "seed \(seed)")
    #expect(
      try own.liveElsewhere(in: 50..<1000) == locked.filter { (50..<1000).contains($0) }.sorted())
    #expect(try own.liveElsewhere(in: 7..<7) == [])
    try withExtendedLifetime(others) { try others[0].unlockLive(locked.sorted()[0]) }
    others = []
    #expect(try own.liveElsewhere(in: 0..<1 << 41) == [], "seed \(seed)")
  }
}
