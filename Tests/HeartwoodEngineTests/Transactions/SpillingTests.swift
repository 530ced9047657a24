import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A transaction larger than its memory")
struct SpillingTests {
  private struct Aborted: Error {}

  @Test(
    .evidence("I4"), arguments: [StoreOptions.Access.mapped, .buffered], [4096, 65536])
  func `reads its own changes and commits them all`(
    access: StoreOptions.Access, pageByteCount: Int
  ) throws {
    let limit = 16
    let fixture = try SpillingFixture.make(
      access, pageByteCount: pageByteCount, memoryPageCount: limit)
    let seed: UInt64 = 1
    let stepCount = TestScale.pick(quick: 150, all: 2500)
    var modelled = ModelledTransaction(seed: seed, pageByteCount: pageByteCount)
    try fixture.runUntilDeath { store in
      try store.write { transaction in
        for _ in 0..<stepCount {
          try modelled.step(&transaction)
          #expect(transaction.memoryPageCount <= limit)
        }
        try modelled.expectShown(by: transaction)
      }
      #expect(store.statistics.activity.loggedPageCount > 5 * limit)
      try modelled.model.expectShown(by: store.snapshot(), "seed \(seed)")
    }
    try fixture.expectReopened(modelled.model)
  }

  @Test(arguments: TestScale.some([4096, 65536]))
  func `accepts a streamed value without keeping it in memory`(pageByteCount: Int) throws {
    // Memory use may exceed the limit by the pages of one chunk and the index pages above them.
    let (limit, slack) = (16, (64 << 10) / pageByteCount + 8)
    let fixture = try SpillingFixture.make(
      .mapped, pageByteCount: pageByteCount, memoryPageCount: limit)
    let chunk = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let count = TestScale.pick(quick: 40, all: 100)
    try fixture.runUntilDeath { store in
      try store.write { transaction in
        try transaction.keyspace("a").put("streamed", byteCount: count * chunk.count) { writer in
          for _ in 0..<count {
            try writer.append(chunk)
            #expect(transaction.memoryPageCount <= limit + slack)
          }
        }
        let complete = [UInt8]((0..<count).map { _ in chunk }.joined())
        try transaction.keyspace("a").put("at once", complete)
        #expect(transaction.memoryPageCount <= limit + slack)
      }
      let keyspace = try #require(try store.snapshot().keyspace("a"))
      let complete = try keyspace.get("at once")
      #expect(complete?.count == count * chunk.count)
      #expect(try keyspace.get("streamed") == complete)
      #expect(complete?.prefix(50_000).elementsEqual(chunk) == true)
    }
  }

  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `can be followed by other large transactions`(access: StoreOptions.Access) throws {
    let fixture = try SpillingFixture.make(access, memoryPageCount: 8)
    var modelled = ModelledTransaction(seed: 2)
    try fixture.runUntilDeath { store in
      for number in 0..<6 {
        try store.write { transaction in
          for _ in 0..<400 { try modelled.step(&transaction) }
        }
        try modelled.model.expectShown(by: store.snapshot(), "commit \(number)")
        if number % 2 == 1 { try store.checkpoint() }
      }
    }
    try fixture.expectReopened(modelled.model)
  }

