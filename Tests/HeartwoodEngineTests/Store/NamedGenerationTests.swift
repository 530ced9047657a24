import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A named generation")
struct NamedGenerationTests {
  private static func put(_ store: Store, _ value: UInt8, count: Int = 100) throws -> Generation {
    try store.write { try $0.keyspace("a").put("key", [UInt8](repeating: value, count: count)) }
  }

  private static func value(_ store: Store, _ generation: Generation) throws -> UInt8? {
    try store.snapshot(at: generation).keyspace("a")?.get("key")?.first
  }

  private static func kind(_ body: () throws -> Void) -> StorageError.Kind? {
    do {
      try body()
      return nil
    } catch {
      return (error as? StorageError)?.kind
    }
  }

  @Test(.evidence("K1"), .evidence("K2"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `stays readable across restarts and checkpoints until it is released`(
    access: StoreOptions.Access
  ) throws {
    var options = StoreOptions()
    options.access = access
    options.segmentByteCount = 1 << 20
    let fixture = try StoreFixture.onDisk(options)
    var generations: [Generation] = []
    for round in 0..<4 {
      try fixture.run { store in
        for (number, generation) in generations.enumerated() {
          #expect(try store.namedGenerations()["round \(number)"] == generation)
          #expect(try Self.value(store, generation) == UInt8(number))
        }
        let generation = try Self.put(store, UInt8(round))
        try store.keep(generation, as: "round \(round)")
        generations.append(generation)
        for _ in 0..<100 { _ = try Self.put(store, 99, count: 20_000) }
        try store.checkpoint()
        #expect(store.statistics.oldestHeldGeneration?.generation == generations[0])
        #expect(store.statistics.oldestHeldGeneration?.names == ["round 0"])
      }
    }
    try fixture.run { store in
      for number in generations.indices { try store.release("round \(number)") }
      #expect(try store.namedGenerations().isEmpty)
      try store.checkpoint()
      #expect(store.statistics.checkpointedGeneration == store.statistics.newestGeneration)
      #expect(store.statistics.oldestHeldGeneration == nil)
      for generation in generations {
        #expect(Self.kind { _ = try store.snapshot(at: generation) } == .generationExpired)
      }
    }
    // A released generation does not become readable again in the next process.
    try fixture.run { store in
      for generation in generations {
        #expect(Self.kind { _ = try store.snapshot(at: generation) } == .generationExpired)
      }
    }
  }

  @Test(.evidence("K2")) func `is retained until its last name is released`() throws {
    try StoreFixture.inMemory().run { store in
      let generation = try Self.put(store, 1)
      try store.keep(generation, as: "a")
      try store.keep(generation, as: "a")
      try store.keep(generation, as: "b")
      _ = try Self.put(store, 2)
      try store.release("a")
      try store.checkpoint()
      #expect(try Self.value(store, generation) == 1)
      #expect(try store.liveGenerations().map(\.names) == [["b"]])
      try store.release("b")
      try store.release("b")
      try store.checkpoint()
      #expect(Self.kind { _ = try store.snapshot(at: generation) } == .generationExpired)
    }
  }

  @Test(.evidence("U3")) func `has a unique name of 1 to 255 bytes`() throws {
    try StoreFixture.inMemory().run { store in
      let first = try Self.put(store, 1)
      try store.keep(first, as: String(repeating: "x", count: 255))
      #expect(Self.kind { try store.keep(first, as: "") } == .tooLarge)
      #expect(
        Self.kind { try store.keep(first, as: String(repeating: "é", count: 128)) } == .tooLarge)
      try store.keep(first, as: "é")
      let second = try Self.put(store, 2)
      #expect(Self.kind { try store.keep(second, as: "é") } == .invalidArgument)
      #expect(try store.namedGenerations()["é"] == first)
    }
  }

  @Test(.evidence("I5")) func `must be readable when it is kept`() throws {
    try StoreFixture.inMemory().run { store in
      let old = try Self.put(store, 1)
      let new = try Self.put(store, 2)
      try store.checkpoint()
      #expect(Self.kind { try store.keep(old, as: "old") } == .generationExpired)
      let between = Generation(frame: new.frame - 1)
      #expect(Self.kind { try store.keep(between, as: "between") } == .generationExpired)
      #expect(try store.namedGenerations().isEmpty)
    }
  }

  /// If the map was obsolete, an earlier version searched endlessly for a commit that never
  /// existed.
  @Test(.evidence("I5")) func `may leave an unneeded map behind`() throws {
    try StoreFixture.inMemory().run { store in
      try store.keep(try Self.put(store, 1), as: "x")
      _ = try Self.put(store, 2)
      try store.checkpoint()
      try store.release("x")
      try store.checkpoint()
      let generation = try Self.put(store, 3)
      let between = Generation(frame: generation.frame - 1)
      #expect(Self.kind { _ = try store.snapshot(at: between) } == .generationExpired)
      #expect(try Self.value(store, generation) == 3)
    }
  }

  @Test(.evidence("K2")) func `frees its space on release even if nothing was written since`()
    throws
  {
    var options = StoreOptions()
    options.segmentByteCount = 1 << 20
    options.durability = .normal
    // A segment that background maintenance creates between the two checkpoints would add to the
    // size of the log.
    options.maintenance = .inline
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      try store.keep(try Self.put(store, 0, count: 100), as: "oldest")
      for number in 1..<4 {
        try store.keep(try Self.put(store, UInt8(number), count: 400_000), as: "\(number)")
      }
      _ = try Self.put(store, 9, count: 400_000)
      try store.checkpoint()
      let before = store.statistics.logByteCount
      for number in 1..<4 { try store.release("\(number)") }
      try store.checkpoint()
      // Successive values alternate between two sets of pages. Only the newest image of each page
      // is retained, so the space used by two of the four values is freed.
      #expect(store.statistics.logByteCount <= before - 2 * 400_000)
      #expect(try store.liveGenerations().map(\.names) == [["oldest"]])
    }
  }

