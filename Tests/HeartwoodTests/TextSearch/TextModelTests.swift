import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Text searches beside a plain implementation")
struct TextModelTests {
  /// The contexts of a test, and the number of times that an essay was compared with a query.
  private final class Contexts {
    let fixture: TextFixture
    var random: SeededGenerator
    let clean: ManagedObjectContext
    let changed: ManagedObjectContext
    let child: ManagedObjectContext
    let pinned: ManagedObjectContext
    var checkCount = 0

    init(seed: UInt64) throws {
      fixture = try TextFixture()
      random = SeededGenerator(seed: seed)
      clean = fixture.context()
      changed = fixture.context()
      child = ManagedObjectContext(parent: changed)
      pinned = try fixture.container.newContext(pinnedTo: .current)
    }

    /// Creates, changes and deletes random essays.
    func edit(_ context: ManagedObjectContext, new: Int, share: UInt8) throws {
      for essay in try context.fetch(FetchRequest<Essay>()) {
        let choice = UInt8.random(in: 0...255, using: &random)
        guard choice < share else { continue }
        switch choice % 4 {
        case 0: context.delete(essay)
        case 1: essay.title = random.words(0...4)
        case 2: essay.body = choice % 8 == 2 ? nil : random.words(0...30)
        default: essay.rank += 1
        }
      }
      for number in 0..<new {
        let essay = number % 5 == 4 ? Epistle(context: context) : Essay(context: context)
        essay.title = random.words(0...4)
        essay.body = random.words(0...30)
        essay.rank = Int.random(in: 0...3, using: &random)
      }
    }

    /// Compares random queries in all contexts.
    func compare(_ count: Int) throws {
      for number in 0..<count {
        let query = random.query(depth: number % 4)
        for (name, context) in [
          ("clean", clean), ("changed", changed), ("child", child), ("pinned", pinned),
        ] {
          try compare(query, context, "\(name): \(query)", number)
        }
      }
    }

    private func compare(
      _ query: TextReference.Query, _ context: ManagedObjectContext, _ label: String, _ number: Int
    ) throws {
      let all = try context.fetch(FetchRequest<Essay>())
      checkCount += all.count
      let expected = all.filter { TextReference($0).matches(query) }
      let request = FetchRequest<Essay>(
        matching: query.query, sort: [SortDescriptor(\.rank), SortDescriptor(\.title)])
      #expect(Set(try context.fetch(request)) == Set(expected), "\(label)")
      #expect(try context.count(for: request) == expected.count, "\(label)")
      let byRelevance = FetchRequest<Essay>(matching: query.query)
      let ranked = try context.fetch(byRelevance)
      #expect(Set(ranked) == Set(expected), "\(label)")
      var page = byRelevance
      (page.fetchLimit, page.fetchOffset) = (5, 3)
      #expect(try context.fetch(page) == Array(ranked.dropFirst(3).prefix(5)), "\(label)")
      if number % 3 == 0 {
        let both = FetchRequest<Essay>(
          matching: query.query, where: #Predicate { $0.rank > 1 }, sort: [SortDescriptor(\.rank)])
        #expect(Set(try context.fetch(both)) == Set(expected.filter { $0.rank > 1 }), "\(label)")
        var either = FetchRequest<Essay>()
        either.predicate =
          QueryPredicate(matching: query.query) || QueryPredicate(#Predicate { $0.rank == 0 })
        let wanted = all.filter { $0.rank == 0 || TextReference($0).matches(query) }
        #expect(Set(try context.fetch(either)) == Set(wanted), "\(label)")
      }
    }
  }

  @Test(.evidence("TX-05"), .mustEnd, arguments: TestScale.seeds(quick: 1, all: 2, long: 4))
  func `queries find the essays that a plain implementation finds, in every context`(
    seed: UInt64
  ) throws {
    let contexts = try Contexts(seed: seed)
    let first = contexts.fixture.context()
    try contexts.edit(first, new: 300, share: 0)
    try first.save()
    // The pinned context keeps this generation.
    _ = try contexts.pinned.count(for: FetchRequest<Essay>())
    for round in 0..<4 {
      let other = contexts.fixture.context()
      try contexts.edit(other, new: round * 20, share: 60)
      try other.save()
      // Changes to a few rows are merged into the posting lists later.
      for _ in 0..<round * 12 {
        try contexts.edit(other, new: 1, share: 4)
        try other.save()
      }
      contexts.clean.reset()
      contexts.child.reset()
      contexts.changed.reset()
      try contexts.edit(contexts.changed, new: 5, share: 30)
      try contexts.edit(contexts.child, new: 5, share: 30)
      try contexts.compare(TestScale.pick(quick: 3, all: 60))
      #expect(try contexts.fixture.container.verifyTextIndexes() == [])
    }
    #expect(contexts.checkCount > TestScale.pick(quick: 6000, all: 50_000))
  }

  @Test(.evidence("TX-06"), arguments: TestScale.seeds(quick: 2, all: 10))
  func `objects are sorted by BM25 with the weights of their attributes`(seed: UInt64) throws {
    let contexts = try Contexts(seed: seed)
    try contexts.edit(contexts.clean, new: 120, share: 0)
    try contexts.clean.save()
    let all = try contexts.clean.fetch(FetchRequest<Essay>())
    for _ in 0..<30 {
      let words = Array(Set([contexts.random.word(), contexts.random.word()])).sorted()
      let scores = TextReference.relevance(of: all.map { TextReference($0) }, words)
      let relevance = Dictionary(uniqueKeysWithValues: zip(all, scores))
      let found = try contexts.clean.fetch(
        FetchRequest<Essay>(matching: .any(words.map { .word($0) }), limit: 40))
      #expect(found.count == min(40, scores.count { $0 > 0 }))
      for (one, next) in zip(found, found.dropFirst()) {
        #expect((relevance[one] ?? 0) >= (relevance[next] ?? 0) - 1e-9, "\(words)")
      }
      let least = found.last.flatMap { relevance[$0] } ?? 0
      #expect(all.count { (relevance[$0] ?? 0) > least + 1e-9 } <= found.count)
    }
  }
}
