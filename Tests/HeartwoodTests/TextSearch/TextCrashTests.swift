import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Text indexes after power cuts and damage")
struct TextCrashTests {
  /// Expects that the text index of a store equals its rows, and that searches agree with it.
  private func expectIntact(_ container: PersistentContainer, _ label: Comment) throws {
    let findings = try container.verifyTextIndexes()
    #expect(findings == [], label)
    let context = container.newContext()
    let all = try context.fetch(FetchRequest<Essay>())
    for word in ["the", "sea", "storm"] {
      let found = try context.fetch(FetchRequest<Essay>(matching: .word(word)))
      let expected = all.filter { TextReference($0).matches(.word(word)) }
      #expect(Set(found) == Set(expected), label)
    }
  }

  @Test(.evidence("TX-08"), .mustEnd, arguments: TestScale.seeds(quick: 1, all: 3))
  func `a power cut leaves the index and the rows of one save`(seed: UInt64) throws {
    let store = EvolvingStore(SimulatedDisk(seed: seed))
    try store.open(essays) { context in
      var random = SeededGenerator(seed: seed)
      for _ in 0..<30 { Essay(context: context).body = random.words(1...8) }
    }
    func change(_ context: ManagedObjectContext) throws {
      var random = SeededGenerator(seed: seed &+ 1)
      for round in 0..<6 {
        // The last saves are large, so they merge the words of the first saves into the posting
        // lists.
        for _ in 0..<(round < 4 ? 2 : 20) { Essay(context: context).title = random.words(1...8) }
        try context.fetch(FetchRequest<Essay>(matching: .word("sea"))).first.map(context.delete)
        try context.save()
      }
    }
    let whole = store.disk.crashed(.everything)
    try EvolvingStore(whole).open(essays) { try change($0) }
    for call in stride(from: 1, through: whole.callCount, by: TestScale.pick(quick: 5, all: 1)) {
      let disk = store.disk.crashed(.everything)
      disk.faultPlan = .powerCut(atCall: call, leavesPart: call % 2 == 0)
      do { try EvolvingStore(disk).open(essays) { try change($0) } } catch is StorageError {}
      let modes = CrashMode.allCases
      for choice in [CrashChoice.nothing, .seeded(UInt64(call), modes[call % modes.count])] {
        try EvolvingStore(disk.crashed(choice)).withContainer(essays) { container in
          try expectIntact(container, "seed \(seed), call \(call)")
        }
      }
    }
  }

  @Test(.spawning, .evidence("TX-05"), .evidence("TX-08"), .mustEnd)
  func `searches find changes of other processes, except in a pinned context`() async throws {
    let scratch = try ScratchDirectory()
    let path = scratch.path(of: "store")
    let container = try PersistentContainer(url: URL(filePath: path), schema: essays)
    let first = container.newContext()
    for _ in 0..<40 { Essay(context: first).body = "storm sea" }
    try first.save()
    let pinned = try container.newContext(pinnedTo: .current)
    let reader = container.newContext()
    let storms = FetchRequest<Essay>(matching: .word("storm"))
    for context in [reader, pinned] { #expect(try context.count(for: storms) == 40) }
    // Save so often that the pending entries are merged into the index.
    for seed in 0..<2 as Range<UInt64> {
      await #expect(processExitsWith: .success) { [path = path as String, seed = seed as UInt64] in
        let container = try PersistentContainer(url: URL(filePath: path), schema: essays)
        let context = container.newContext()
        var random = SeededGenerator(seed: seed)
        for round in 0..<200 {
          Essay(context: context).body = random.words(3...10)
          let storms = FetchRequest<Essay>(matching: .word("storm"), limit: 3)
          if let storm = try context.fetch(storms).randomElement(using: &random) {
            if round % 2 == 0 { context.delete(storm) } else { storm.body = random.words(1...5) }
          }
          try context.save()
        }
        try container.store.close()
      }
      let all = try reader.fetch(FetchRequest<Essay>())
      for word in ["storm", "sea", "the"] {
        let found = try reader.fetch(FetchRequest<Essay>(matching: .word(word)))
        #expect(Set(found) == Set(all.filter { TextReference($0).matches(.word(word)) }))
      }
      #expect(all.count > 100)
    }
    #expect(try pinned.count(for: storms) == 40)
    #expect(try pinned.fetch(storms).allSatisfy { $0.body == "storm sea" })
    #expect(try container.verifyTextIndexes() == [])
    withExtendedLifetime(first) {}
  }

  @Test(.evidence("TX-13")) func `salvage builds text indexes from the rows`() throws {
    let scratch = try ScratchDirectory()
    let (source, target) = (scratch.path(of: "store"), scratch.path(of: "salvaged"))
    try salvage(essays, source, target) { context in
      var random = SeededGenerator(seed: 5)
      for _ in 0..<1500 { Essay(context: context).body = random.words(5...20) }
    }
    let salvaged = try PersistentContainer(url: URL(filePath: target), schema: essays)
    try expectIntact(salvaged, "salvaged")
    #expect(try salvaged.newContext().count(for: FetchRequest<Essay>()) > 200)
  }

  @Test(.evidence("TX-13"))
  func `a salvaged store with derived attributes rebuilds indexes with custom tokenizers`() throws {
    let scratch = try ScratchDirectory()
    let (source, target) = (scratch.path(of: "store"), scratch.path(of: "salvaged"))
    let verses = Schema(Verse.self)
    try salvage(verses, source, target) { context in
      var random = SeededGenerator(seed: 6)
      for _ in 0..<1500 { Verse(context: context).text = random.words(5...20) }
    }
    let salvaged = try PersistentContainer(url: URL(filePath: target), schema: verses)
    #expect(try salvaged.verifyTextIndexes() == [])
    let context = salvaged.newContext()
    let all = try context.fetch(FetchRequest<Verse>())
    let found = try context.count(for: FetchRequest<Verse>(matching: .word("s")))
    #expect(found == all.count { $0.text.contains("s") })
    #expect(all.count > 200)
  }

  /// Fills a store, damages some of its pages, and salvages it.
  private func salvage(
    _ schema: Schema, _ source: String, _ target: String, _ fill: (ManagedObjectContext) -> Void
  ) throws {
    let container = try PersistentContainer(url: URL(filePath: source), schema: schema)
    do {
      let context = container.newContext()
      fill(context)
      try context.save()
      withExtendedLifetime(context) {}
    }
    try container.store.checkpoint()
    try container.store.close()
    // The log still contains the pages that the checkpoint has written back.
    for name in try FileManager.default.contentsOfDirectory(atPath: source)
    where name.hasPrefix("wal-") {
      try FileManager.default.removeItem(atPath: source + "/" + name)
    }
    // Destroy some pages, but none of the pages at the beginning, which contain the model.
    let pages = URL(filePath: source).appending(path: "pages")
    let handle = try FileHandle(forUpdating: pages)
    let count = try handle.seekToEnd() / 4096
    for page in stride(from: count / 8, to: count / 2, by: 40) {
      try handle.seek(toOffset: page * 4096)
      try handle.write(contentsOf: Data(repeating: 0xA5, count: 4096))
    }
    try handle.close()
    let report = try StoreSalvage(of: source, to: target) { _ in }
      .run { store, report in _ = try ObjectRepair.run(store, &report) }
    #expect(!report.isComplete)
  }
}

private final class Verse: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var folded: String = ""

  override class var entity: Entity {
    Entity("Verse") {
      TextIndex(\Verse.text, tokenizer: .custom(Letters()))
      Derived(\Verse.folded, .canonical(\.text))
    }
  }
}