  @Test func `may spill after every change, and commit without a page left`() throws {
    let fixture = try SpillingFixture.make(.mapped, memoryPageCount: 0)
    try fixture.run { store in
      try store.write { transaction in
        for number in 0..<50 {
          try transaction.keyspace("k\(number % 3)").put(number, [UInt8(number)])
          #expect(transaction.memoryPageCount == 0)
        }
      }
      for number in 0..<50 {
        #expect(try store.snapshot().keyspace("k\(number % 3)")?.get(number) == [UInt8(number)])
      }
    }
  }

  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `keeps the positions of cursors and scans`(access: StoreOptions.Access) throws {
    let fixture = try SpillingFixture.make(access, memoryPageCount: 4)
    let value = [UInt8](repeating: 7, count: 700)
    try fixture.run { store in
      try store.write { transaction in
        let rows = try transaction.keyspace("rows")
        let others = try transaction.keyspace("others")
        for number in 0..<300 { try rows.put(number * 2, value) }
        var next = 0
        try rows.forEach { key, found in
          #expect(try Key.decode(key, as: Int.self) == next)
          #expect(found.array == value)
          // Change both keyspaces during the iteration. The new row is behind the current position,
          // so the iteration must not visit it.
          try others.put(next, value)
          try rows.put(next - 1, value)
          next += 2
          return true
        }
        #expect(next == 600)
        let cursor = rows.cursor()
        var count = 0
        try cursor.moveToLast()
        while cursor.isValid {
          #expect(try cursor.value == value)
          try others.put(1000 + count, value)
          #expect(try cursor.value == value)
          count += 1
          try cursor.moveToPrevious()
        }
        #expect(count == 600)
        #expect(try others.count() == 900)
      }
    }
  }

  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `can be loaded in order from another keyspace`(
    access: StoreOptions.Access
  ) throws {
    let fixture = try SpillingFixture.make(access, memoryPageCount: 4)
    func value(_ number: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(number & 0xFF), count: number % 400 == 3 ? 9000 : number % 300)
    }
    try fixture.run { store in
      try store.write { transaction in
        let loaded = try transaction.keyspace("loaded")
        let others = try transaction.keyspace("others")
        try loaded.load(
          sorted: (0..<3000).lazy.map { number in
            try? others.put(number, [1])
            return (Key(number), value(number))
          })
      }
      let loaded = try #require(try store.snapshot().keyspace("loaded"))
      var number = 0
      try loaded.forEach { _, found in
        #expect(found.array == value(number))
        number += 1
        return true
      }
      #expect(number == 3000)
      #expect(try store.snapshot().keyspace("others")?.count() == 3000)
    }
  }

  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `frees every page of the keyspace that it removes`(access: StoreOptions.Access) throws {
    let fixture = try SpillingFixture.make(access, memoryPageCount: 0)
    try fixture.run { store in
      try store.write { transaction in
        let rows = try transaction.keyspace("rows")
        for number in 0..<400 {
          try rows.put(number, [UInt8](repeating: 1, count: number % 20 == 0 ? 9000 : 300))
        }
        try transaction.removeKeyspace("rows")
        #expect(transaction.memoryPageCount == 0)
        try transaction.keyspace("rows").put("new", [2])
      }
      #expect(try store.snapshot().keyspace("rows")?.count() == 1)
      try store.write { try $0.keyspace("rows").put("next", [2]) }
    }
  }

  // MARK: Aborting

  @Test(.evidence("D5"), .evidence("D6"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `leaves nothing behind when it is rolled back`(access: StoreOptions.Access) throws {
    let fixture = try SpillingFixture.make(access, memoryPageCount: 8)
    var modelled = ModelledTransaction(seed: 3)
    try fixture.runUntilDeath { store in
      try store.write { transaction in
        for _ in 0..<100 { try modelled.step(&transaction) }
      }
      for round in 0..<TestScale.pick(quick: 3, all: 6) { try abort(store, round, &modelled) }
    }
    try fixture.expectReopened(modelled.model)
  }

  private func abort(
    _ store: Store, _ round: Int, _ modelled: inout ModelledTransaction
  ) throws {
    let before = modelled.model
    let generation = store.statistics.newestGeneration
    #expect(throws: Aborted.self) {
      try store.write { transaction in
        for _ in 0..<300 { try modelled.step(&transaction) }
        try modelled.expectShown(by: transaction)
        throw Aborted()
      }
    }
    modelled.model = before
    #expect(store.statistics.newestGeneration == generation)
    try before.expectShown(by: store.snapshot(), "round \(round)")
    // These changes reuse frames of the rolled-back transaction, from which that transaction has
    // already read its own pages.
    try store.write { transaction in
      for _ in 0..<(round % 2 == 0 ? 10 : 300) { try modelled.step(&transaction) }
    }
    try modelled.model.expectShown(by: store.snapshot(), "round \(round)")
  }

  @Test(.evidence("B1"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `leaves no page marked as verified when it is rolled back`(
    access: StoreOptions.Access
  ) throws {
    // No pages are kept in memory, so each page is read back from the log before it is changed
    // again.
    let fixture = try SpillingFixture.make(access, memoryPageCount: 0)
    try fixture.run { store in
      try store.write { try $0.keyspace("rows").put(0, [0]) }
      var counts: [Int] = []
      for _ in 0..<3 {
        let before = store.statistics.activity.verifiedPageCount
        #expect(throws: Aborted.self) {
          try store.write { transaction in
            let rows = try transaction.keyspace("rows")
            for number in 0..<60 { try rows.put(number, [UInt8](repeating: 1, count: 500)) }
            throw Aborted()
          }
        }
        counts.append(store.statistics.activity.verifiedPageCount - before)
      }
      // Each attempt uses the same frames as the previous one, but must verify all pages again.
      #expect(counts[1] > 60)
      #expect(counts[1] == counts[2])
    }
  }

  @Test func `frees its disk space when it is rolled back`() throws {
    let fixture = try SpillingFixture.make(.mapped, memoryPageCount: 8)
    let store = try fixture.open()
    try store.write { try $0.keyspace("rows").put(-1, [0]) }
    func logByteCount() throws -> Int {
      try fixture.names().filter { $0.hasPrefix("wal-") }
        .reduce(0) { try $0 + fixture.bytes(of: $1).count }
    }
    let before = try logByteCount()
    func fill(_ transaction: inout WriteTransaction) throws {
      for number in 0..<600 {
        try transaction.keyspace("rows").put(number, [UInt8](repeating: 1, count: 900))
      }
    }
    for _ in 0..<2 {
      #expect(throws: Aborted.self) {
        try store.write { transaction in
          try fill(&transaction)
          throw Aborted()
        }
      }
      #expect(try logByteCount() <= before)
    }
    // Segments with the same numbers are allocated again.
    try store.write { try fill(&$0) }
    #expect(try store.snapshot().keyspace("rows")?.count() == 601)
    try StoreFixture.expectSound(store)
    try store.close()
    let count = try fixture.run { try $0.snapshot().keyspace("rows")?.count() }
    #expect(count == 601)
  }

  /// A page is changed, is spilled in a savepoint on behalf of the enclosing transaction, and is
  /// then freed in the savepoint.
  ///
  /// In an earlier version, the writer's index then listed the frame that the page had before the
  /// transaction. All other processes used the spilled frame. A maintenance run that had read the
  /// log reclaimed the older frame. The next map, which was made from the writer's index, still
  /// listed this frame.
  @Test(.evidence("X4")) func `has the same frames for its writer and for a reader of the log`()
    throws
  {
    try SpillingFixture.make(.mapped, memoryPageCount: 8).run { store in
      try store.write { transaction in
        let rows = try transaction.keyspace("a")
        for number in 0..<700 { try rows.put(number, [UInt8](repeating: 1, count: 100)) }
      }
      try store.write { transaction in
        let rows = try transaction.keyspace("a")
        for number in 100..<200 { try rows.put(number, [UInt8](repeating: 2, count: 100)) }
        try transaction.savepoint { _ in
          for number in 100..<200 { try rows.delete(number) }
          // Change more pages than fit in memory, without reusing the pages that were freed above.
          for number in 200..<700 { try rows.put(number, [UInt8](repeating: 3, count: 100)) }
        }
      }
      let state = try store.snapshot().state
      let read = try store.files.located(at: state.generation, isMapped: false).walk
      #expect(state.index.frames() == read.index.frames())
    }
  }
}
