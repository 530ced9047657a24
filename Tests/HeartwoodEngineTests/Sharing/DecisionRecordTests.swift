import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// What can still be pinned, as a pass publishes it and openers read it.
@Suite("A decision record")
struct DecisionRecordTests {
  @Test(.evidence("I5")) func `says which generations are alive`() {
    let record = DecisionRecord(low: 10, top: 30, bounds: [10, 17, 25])
    let alive = (0...40 as ClosedRange<UInt64>).filter { record.isAlive($0) }
    #expect(alive == [10, 17, 25] + Array(30...40))
    let raised = DecisionRecord(low: 17, top: 30, bounds: [10, 17, 25])
    #expect((0...30 as ClosedRange<UInt64>).filter { raised.isAlive($0) } == [17, 25, 30])
    let high = DecisionRecord(low: 35, top: 30, bounds: [10, 17, 25])
    #expect((0...40 as ClosedRange<UInt64>).filter { high.isAlive($0) } == Array(35...40))
  }

  @Test(arguments: [0, 1, 2, 199, 200]) func `is read back as published`(boundCount: Int) {
    let words = SharedWords.ofThisProcess()
    #expect(words.decision == DecisionRecord(low: 0, top: 0, bounds: []))
    for round in 1...4 as ClosedRange<UInt64> {
      let record = DecisionRecord(
        low: round, top: round * 10_000, bounds: (0..<boundCount).map { round + UInt64($0) * 7 })
      words.publish(record)
      #expect(words.decision == record)
    }
  }

  @Test func `shrinks from one publication to the next`() {
    let words = SharedWords.ofThisProcess()
    words.publish(DecisionRecord(low: 1, top: 900, bounds: (1...200).map { UInt64($0) }))
    words.publish(DecisionRecord(low: 900, top: 901, bounds: [900]))
    words.publish(DecisionRecord(low: 950, top: 951, bounds: []))
    #expect(words.decision == DecisionRecord(low: 950, top: 951, bounds: []))
  }

  @Test(.evidence("I5"), arguments: [201, 202, 300, 5000])
  func `with more bounds than fit gives up none of them`(boundCount: Int) {
    let words = SharedWords.ofThisProcess()
    let record = DecisionRecord(
      low: 5, top: 1_000_000, bounds: (0..<boundCount).map { 5 + UInt64($0) * 11 })
    words.publish(record)
    let read = words.decision
    #expect(read.bounds == Array(record.bounds.prefix(Limits.maxDecisionBoundCount)))
    #expect(read.top == record.bounds[Limits.maxDecisionBoundCount])
    #expect(record.bounds.allSatisfy { read.isAlive($0) })
    #expect(!read.isAlive(6))
  }

  @Test(.evidence("B2")) func `with an absurd count reads no further than its place`() {
    let block = ByteBlock(count: CountersLayout.byteCount)
    for offset in stride(from: 0, to: CountersLayout.byteCount, by: 8) {
      block.bytes.store64(.max, offset)
    }
    let words = SharedWords(Mapping(block.bytes) { _ in withExtendedLifetime(block) {} })
    #expect(words.decision.bounds.count == Limits.maxDecisionBoundCount)
    #expect(!words.decision.isAlive(5))
  }

  @Test func `lies within its place in the counters`() {
    #expect(DecisionLayout.bounds.byteCount >= Limits.maxDecisionBoundCount * 8)
    #expect(DecisionLayout.bounds.end <= CountersLayout.firstDecision.byteCount)
    #expect(CountersLayout.secondDecision.end <= CountersLayout.byteCount)
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `of live locks lists every one, however they lie`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try ScratchDirectory()
    let path = folder.path(of: "locks")
    let fileSystem: any FileSystem = seed % 2 == 0 ? PosixFileSystem() : MemoryFileSystem()
    if seed % 2 == 1 { try fileSystem.createDirectory("/store") }
    let place = seed % 2 == 0 ? path : "/store/locks"
    let own = StoreLocks(file: try #require(try fileSystem.open(place, .create)))
    var others: [StoreLocks] = []
    var locked: Set<FrameNumber> = []
    for _ in 0..<5 {
      let other = StoreLocks(file: try #require(try fileSystem.open(place, .write)))
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
