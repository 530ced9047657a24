import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that compaction removes free pages from the middle of the page file.
@Suite("Compacting a store")
struct CompactionTests {
  private typealias Content = [String: [Int: [UInt8]]]

  private func options(_ pageByteCount: Int) -> StoreOptions {
    var options = StoreOptions()
    options.pageByteCount = pageByteCount
    options.durability = .normal
    options.segmentByteCount = pageByteCount * 256
    return options
  }

  /// Fills a store with keyspaces, rows and large values, then deletes most of them.
  private func fill(_ store: Store, _ random: inout SeededGenerator) throws -> Content {
    var content: Content = [:]
    for round in 0..<6 {
      try store.write { transaction in
        for _ in 0..<200 {
          let name = ["a", "b", "c", "d"][random.below(4)]
          let key = random.below(2000)
          let isLarge = random.isTrue(in256: 12)
          let value = random.bytes(random.below(isLarge ? 40_000 : 300))
          try transaction.keyspace(name).put(key, value)
          content[name, default: [:]][key] = value
        }
        try transaction.keyspace("only \(round)").put(1, random.bytes(5000))
        try transaction.keyspace("large").put(round, random.bytes(300_000))
      }
      if random.isTrue(in256: 100) { try store.checkpoint() }
    }
    try store.write { transaction in
      for round in 0..<6 where round != 4 { try transaction.removeKeyspace("only \(round)") }
      for round in 0..<5 { try transaction.keyspace("large").delete(round) }
      for (name, rows) in content.sorted(by: { $0.key < $1.key }) {
        for key in rows.keys.sorted() where !random.isTrue(in256: 50) {
          try transaction.keyspace(name).delete(key)
          content[name]?[key] = nil
        }
      }
    }
    return content
  }

  private func expect(
    _ content: Content, in store: Store, _ sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try expect(content, in: try store.snapshot(), sourceLocation)
  }

  private func expect(
    _ content: Content, in snapshot: Snapshot, _ sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for (name, rows) in content {
      let keyspace = try #require(try snapshot.keyspace(name))
      #expect(try keyspace.count() == rows.count, sourceLocation: sourceLocation)
      for (key, value) in rows {
        #expect(try keyspace.get(key) == value, sourceLocation: sourceLocation)
      }
    }
  }

  @Test(arguments: [4096, 65_536], TestScale.seeds(quick: 1, all: 6))
  func `leaves no free page and the same content`(pageByteCount: Int, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture =
      seed % 2 == 0
      ? StoreFixture.inMemory(options(pageByteCount)) : try .onDisk(options(pageByteCount))
    var content: Content = [:]
    try fixture.run { store in
      content = try fill(store, &random)
      try store.checkpoint()
      let before = try store.verify()
      #expect(before.freePageCount > 20, "seed \(seed)")
      let result = try store.compact()
      let report = try store.verify()
      #expect(report.findings == [], "seed \(seed)")
      #expect(report.freePageCount == 0, "seed \(seed)")
      #expect(report.pageCount == before.pageCount - before.freePageCount, "seed \(seed)")
      #expect(result.pageCountBefore == before.pageCount)
      #expect(result.pageCount == report.pageCount)
      #expect(result.movedPageCount > 0)
      #expect(result.blockingGeneration == nil)
      #expect(result.fileByteCount <= result.fileByteCountBefore)
      let needed = Int(Geometry.firstPageOffset) + result.pageCount * pageByteCount
      #expect(result.fileByteCount >= needed)
      #expect(result.fileByteCount <= needed + max(256 << 10, needed / 8))
      try expect(content, in: store)
      // A second compaction finds no pages to move.
      #expect(try store.compact().movedPageCount == 0)
    }
    try fixture.run { store in
      try expect(content, in: store)
      try store.write { try $0.keyspace("a").put(-1, random.bytes(50_000)) }
      #expect(try store.verify().freePageCount == 0)
    }
  }

