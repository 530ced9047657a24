import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum Mood: String, Codable, AttributeValue, CaseIterable { case calm, glad, sad }

private struct Spot: Codable, AttributeValue, Equatable { var x = 0 }

private final class Page: ManagedObject {
  @Attribute var number: Int = 0
  @Attribute var words: [String] = []
  @Attribute var scores: Set<Int> = []
  @Attribute var ratios: [Double]? = nil
  @Attribute var moods: [Mood] = []
  @Attribute var days: [Date] = []
  @Attribute var prices: [Decimal] = []
  @Attribute var spots: [Spot] = []
  @ToOne var volume: Volume?
}

private final class Volume: ManagedObject {
  @Attribute var keys: [String] = []
  @ToMany(inverse: \Page.volume) var pages: Set<Page>
}

@Suite("Predicates on array and set attributes")
struct CollectionAttributeTests {
  private static let words = ["a", "Ab", "é", "e\u{301}", "", "a\"b", "\\", "z\n", "ab"]

  private static let days = [0.0, 1, 2].map { Date(timeIntervalSinceReferenceDate: $0) }

  private let context: ManagedObjectContext

  init() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Page.self))
    context = container.newContext()
  }

  private func fill(_ random: inout SeededGenerator, count: Int) {
    let volume = Volume(context: context)
    volume.keys = ["k", "a"]
    for number in 0..<count {
      let page = Page(context: context)
      page.number = number
      change(page, &random)
      if random.isTrue(in256: 128) { page.volume = volume }
    }
  }

  private func change(_ page: Page, _ random: inout SeededGenerator) {
    func some<Value>(_ values: [Value], _ random: inout SeededGenerator) -> [Value] {
      var result: [Value] = []
      for _ in 0..<random.below(4) { result.append(values[random.below(values.count)]) }
      return result
    }
    page.words = some(Self.words, &random)
    page.scores = Set(some(Array(-2...2), &random))
    page.ratios = random.isTrue(in256: 100) ? nil : some([0.5, -1, .infinity, 3], &random)
    page.moods = some(Mood.allCases, &random)
    page.days = some(Self.days, &random)
    page.prices = some([1, 2.5, Decimal(string: "2.50") ?? 0], &random)
  }

  private func expect(
    _ predicate: QueryPredicate<Page>, _ test: (Page) -> Bool,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    var request = FetchRequest<Page>()
    request.sortDescriptors = [SortDescriptor(\.number)]
    let all = try context.fetch(request)
    request.predicate = predicate
    let found = try context.fetch(request).map(\.number)
    #expect(found == all.filter(test).map(\.number), sourceLocation: location)
    #expect(try context.count(for: request) == found.count, sourceLocation: location)
  }

  private func expectAll(_ random: inout SeededGenerator) throws {
    let word = Self.words[random.below(Self.words.count)]
    let score = random.below(5) - 2
    let day = Self.days[random.below(3)]
    try expect(QueryPredicate(#Predicate { $0.words.contains(word) })) { $0.words.contains(word) }
    try expect(QueryPredicate(format: "words CONTAINS %@", word)) { $0.words.contains(word) }
    try expect(QueryPredicate(format: "%@ IN words", word)) { $0.words.contains(word) }
    try expect(QueryPredicate(format: "ANY words BEGINSWITH %@", word)) {
      $0.words.contains { $0.hasPrefix(word) }
    }
    try expect(QueryPredicate(format: "words CONTAINS[cd] %@", word)) {
      let fold: (String) -> String = {
        $0.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
      }
      return $0.words.map(fold).contains(fold(word))
    }
    try expect(QueryPredicate(#Predicate { $0.words.contains { $0.starts(with: "a") } })) {
      $0.words.contains { $0.hasPrefix("a") }
    }
    try expect(QueryPredicate(#Predicate { $0.words.isEmpty || $0.words.count == 2 })) {
      $0.words.isEmpty || $0.words.count == 2
    }
    try expect(QueryPredicate(#Predicate { $0.scores.filter { $0 > score }.count == 1 })) {
      $0.scores.filter { $0 > score }.count == 1
    }
    try expect(QueryPredicate(#Predicate { $0.words.first == word })) { $0.words.first == word }
    try expect(QueryPredicate(#Predicate { $0.scores.contains(score) })) {
      $0.scores.contains(score)
    }
    try expect(QueryPredicate(#Predicate { !$0.scores.contains { $0 > score } })) {
      !$0.scores.contains { $0 > score }
    }
    try expect(QueryPredicate(format: "scores.@max == %d", score)) { $0.scores.max() == score }
    try expect(QueryPredicate(#Predicate { $0.ratios == nil })) { $0.ratios == nil }
    try expect(QueryPredicate(#Predicate { $0.ratios?.contains(0.5) ?? false })) {
      $0.ratios?.contains(0.5) ?? false
    }
    try expect(QueryPredicate(format: "ALL ratios > 0")) {
      $0.ratios?.allSatisfy { $0 > 0 } ?? true
    }
    try expect(QueryPredicate(format: "moods CONTAINS 'glad'")) { $0.moods.contains(.glad) }
    try expect(QueryPredicate(#Predicate { $0.days.contains(day) })) { $0.days.contains(day) }
    try expect(QueryPredicate(format: "prices CONTAINS %@", Decimal(2.5))) {
      $0.prices.contains(2.5)
    }
    try expect(QueryPredicate(format: "%@ IN volume.keys", word)) {
      $0.volume?.keys.contains(word) ?? false
    }
    let number = random.below(20)
    try expect(QueryPredicate(format: "%d IN volume.pages.scores", score)) {
      $0.volume?.pages.contains { $0.scores.contains(score) } ?? false
    }
    try expect(QueryPredicate(#Predicate { $0.words.contains(word) && $0.number > number })) {
      $0.words.contains(word) && $0.number > number
    }
  }

  @Test(.evidence("P-12"), arguments: TestScale.seeds(quick: 3, all: 30))
  func `find the same as equivalent closures, in rows and in changed objects`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    fill(&random, count: 40)
    try expectAll(&random)
    try context.save()
    context.reset()
    try expectAll(&random)
    for page in try context.fetch(FetchRequest<Page>()) where random.isTrue(in256: 64) {
      change(page, &random)
    }
    try expectAll(&random)
  }

  @Test(.evidence("P-12"), .evidence("P-02"))
  func `what has no simple elements or no order is refused`() throws {
    func refusal(_ format: String) throws {
      var request = FetchRequest<Page>()
      request.predicate = try QueryPredicate(format: format)
      let error = try #require(throws: ObjectGraphError.self) { try context.fetch(request) }
      #expect(error.kind == .unsupportedPredicate, "\(format)")
    }
    try refusal("spots CONTAINS 1")
    try refusal("ANY spots.x == 1")
    try refusal("words == %@".replacingOccurrences(of: "%@", with: "{'a'}"))
    try refusal("words < 'a'")
    try refusal("words BEGINSWITH 'a'")
    try refusal("words CONTAINS 1")
    try refusal("scores CONTAINS 'a'")
    let choice = FetchRequest<Page>(where: #Predicate { ($0.ratios ?? []).contains(0.5) })
    let error = #expect(throws: ObjectGraphError.self) { try context.fetch(choice) }
    #expect(error?.message.contains("chooses between") == true)
  }

  @Test(.evidence("P-12"), .evidence("V-04"))
  func `a value that cannot be decoded has no elements`() throws {
    let store = EvolvingStore()
    try store.open(Schema(Past.Sheet.self)) { context in
      Past.Sheet(context: context).marks = ["old", "new"]
    }
    try store.open(Schema(version: 2, Now.Sheet.self)) { context in
      #expect(try context.all(Now.Sheet.self).map(\.marks) == [[]])
      context.reset()
      try context.expect("marks CONTAINS 'new'", \Now.Sheet.number, [])
      try context.expect("marks.@count == 0", \Now.Sheet.number, [0])
    }
  }
}

private enum Past {
  final class Sheet: ManagedObject {
    @Attribute var number: Int = 0
    @Attribute var marks: [String] = []
  }
}

private enum Now {
  enum Mark: String, AttributeValue, Codable { case new }
  final class Sheet: ManagedObject {
    @Attribute var number: Int = 0
    @Attribute var marks: [Mark] = []
  }
}
