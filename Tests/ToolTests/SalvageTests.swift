import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Destroys pages of stores, and compares the salvaged entries with the original entries.
@Suite("Salvage of a store with damaged pages")
struct SalvageTests {
  struct Form: Sendable, CustomTestStringConvertible {
    let pageByteCount: Int
    let isCheckpointed: Bool
    let seed: UInt64

    var testDescription: String {
      "pages of \(pageByteCount) bytes, \(isCheckpointed ? "checkpointed" : "in the log")"
        + ", seed \(seed)"
    }

    func sample() throws -> SalvageSample {
      try SalvageSample(
        pageByteCount: pageByteCount, isCheckpointed: isCheckpointed, seed: seed,
        scale: TestScale.pick(quick: 1, all: 2, long: 4))
    }
  }

  static let forms = TestScale.seeds(quick: 1, all: 2, long: 40).flatMap { seed in
    TestScale.some([4096, 16_384]).flatMap { size in
      [true, false].map { Form(pageByteCount: size, isCheckpointed: $0, seed: seed) }
    }
  }

  /// Salvages the sample after pages were destroyed, and expects exactly the data on intact pages.
  private func expectExact(
    _ sample: SalvageSample, without lost: Set<PageNumber>, _ context: String,
    renaming names: [String: String] = [:]
  ) throws -> SalvageReport {
    let (report, contents) = try sample.salvaged()
    #expect(report.generation.frame == sample.generation, "\(context)")
    var expected: [SalvageEntry: [UInt8]] = [:]
    var missing: Set<SalvageEntry> = []
    for (entry, value) in sample.contents {
      let renamed = SalvageEntry(
        keyspace: names[entry.keyspace] ?? entry.keyspace, key: entry.key)
      let location = try #require(sample.locations[entry])
      if lost.contains(location.leaf) || !lost.isDisjoint(with: location.overflowPages) {
        missing.insert(renamed)
      } else {
        expected[renamed] = value
      }
    }
    let absent = expected.filter { contents[$0.key] == nil }
    let foreign = contents.filter { expected[$0.key] == nil }
    let wrong = expected.filter { entry in contents[entry.key].map { $0 != entry.value } ?? false }
    #expect(absent.isEmpty, "\(context): \(absent.count) entries on intact leaves are missing")
    #expect(foreign.isEmpty, "\(context): \(foreign.count) entries were not in the store")
    #expect(wrong.isEmpty, "\(context): \(wrong.count) entries have other values")
    try expectRanges(report, contents, missing, context)
    #expect(report.isComplete == (missing.isEmpty && names.isEmpty), "\(context)")
    return report
  }