  @Test(.evidence("I14"), arguments: TestScale.seeds(quick: 2, all: 6))
  func `continues step by step while others write in between`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = StoreFixture.inMemory(options(4096))
    try fixture.run { store in
      var content = try fill(store, &random)
      let held = try store.snapshot()
      let before = content
      var calls: [StoreProgress] = []
      try store.compact(stepByteCount: 4096 * (5 + random.below(30))) { progress in
        calls.append(progress)
        guard random.isTrue(in256: 60), calls.count < 100 else { return }
        let key = random.below(2000)
        let value = random.bytes(random.below(20_000))
        do {
          try store.write { transaction in
            try transaction.keyspace("a").put(key, value)
            try transaction.removeKeyspace("c")
            for other in random.below(2000)..<2000 { try transaction.keyspace("b").delete(other) }
          }
          content["a"]?[key] = value
          content["c"] = nil
          content["b"] = nil
          try StoreFixture.expectSound(store)
        } catch {
          Issue.record("seed \(seed): \(error)")
        }
      }
      #expect(calls.count > 5, "seed \(seed)")
      #expect(calls.last?.fraction == 1)
      try expect(content, in: store)
      try expect(before, in: held)
      // Compact again, because one run may not have moved everything.
      try store.compact(stepByteCount: 4096 * 20)
      #expect(try store.verify().freePageCount == 0, "seed \(seed)")
      try expect(content, in: store)
      try expect(before, in: held)
    }
  }

  /// The root of the catalog never moves, so only a catalog with many rows has nodes to move.
  @Test func `moves nodes of the catalog and both levels of the index of a value`() throws {
    try StoreFixture.inMemory(options(4096)).run { store in
      let value = [UInt8](repeating: 7, count: 1020 * 4064)
      try store.write { try $0.keyspace("filler").put(1, value + value) }
      try store.write { transaction in
        try transaction.keyspace("large").put(1, value)
        for number in 0..<300 { try transaction.keyspace("\(number)").put(1, [1]) }
      }
      try store.write { try $0.removeKeyspace("filler") }
      #expect(try store.compact().movedPageCount > 1020)
      let report = try store.verify()
      #expect(report.freePageCount == 0)
      #expect(report.keyspaceCount == 301)
      #expect(try store.snapshot().keyspace("large")?.get(1) == value)
      #expect(try store.snapshot().keyspace("299")?.get(1) == [1])
    }
  }

  @Test func `reports which snapshot keeps the file from shrinking`() throws {
    let fixture = try StoreFixture.onDisk(options(4096))
    try fixture.run { store in
      let value = [UInt8](repeating: 1, count: 1 << 20)
      for number in 0..<4 {
        try store.write { try $0.keyspace("large").put(number, value) }
      }
      try store.checkpoint()
      var held: Snapshot? = try store.snapshot()
      let generation = held?.generation
      try store.write { transaction in
        for number in 0..<3 { try transaction.keyspace("large").delete(number) }
      }
      let result = try store.compact()
      #expect(result.blockingGeneration == generation)
      #expect(result.pageCount < result.pageCountBefore - 700)
      #expect(result.fileByteCount >= 4 << 20)
      #expect(try held?.keyspace("large")?.get(0) == value)
      held = nil
      let again = try store.compact()
      #expect(again.blockingGeneration == nil)
      #expect(again.movedPageCount == 0)
      #expect(again.fileByteCount < 2 << 20)
      #expect(try store.snapshot().keyspace("large")?.get(3) == value)
    }
  }

  @Test(.evidence("F1")) func `keeps the moved pages when the disk is full`() throws {
    let disk = SimulatedDisk(seed: 2)
    let fixture = StoreFixture.on(disk, options(4096))
    try fixture.run { store in
      var random = SeededGenerator(seed: 2)
      let content = try fill(store, &random)
      try store.checkpoint()
      let least = try store.verify().pageCount - store.verify().freePageCount
      var progress: StoreProgress?
      let first = disk.callCount + 20
      // Let a write fail, because a sync that fails disables writing.
      disk.onWrite = { [disk] _, _, _ in
        let next = disk.callCount + 1
        guard next >= first, disk.faultPlan.call == nil else { return }
        disk.faultPlan = .failure(.diskFull, atCall: next)
      }
      let error = #expect(throws: StorageError.self) {
        try store.compact(stepByteCount: 4096 * 10) { progress = $0 }
      }
      #expect(error?.kind == .diskFull)
      let moved = try #require(progress)
      #expect(moved.completedPageCount > 10 && moved.fraction < 1)
      disk.onWrite = nil
      disk.faultPlan = FaultPlan()
      try expect(content, in: store)
      try StoreFixture.expectSound(store)
      let rest = try store.compact()
      #expect(rest.movedPageCount <= moved.totalPageCount - moved.completedPageCount)
      #expect(rest.pageCount == least)
      try expect(content, in: store)
    }
  }

  @Test(.evidence("U4")) func `throws for a read-only store`() throws {
    let fixture = try StoreFixture.onDisk(options(4096))
    let store = try fixture.open()
    #expect(try store.compact() == (try store.compact()))
    try store.write { try $0.keyspace("k").put(1, [1]) }
    try StoreFixture.expectSound(store)
    try store.close()
    let closed = #expect(throws: StorageError.self) { try store.compact() }
    #expect(closed?.kind == .closed)
    var reading = fixture.options
    reading.isReadOnly = true
    let reader = try Store(at: fixture.path, options: reading)
    let refused = #expect(throws: StorageError.self) { try reader.compact() }
    #expect(refused?.kind == .readOnly)
    // Copying does not change the store, so a read-only store can be copied too.
    try reader.copy(try reader.snapshot(), to: fixture.path + "-copy")
    let copy = try Store(at: fixture.path + "-copy")
    #expect(try copy.snapshot().keyspace("k")?.get(1) == [1])
    try StoreFixture.expectSound(copy)
  }
}
