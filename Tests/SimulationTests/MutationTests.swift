import HeartwoodTestSupport
import Testing

/// Tests stores whose files were changed.
///
/// The files of complete stores are changed, and the stores are then opened, read in full, verified
/// and written to. In half of the cases, the hashes are recomputed, so that the code behind the
/// hash checks is reached too. Every operation must return correct data or throw a `StorageError`.
/// A trap or an invalid memory access would end the test process.
@Suite("A store with changed files")
struct MutationTests {
  private static func seed(_ group: Int, _ number: Int) -> UInt64 {
    TestScale.firstSeed * 1_000_000 + UInt64(group * 100_000 + number)
  }

  /// Uses the damaged store, and returns whether it threw an error.
  ///
  /// The test fails if the engine misbehaves.
  private func metError(_ damage: StoreDamage, _ context: String) throws -> Bool {
    let result = try damage.run()
    #expect(result.findings == [], "\(context): \(damage)")
    return result.metError
  }

  /// Changes only footers, so that each of their fields is covered.
  @Test(.evidence("B2"), .evidence("B3"), arguments: 0..<4)
  func `returns correct data or an error when footers are wrong`(group: Int) throws {
    for number in 0..<TestScale.pick(quick: 2, all: 60, long: 480) {
      let seed = Self.seed(group, number)
      var mutator = Mutator(seed: seed)
      _ = try metError(mutator.footerDamage(sample: 0, repairs: seed % 2 == 1), "seed \(seed)")
    }
  }

  /// Changes numbers in nodes, in the catalog, in the map and in the list of named generations, and
  /// makes cells overlap.
  @Test(.evidence("B2"), .evidence("B3"), arguments: Mutator.Aim.allCases)
  func `returns correct data or an error for aimed changes`(aim: Mutator.Aim) throws {
    var (tried, refused) = (0, 0)
    for number in 0..<TestScale.pick(quick: 8, all: 100, long: 800) {
      var mutator = Mutator(seed: Self.seed(0, number))
      let damage = mutator.aimedDamage(
        aim, sample: number % SampleStore.all.count, isSameBoot: number % 3 == 0)
      // The sample contains nothing to aim at. For example, it may have no map.
      guard !damage.edits.isEmpty else { continue }
      tried += 1
      if try metError(damage, "\(aim), seed \(Self.seed(0, number))") { refused += 1 }
    }
    print("aimed at \(aim): \(refused) of \(tried) caused an error")
    #expect(refused > 2)
    // Overlapping cells are rejected whenever they are read, but some of these leaves are in free
    // pages, which are not read.
    if aim == .cells { #expect(refused * 4 > tried * 3) }
  }

  @Test(
    .evidence("B1"), .evidence("B2"), .evidence("B3"), .evidence("D10"),
    arguments: 0..<TestScale.pick(quick: 5, all: 8))
  func `returns correct data or an error`(group: Int) throws {
    let count = TestScale.pick(quick: 3, all: 80, long: 640)
    var refused = 0
    for number in 0..<count {
      let seed = Self.seed(group, number)
      var mutator = Mutator(seed: seed)
      let damage = mutator.damage(
        sample: group % SampleStore.all.count, repairs: seed % 2 == 1, isSameBoot: seed % 4 > 1)
      if try metError(damage, "seed \(seed)") { refused += 1 }
    }
    print("mutants: \(count), of which \(refused) caused an error (group \(group))")
    #expect(count < 20 || refused > 0)
  }

  @Test(.evidence("B1"), .evidence("B2"), arguments: SampleStore.all.indices)
  func `is sound and shows its contents when nothing was changed`(sample: Int) throws {
    for isSameBoot in [false, true] {
      let damage = StoreDamage(sample: sample, repairs: true, isSameBoot: isSameBoot, edits: [])
      #expect(try !metError(damage, "sample \(sample)"))
      // If the files are unchanged, recomputing their hashes must not change them.
      var image = damage.store.image
      image.repairHashes()
      let isUnchanged = image.files == damage.store.image.files
      #expect(isUnchanged)
    }
  }

  @Test(.evidence("B2"))
  func `detects every flipped byte of a small page file it reads`() throws {
    let image = SampleStore.all[0].image
    let file = try #require(image.names.firstIndex(of: "pages"))
    for page in try #require(image.usedPages["pages"]) {
      // Use different offsets in each page, so that fields of all kinds are covered.
      let step = TestScale.pick(quick: 27_011, all: 997, long: 61)
      for offset in stride(from: page % step, to: image.pageByteCount, by: step) {
        let edit = StoreEdit(.flip, file: file, page: page, offset: offset, value: 0x20)
        let damage = StoreDamage(sample: 0, repairs: false, edits: [edit])
        _ = try metError(damage, "byte \(offset) of page \(page) of the file")
      }
    }
  }
}