  @Test(.evidence("K1")) func `is durable even if its commit was not`() throws {
    let disk = SimulatedDisk(seed: 4)
    let fixture = StoreFixture.on(disk)
    let store = try fixture.open()
    let generation = try store.write(durability: .normal) { try $0.keyspace("a").put("key", [7]) }
    try store.keep(generation, as: "x")
    let after = try StoreFixture.on(disk.crashed(.nothing)).open()
    #expect(try after.namedGenerations() == ["x": generation])
    #expect(try Self.value(after, generation) == 7)
    try StoreFixture.expectSound(after)
  }

  @Test(.evidence("F2")) func `cannot be named or released while writing is disabled`() throws {
    let disk = SimulatedDisk(seed: 4)
    let store = try StoreFixture.on(disk).open()
    let generation = try Self.put(store, 1)
    try store.keep(generation, as: "x")
    disk.faultPlan = .failure(.io, atCall: disk.callCount + 3)
    #expect(Self.kind { try store.keep(generation, as: "y") } == .io)
    #expect(Self.kind { try store.keep(generation, as: "z") } == .writesDisabled)
    #expect(Self.kind { try store.release("x") } == .writesDisabled)
    #expect(try store.namedGenerations()["x"] == generation)
    #expect(try Self.value(store, generation) == 1)
  }

  /// The list on the disk is known to be unchanged, so the store may try again later.
  @Test(.evidence("F1"), .evidence("F6")) func `is not named if the disk is full`() throws {
    let disk = SimulatedDisk(seed: 4)
    try StoreFixture.on(disk).run { store in
      let generation = try Self.put(store, 1)
      disk.faultPlan = .failure(.diskFull, atCall: disk.callCount + 1, isLasting: true)
      #expect(Self.kind { try store.keep(generation, as: "x") } == .diskFull)
      disk.faultPlan = FaultPlan()
      #expect(try store.namedGenerations().isEmpty)
      _ = try Self.put(store, 2)
      try store.keep(generation, as: "x")
      #expect(try Self.value(store, generation) == 1)
    }
  }

  @Test func `is listed in a read-only opening, which cannot change it`() throws {
    var fixture = try StoreFixture.onDisk()
    let generation = try fixture.run { store in
      let generation = try Self.put(store, 1)
      try store.keep(generation, as: "x")
      _ = try Self.put(store, 2)
      try store.checkpoint()
      return generation
    }
    fixture.options.isReadOnly = true
    try fixture.run { store in
      let kept = try store.namedGenerations()
      #expect(kept == ["x": generation])
      let value = try Self.value(store, generation)
      #expect(value == 1)
      #expect(Self.kind { try store.keep(generation, as: "y") } == .readOnly)
      #expect(Self.kind { try store.release("x") } == .readOnly)
    }
  }
}
