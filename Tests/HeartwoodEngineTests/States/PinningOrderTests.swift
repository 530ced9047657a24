import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests pins that are made during a maintenance run.
///
/// The order of the steps is observed through the calls that set or query locks.
@Suite("A pin beside a maintenance run")
struct PinningOrderTests {
  private let fileSystem = ObservedFileSystem(MemoryFileSystem())

  private func fixture() -> StoreFixture {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    return .on(fileSystem, options)
  }

  @Test(.evidence("I1"), .evidence("I7"))
  func `is either seen by the run or sees its floor`() throws {
    let fixture = fixture()
    try fixture.run { store in
      for number in 1...3 { try store.write { try $0.keyspace("k").put(number, [1]) } }
      let counters = try fixture.counters()
      let newest = counters.durable
      #expect(counters.floor < newest)
      var floors: [FrameNumber] = []
      fileSystem.onQuestion = { floors.append(counters.floor) }
      try store.checkpoint()
      fileSystem.onQuestion = nil
      #expect(!floors.isEmpty)
      #expect(floors.allSatisfy { $0 == newest })
    }
  }

  @Test(.evidence("I1")) func `of a generation below the floor is retried`() throws {
    let fixture = fixture()
    try fixture.run { store in
      let newest = try store.write { try $0.keyspace("k").put(1, [1]) }
      let counters = try fixture.counters()
      let floor = counters.floor
      var calls: [LockKind] = []
      // Simulate a maintenance run that begins after the newest generation is loaded but before
      // this generation is locked. After the run, the newest generation can be pinned again.
      fileSystem.onLock = { kind, range in
        guard range.lowerBound == LockByte.live + newest.frame else { return }
        calls.append(kind)
        counters.store(calls.count == 1 ? newest.frame + 1 : floor, CountersLayout.floor)
      }
      let snapshot = try store.snapshot()
      fileSystem.onLock = nil
      #expect(calls == [.shared, .none, .shared])
      #expect(snapshot.generation == newest)
      #expect(try snapshot.keyspace("k")?.get(1) == [1])
    }
  }

  @Test(.evidence("I5"), .evidence("B1"))
  func `finds its pages while the header of the page file is written`() throws {
    let fixture = fixture()
    try fixture.run { store in
      for number in 0..<3 {
        for key in 0..<200 { try store.write { try $0.keyspace("k").put(key, [UInt8(number)]) } }
        let generation = try store.snapshot().generation
        try store.keep(generation, as: "kept \(number)")
      }
      let generations = try store.namedGenerations()
      try store.release("kept 0")
      var readCount = 0
      // During one of these syncs, the new header is already readable, but not announced yet.
      fileSystem.onSync = { path in
        guard path.hasSuffix("pages") else { return }
        for number in 1..<3 {
          #expect(throws: Never.self) {
            let generation = try #require(generations["kept \(number)"])
            let keyspace = try store.snapshot(at: generation).keyspace("k")
            for key in 0..<200 { #expect(try keyspace?.get(key) == [UInt8(number)]) }
            readCount += 1
          }
        }
      }
      try store.checkpoint()
      fileSystem.onSync = nil
      #expect(readCount == 4)
    }
  }

  /// The run advances the page file past the header from which the search started.
  ///
  /// The run also deletes the segments that precede the state of the new header.
  @Test(.evidence("I1"), .evidence("I5"))
  func `finds its pages when a run starts at any moment of the search`() throws {
    var moment = 0
    var isOver = false
    while !isOver {
      moment += 1
      let fileSystem = ObservedFileSystem(MemoryFileSystem())
      var options = StoreOptions()
      options.checkpointLogByteCount = 0
      options.segmentByteCount = 64 << 10
      try StoreFixture.on(fileSystem, options).run { store in
        for number in 1...3 {
          for key in 0..<60 { try store.write { try $0.keyspace("k").put(key, [UInt8(number)]) } }
          try store.keep(try store.snapshot().generation, as: "kept \(number)")
        }
        let generation = try #require(try store.namedGenerations()["kept 2"])
        try store.checkpoint()
        try store.release("kept 1")
        var readCount = 0
        fileSystem.onRead = { _, _ in
          readCount += 1
          guard readCount == moment else { return }
          #expect(throws: Never.self) { try store.checkpoint() }
        }
        let keyspace = try store.snapshot(at: generation).keyspace("k")
        isOver = readCount < moment
        fileSystem.onRead = nil
        for key in 0..<60 { #expect(try keyspace?.get(key) == [2], "moment \(moment)") }
      }
    }
    #expect(moment >= 5)
  }
}