  /// Expects that the ranges in the report contain exactly the missing entries.
  private func expectRanges(
    _ report: SalvageReport, _ contents: [SalvageEntry: [UInt8]], _ missing: Set<SalvageEntry>,
    _ context: String
  ) throws {
    for keyspace in report.keyspaces {
      let gone = missing.filter { $0.keyspace == keyspace.name }.map(\.key)
      let there = contents.keys.filter { $0.keyspace == keyspace.name }.map(\.key)
      #expect(keyspace.entryCount == there.count)
      let damaged = Set(keyspace.damagedValues)
      for key in gone {
        #expect(
          damaged.contains(key) || keyspace.missing.contains { $0.contains(key) },
          "\(context): \(keyspace.name) \(Key(unverified: key)) is not reported")
      }
      #expect(damaged.isSubset(of: Set(gone)), "\(context)")
      for range in keyspace.missing {
        #expect(
          gone.contains { range.contains($0) }, "\(context): nothing is missing in \(range)")
        if !range.isPartial {
          #expect(!there.contains { range.contains($0) }, "\(context): \(range)")
        }
      }
      if let expected = keyspace.expectedCount {
        #expect(expected - keyspace.entryCount == gone.count, "\(context)")
      }
    }
  }

  @Test(arguments: forms) func `copies an intact store`(form: Form) throws {
    let sample = try form.sample()
    #expect(sample.staleLeafCount > 0)
    #expect(sample.pages[.branch]?.isEmpty == false)
    let report = try expectExact(sample, without: [], "intact")
    #expect(report.damagedPageCount == 0)
    #expect(report.notes == [])
  }

  @Test(arguments: forms, [1, 10])
  func `restores the entries on intact leaves`(form: Form, percent: Int) throws {
    let original = try form.sample()
    var generator = SeededGenerator(seed: form.seed)
    for round in 0..<TestScale.pick(quick: 3, all: 4, long: 10) {
      var sample = original
      let pages = sample.usedPages.filter { page in
        // Other tests cover the loss of names and of free space.
        page > 1 && !(sample.pages[.bitmap]?.contains(page) ?? false)
      }
      let lost = Set(pages.filter { _ in generator.below(100) < percent })
      sample.destroy(lost, &generator)
      let report = try expectExact(sample, without: lost, "round \(round)")
      #expect(report.damagedPageCount == lost.count)
    }
  }

  @Test(arguments: forms) func `finds checkpointed pages in the log`(form: Form) throws {
    var sample = try form.sample()
    var generator = SeededGenerator(seed: form.seed)
    let count = sample.destroyCopies(&generator)
    let (report, contents) = try sample.salvaged()
    // Images whose group headers are in deleted segments cannot be attributed to a generation.
    #expect(report.damagedPageCount < count)
    #expect(contents.allSatisfy { sample.contents[$0.key] == $0.value })
  }

  @Test(arguments: forms) func `needs no branch`(form: Form) throws {
    var sample = try form.sample()
    var generator = SeededGenerator(seed: form.seed)
    sample.destroy(Set(sample.pages[.branch] ?? []), &generator)
    let report = try expectExact(sample, without: [], "without branches")
    #expect(report.isComplete)
  }

  /// The parents of branches, or the catalog, are lost, and so are branches below them.
  @Test(arguments: TestScale.seeds(quick: 4, all: 8, long: 200))
  func `needs few branches of a tall tree`(seed: UInt64) throws {
    var sample = try SalvageSample.ofTallTree(seed: seed)
    var generator = SeededGenerator(seed: seed)
    let top = try #require(sample.levels.values.max())
    #expect(top >= 3)
    let losesCatalog = seed % 2 == 0
    var lost: Set<PageNumber> = losesCatalog ? [1] : []
    for (page, level) in sample.levels.sorted(by: { $0.key < $1.key })
    where generator.below(4) == 0 || (level == top && !losesCatalog) { lost.insert(page) }
    sample.destroy(lost, &generator)
    let contents = try sample.salvaged().contents
    #expect(
      Dictionary(uniqueKeysWithValues: contents.map { ($0.key.key, $0.value) })
        == Dictionary(uniqueKeysWithValues: sample.contents.map { ($0.key.key, $0.value) }))
  }

  @Test(arguments: forms) func `names keyspaces without a catalog by their trees`(form: Form) throws
  {
    var sample = try form.sample()
    var generator = SeededGenerator(seed: form.seed)
    sample.destroy([1], &generator)
    let names = sample.trees.mapValues { "lost.\($0)" }
    let report = try expectExact(sample, without: [1], "without catalog", renaming: names)
    #expect(report.hasLostNames)
    #expect(Set(report.keyspaces.map(\.name)) == Set(names.values))
  }

  @Test(arguments: forms)
  func `finds the leaves in use without bitmaps`(form: Form) throws {
    var sample = try form.sample()
    var generator = SeededGenerator(seed: form.seed)
    let bitmaps = Set(sample.pages[.bitmap] ?? [])
    sample.destroy(bitmaps, &generator)
    let report = try expectExact(sample, without: bitmaps, "without bitmaps")
    #expect(report.isComplete)
    // If leaves are lost too, stale leaves must not fill the ranges of the lost leaves.
    let lost = Set((sample.pages[.leaf] ?? []).filter { $0 > 1 && generator.below(10) == 0 })
    sample.destroy(lost, &generator)
    _ = try expectExact(sample, without: lost.union(bitmaps), "without bitmaps and leaves")
  }

  @Test(arguments: forms)
  func `counts doubtful entries without bitmaps and branches`(form: Form) throws {
    var sample = try form.sample()
    var generator = SeededGenerator(seed: form.seed)
    let lost = Set((sample.pages[.bitmap] ?? []) + (sample.pages[.branch] ?? []))
    sample.destroy(lost, &generator)
    let (report, contents) = try sample.salvaged()
    for (entry, value) in sample.contents { #expect(contents[entry] == value) }
    let foreignCount = contents.keys.count { sample.contents[$0] == nil }
    let doubtfulCount = report.keyspaces.reduce(0) { $0 + $1.doubtfulCount }
    #expect(foreignCount <= doubtfulCount)
    #expect(!report.isComplete)
  }

  /// Destroys pages of all kinds, and bytes at random positions of all files.
  @Test(arguments: forms, [1, 5, 30])
  func `restores no other entries, whatever is damaged`(form: Form, percent: Int) throws {
    let original = try form.sample()
    var generator = SeededGenerator(seed: form.seed &+ UInt64(percent))
    for round in 0..<TestScale.pick(quick: 3, all: 4, long: 10) {
      var sample = original
      let lost = Set(sample.usedPages.filter { _ in generator.below(100) < percent })
      sample.destroy(lost, &generator)
      let names = sample.files.keys.sorted()
      for _ in 0..<round {
        let name = names[generator.below(names.count)]
        let count = sample.files[name]?.count ?? 0
        guard count > 0 else { continue }
        let offset = generator.below(count)
        sample.overwrite(name, offset, 1 + generator.below(600), &generator)
      }
      let (report, contents) = try sample.salvaged()
      guard report.generation.frame == sample.generation else {
        // If the header of the last commit was overwritten, the commit looks like one cut off by a
        // crash.
        #expect(round > 0, "round \(round)")
        continue
      }
      let doubtfulCount = report.keyspaces.reduce(0) { $0 + $1.doubtfulCount }
      let lostNames = Set(report.keyspaces.filter(\.hasLostName).map(\.name))
      let foreign = contents.filter {
        !lostNames.contains($0.key.keyspace) && sample.contents[$0.key] != $0.value
      }
      #expect(foreign.count <= doubtfulCount, "round \(round)")
      if report.isComplete { #expect(contents == sample.contents, "round \(round)") }
      guard round == 0 else { continue }
      // Only pages were destroyed, so all entries on the other pages must exist.
      let found = Set(report.keyspaces.map(\.name))
      let absent = sample.contents.filter { entry, value in
        guard found.contains(entry.keyspace), let location = sample.locations[entry],
          !lost.contains(location.leaf), lost.isDisjoint(with: location.overflowPages)
        else { return false }
        return contents[entry] != value
      }
      #expect(absent.count <= doubtfulCount, "round \(round)")
    }
  }

  @Test(arguments: forms) func `needs no header slot`(form: Form) throws {
    let original = try form.sample()
    var generator = SeededGenerator(seed: form.seed)
    let offsets = HeaderSlotLayout.offsets.map { Int($0) }
    for damaged in [[offsets[0]], [offsets[1]], offsets] {
      var sample = original
      for offset in damaged {
        sample.overwrite("pages", offset, HeaderSlotLayout.byteCount, &generator)
      }
      let report = try expectExact(sample, without: [], "slots at \(damaged)")
      #expect(!report.notes.isEmpty)
    }
  }

  @Test(arguments: forms) func `needs no header of any file`(form: Form) throws {
    var sample = try form.sample()
    for offset in HeaderSlotLayout.offsets {
      sample.files["pages"]?[Int(offset) + HeaderSlotLayout.hash.offset] ^= 1
    }
    for name in sample.files.keys where name.hasPrefix("wal-") {
      sample.files[name]?[SegmentLayout.hash.offset] ^= 1
    }
    _ = try expectExact(sample, without: [], "all headers")
  }

  @Test(arguments: forms)
  func `needs neither counters nor locks`(form: Form) throws {
    var sample = try form.sample()
    for name in ["counters", "locks", "holders", "reserve", "map", "kept"] { sample.remove(name) }
    #expect(try expectExact(sample, without: [], "few files").isComplete)
  }

  @Test(arguments: forms) func `reads a truncated page file`(form: Form) throws {
    var sample = try form.sample()
    let count = (sample.usedPages.last ?? 0) / 2
    let lost = Set(sample.usedPages.filter { $0 >= count && sample.isInPageFile($0) })
    // The log must not contain copies of the pages.
    var generator = SeededGenerator(seed: form.seed)
    sample.destroy(lost, &generator)
    sample.cut("pages", to: Int(sample.geometry.offset(ofPage: count)) + 100)
    _ = try expectExact(sample, without: lost, "truncated")
  }

  @Test(arguments: TestScale.seeds(quick: 2, all: 4, long: 20))
  func `shows the commit before a hole in the log`(seed: UInt64) throws {
    var sample = try SalvageSample(pageByteCount: 4096, isCheckpointed: false, seed: seed)
    let segments = sample.files.keys.filter { $0.hasPrefix("wal-") }.sorted()
    #expect(segments.count > 1)
    sample.remove(segments[0])
    let (report, contents) = try sample.salvaged()
    #expect(report.hasLostCommits)
    #expect(!report.isComplete)
    #expect(report.generation.frame < sample.generation)
    #expect(!contents.isEmpty)
  }

  @Test func `rejects an open store and an existing path`() throws {
    let fixture = StoreFixture.inMemory()
    let store = try fixture.open()
    try store.write { try $0.keyspace("a").put(1, [1]) }
    #expect {
      try StoreSalvage(of: fixture.path, to: "/new", on: fixture.fileSystem).run()
    } throws: { ($0 as? StorageError)?.kind == .busy }
    #expect(try fixture.fileSystem.list("/new") == nil)
    try store.close()
    try fixture.fileSystem.createDirectory("/new")
    #expect {
      try StoreSalvage(of: fixture.path, to: "/new", on: fixture.fileSystem).run()
    } throws: { ($0 as? StorageError)?.kind == .invalidArgument }
    let report = try StoreSalvage(of: fixture.path, to: "/newer", on: fixture.fileSystem).run()
    #expect(report.isComplete)
  }

  @Test func `rejects a directory without a store`() throws {
    let disk = MemoryFileSystem()
    try disk.createDirectory("/store")
    for path in ["/store", "/absent"] {
      #expect {
        try StoreSalvage(of: path, to: "/new", on: disk).run()
      } throws: { ($0 as? StorageError)?.kind == .notAStore }
    }
  }
}

extension SalvageReport.MissingRange {
  func contains(_ key: [UInt8]) -> Bool {
    (after.map { Key(unverified: $0) < Key(unverified: key) } ?? true)
      && (before.map { Key(unverified: key) < Key(unverified: $0) } ?? true)
  }
}
