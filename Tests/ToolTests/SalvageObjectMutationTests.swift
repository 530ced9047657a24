import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Salvage of a store of objects with changed files")
struct SalvageObjectMutationTests {
  private static let image: StoreImage = {
    do {
      let objects = try SalvageObjects(authorCount: 12, bookCount: 90)
      return StoreImage(try objects.fixture.allBytes(), pageByteCount: 4096)
    } catch {
      preconditionFailure("the store of objects could not be created: \(error)")
    }
  }()

  /// Changes one to eight bits or numbers anywhere in the files.
  private func changed(seed: UInt64, repairs: Bool) -> [String: [UInt8]] {
    var image = Self.image
    var mutator = Mutator(seed: seed)
    var generator = SeededGenerator(seed: seed)
    for _ in 0...generator.below(8) { image.apply(mutator.edit(of: image)) }
    if repairs { image.repairHashes() }
    return image.files
  }

  private func salvage(_ files: [String: [UInt8]], _ context: String) throws -> Bool {
    let disk = MemoryFileSystem()
    let broken = StoreFixture.on(disk)
    for (name, bytes) in files { try broken.write(bytes, to: name) }
    do {
      let report = try StoreSalvage(of: broken.path, to: "/new", on: disk).run {
        store, report in _ = try ObjectRepair.run(store, &report)
      }
      let store = try Store(at: "/new", options: broken.options, fileSystem: disk)
      #expect(try store.verify().findings == [], "\(context)")
      try store.close()
      return report.isComplete
    } catch let error as StorageError {
      #expect(error.kind == .notAStore || error.kind == .incompatibleFormat, "\(context): \(error)")
      return false
    }
  }

  @Test(arguments: 0..<TestScale.pick(quick: 2, all: 4, long: 8))
  func `gives a report or an error`(group: Int) throws {
    let count = TestScale.pick(quick: 25, all: 30, long: 400)
    var completeCount = 0
    for number in 0..<count {
      let seed = UInt64(group * 100_000 + number)
      let files = changed(seed: seed, repairs: seed % 2 == 1)
      if try salvage(files, "seed \(seed)") { completeCount += 1 }
    }
    print("salvaged stores of objects: \(count), of which \(completeCount) are complete")
  }

  @Test func `is complete without changes`() throws {
    #expect(try salvage(Self.image.files, "unchanged"))
  }
}
