import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A class with indexed attributes and an unindexed copy of each of them.
private class Page: ManagedObject {
  @Attribute var number: Int = 0
  @Attribute var title: String = ""
  @Attribute var plainTitle: String = ""
  @Attribute var body: String? = nil
  @Attribute var plainBody: String? = nil
  @Attribute var data: Data = Data()
  @Attribute var plainData: Data = Data()
  @Attribute var rank: Int = 0
  override class var entity: Entity {
    Entity("Page") {
      Index(\Page.title)
      Index(\Page.body, \Page.rank)
      Index(\Page.title, \Page.body)
      Index(\Page.data)
    }
  }
}

private final class SubPage: Page {}

private final class Feed: ManagedObject {
  @Attribute var url: String = ""
  @Attribute var data: Data? = nil
  @Attribute var part: Int = 0
  @Attribute var note: Int = 0
  override class var entity: Entity {
    Entity("Feed") {
      Unique(\Feed.url)
      Unique(\Feed.data, \Feed.part)
    }
  }
}

private enum Earlier {
  final class Feed: ManagedObject {
    @Attribute var url: String = ""
    @Attribute var title: String = ""
  }
}

private enum Later {
  final class Feed: ManagedObject {
    @Attribute var url: String = ""
    @Attribute var title: String = ""
    override class var entity: Entity {
      Entity("Feed") {
        Unique(\Feed.url)
        Index(\Feed.title)
      }
    }
  }
}

/// Generates strings with long common prefixes, whose lengths are close to the limit of a key.
private struct LongTexts {
  var random: SeededGenerator
  private let endings = [
    "", "\u{0}", "\u{0}\u{0}", "a", "b", "\u{E9}", "e\u{301}", "\u{1F600}", "\u{0}z", "zz",
    "e", "\u{212B}", "\u{C5}", "\u{FFFF}", "\u{10FFFF}",
  ]

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func next() -> String {
    let fillers = ["x", "\u{0}", "\u{E9}", "e\u{301}", "y"]
    let filler = random.below(4) == 0 ? fillers[random.below(fillers.count)] : "x"
    let width = filler.utf8.reduce(0) { $0 + ($1 == 0 ? 2 : 1) }
    let lengths = [
      0, 3, 900, 915, 924, 925, 926, 930, 940, 949, 950, 951, 952, 958, 959, 960, 961, 1200,
    ]
    var text = String(repeating: filler, count: lengths[random.below(lengths.count)] / width)
    for _ in 0..<random.below(4) { text += endings[random.below(endings.count)] }
    if random.below(4) == 0 { text += String(repeating: "x", count: random.below(60)) }
    return text
  }
}

@Suite("Indexes of long values")
struct LongIndexTests {
  @Test(.evidence("V-05"), arguments: TestScale.seeds(quick: 1, all: 3))
  func `indexes of long values find and sort like a scan`(seed: UInt64) throws {
    let fixture = try GraphFixture(Schema(SubPage.self))
    let context = fixture.context()
    var strings = LongTexts(seed: seed)
    let pool = (0..<60).map { _ in strings.next() }
    func set(_ page: Page) {
      page.title = pool[strings.random.below(pool.count)]
      page.plainTitle = page.title
      page.body = strings.random.below(6) == 0 ? nil : pool[strings.random.below(pool.count)]
      page.plainBody = page.body
      page.data = Data(pool[strings.random.below(pool.count)].utf8)
      page.plainData = page.data
      page.rank = strings.random.below(3)
    }
    var all: [Page] = []
    for number in 0..<100 {
      let page = number % 5 == 0 ? SubPage(context: context) : Page(context: context)
      page.number = number
      set(page)
      all.append(page)
    }
    try context.save()
    for page in all where strings.random.below(4) == 0 { set(page) }
    for _ in 0..<20 { context.delete(all.remove(at: strings.random.below(all.count))) }
    try context.save()
    var indexed = 0
    for round in 0..<TestScale.pick(quick: 32, all: 64) {
      let (format, arguments) = Self.condition(pool, &strings.random)
      let fast = try Self.request(format, arguments, isPlain: false, &strings.random, round)
      let plain = try Self.request(format, arguments, isPlain: true, &strings.random, round)
      let other = fixture.context()
      let explanation = try other.explain(fast)
      if !explanation.indexes.isEmpty { indexed += 1 }
      let expected = try other.fetch(plain).map(\.number)
      let found = try other.fetch(fast).map(\.number)
      #expect(found == expected, "seed \(seed), \(round): \(format)\n\(explanation)")
    }
    #expect(indexed > TestScale.pick(quick: 10, all: 20))
    // Deleting all objects must remove all entries from the indexes.
    for page in all { context.delete(page) }
    try context.save()
    let least: [(String, any Sendable)] = [("title", ""), ("body", ""), ("data", Data())]
    for (name, value) in least {
      var request = FetchRequest<Page>(sort: [SortDescriptor(\.title)])
      request.predicate = try QueryPredicate(format: "\(name) >= %@", arguments: [value])
      #expect(try fixture.context().count(for: request) == 0)
    }
  }

  private static func condition(
    _ pool: [String], _ random: inout SeededGenerator
  ) -> (String, [any Sendable]) {
    func text() -> String { pool[random.below(pool.count)] }
    let name = ["title", "body"][random.below(2)]
    let comparison = ["==", "<", "<=", ">", ">=", "BEGINSWITH"][random.below(6)]
    let ordered = comparison == "BEGINSWITH" ? "<=" : comparison
    switch random.below(8) {
    case 0: return ("TRUEPREDICATE", [])
    case 1: return ("\(name) IN %@", [[text(), text(), text()]])
    case 2: return ("\(name) == %@ OR \(name) == %@", [text(), text()])
    case 3: return ("\(name) >= %@ AND \(name) < %@", [text(), text()])
    case 4: return ("data \(ordered) %@", [Data(text().utf8)])
    case 5: return ("title == %@ AND body \(comparison) %@", [text(), text()])
    case 6: return ("body == %@ AND rank \(ordered) 1", [text()])
    default: return ("\(name) \(comparison) %@", [text()])
    }
  }

  private static func request(
    _ format: String, _ arguments: [any Sendable], isPlain: Bool,
    _ random: inout SeededGenerator, _ round: Int
  ) throws -> FetchRequest<Page> {
    var request = FetchRequest<Page>()
    var format = format
    if isPlain {
      for name in ["title", "body", "data"] {
        format = format.replacing("\(name) ", with: "plain\(name.capitalized) ")
      }
    }
    request.predicate = try QueryPredicate(format: format, arguments: arguments)
    let order: SortOrder = round % 2 == 0 ? .forward : .reverse
    let (title, body) =
      isPlain ? (\Page.plainTitle, \Page.plainBody) : (\Page.title, \Page.body)
    switch round / 2 % 4 {
    case 0: request.sortDescriptors = [SortDescriptor(title, order: order)]
    case 1:
      request.sortDescriptors = [
        SortDescriptor(body, order: order), SortDescriptor(\.rank, order: order),
      ]
    case 2:
      request.sortDescriptors = [
        SortDescriptor(title, order: order), SortDescriptor(body, order: order),
      ]
    default: break
    }
    request.fetchLimit = [nil, 1, 5, 40][round / 8 % 4]
    request.fetchOffset = round / 32 % 2 * 3
    return request
  }

  @Test(.evidence("V-05")) func `indexes of long values order values that differ only at the end`()
    throws
  {
    let fixture = try GraphFixture(Schema(Page.self))
    let context = fixture.context()
    let start = String(repeating: "long ", count: 400)
    for number in 0..<100 {
      let page = Page(context: context)
      page.title = start + "\(number * 37 % 100 + 100)"
      page.number = number * 37 % 100
    }
    try context.save()
    for order in [SortOrder.forward, .reverse] {
      var request = FetchRequest<Page>(sort: [SortDescriptor(\.title, order: order)])
      request.fetchLimit = 5
      let other = fixture.context()
      #expect(try other.explain(request).indexes == ["title"])
      let first = order == .forward ? [0, 1, 2, 3, 4] : [99, 98, 97, 96, 95]
      #expect(try other.fetch(request).map(\.number) == first)
    }
  }

  @Test(.evidence("V-05"), arguments: [true, false])
  func `unique constraints apply to long values`(isOneSave: Bool) throws {
    let fixture = try GraphFixture(Schema(Feed.self))
    let context = fixture.context()
    var strings = LongTexts(seed: 9)
    var stored: [String: Int] = [:]
    let count = TestScale.pick(quick: 60, all: 120)
    for number in 0..<count {
      let url = strings.next()
      let feed = Feed(context: context)
      feed.url = url
      feed.note = number
      feed.data = strings.random.below(3) == 0 ? nil : Data(url.utf8)
      if stored[url] == nil {
        if !isOneSave || number == count - 1 { try context.save() }
        stored[url] = number
      } else if isOneSave {
        context.delete(feed)
      } else {
        let error = try #require(throws: ObjectGraphError.self) { try context.save() }
        #expect(error.kind == .constraintConflict)
        context.rollback()
      }
    }
    try context.save()
    let other = fixture.context()
    for (url, number) in stored {
      let found: Feed? = try other.existingObject(where: \Feed.url, equals: url)
      #expect(found?.note == number)
      let fetched = try other.fetch(FetchRequest<Feed>(where: #Predicate { $0.url == url }))
      #expect(fetched.map(\.note) == [number])
    }
    let urls = try other.fetch(FetchRequest<Feed>(sort: [SortDescriptor(\.url)])).map(\.url)
    let expected = stored.keys.sorted {
      let first = $0.precomposedStringWithCanonicalMapping.utf8
      return first.lexicographicallyPrecedes($1.precomposedStringWithCanonicalMapping.utf8)
    }
    #expect(urls == expected)
    #expect(Array(urls.prefix(7)) == (try first(7, fixture)))
  }

  private func first(_ count: Int, _ fixture: GraphFixture) throws -> [String] {
    var request = FetchRequest<Feed>(sort: [SortDescriptor(\.url)])
    request.fetchLimit = count
    return try fixture.context().fetch(request).map(\.url)
  }

  @Test(.evidence("V-05"), .evidence("V-06"))
  func `the time for long strings grows linearly in any composition`() throws {
    let fixture = try GraphFixture(Schema(Feed.self))
    func seconds(_ count: Int) throws -> Double {
      let context = fixture.context()
      let start = ContinuousClock.now
      let feed = Feed(context: context)
      feed.url = String(repeating: "e\u{301}", count: count)
      try context.save()
      let composed = String(repeating: "\u{E9}", count: count)
      #expect(try context.existingObject(where: \Feed.url, equals: composed) === feed)
      return (ContinuousClock.now - start) / .seconds(1)
    }
    _ = try seconds(1000)
    let few = try seconds(8000)
    let many = try seconds(128_000)
    // With quadratic time, the ratio would be 256.
    #expect(many < few * 100, "\(few), \(many)")
  }

  @Test(.evidence("V-05")) func `long values can be changed, upserted and deleted`() throws {
    let fixture = try GraphFixture(Schema(Feed.self))
    let context = fixture.context()
    let start = String(repeating: "h", count: 2000)
    let feeds = (0..<10).map { number in
      let feed = Feed(context: context)
      feed.url = start + "\(number)"
      feed.note = number
      return feed
    }
    try context.save()
    // Two objects swap their unique values.
    (feeds[0].url, feeds[1].url) = (feeds[1].url, feeds[0].url)
    feeds[2].url = "short"
    context.delete(feeds[3])
    try context.save()
    let new = Feed(context: context)
    new.url = start + "3"
    new.note = 33
    try context.save()
    let writer = fixture.context()
    writer.mergePolicy = .mergeByPropertyObjectTrump
    var rest = [(start + "4", 44), (start + "2", 22), (start + "2", 222)][...]
    try writer.execute(
      BatchInsertRequest<Feed> { row in
        guard let (url, note) = rest.popFirst() else { return true }
        row[\.url] = url
        row[\.note] = note
        return false
      })
    let again = Feed(context: writer)
    again.url = start + "5"
    again.note = 55
    try writer.save()
    try writer.execute(
      BatchUpdateRequest<Feed>(where: #Predicate { $0.note == 9 }) { row in row[\.url] += "!" })
    let found = try fixture.context().fetch(FetchRequest<Feed>(sort: [SortDescriptor(\.url)]))
    #expect(found.map(\.note) == [1, 0, 222, 33, 44, 55, 6, 7, 8, 9, 2])
    for feed in found {
      let same: Feed? = try fixture.context().existingObject(where: \Feed.url, equals: feed.url)
      #expect(same?.note == feed.note)
    }
  }

  @Test(.evidence("V-05"), .evidence("P-09"))
  func `indexes of long values find all values of a list that begin alike`() throws {
    let fixture = try GraphFixture(Schema(SubPage.self))
    let context = fixture.context()
    // The index shortens only the key of the last value.
    let titles = [930, 940, 1200].map { String(repeating: "x", count: $0) }
    for title in titles + (0..<100).map({ "\($0)" }) { SubPage(context: context).title = title }
    try context.save()
    let predicate = try QueryPredicate<SubPage>(format: "title IN %@", titles)
    let request = FetchRequest(where: predicate, sort: [SortDescriptor(\.title)])
    #expect(try context.explain(request).indexes == ["title"])
    #expect(try context.fetch(request).map(\.title) == titles)
    #expect(try context.count(for: request) == 3)
  }

  @Test(.evidence("V-05")) func `indexes of long values are built for existing rows`() throws {
    let store = EvolvingStore()
    let start = String(repeating: "\u{0}\u{E9}", count: 1000)
    try store.open(Schema(Earlier.Feed.self)) { context in
      for number in 0..<50 {
        let feed = Earlier.Feed(context: context)
        feed.url = start + "\(number)"
        feed.title = start + "\(99 - number)"
      }
    }
    try store.open(Schema(version: 2, Later.Feed.self)) { context in
      let found = try context.fetch(FetchRequest<Later.Feed>(sort: [SortDescriptor(\.title)]))
      #expect(found.map(\.url) == (0..<50).reversed().map { start + "\($0)" })
      let feed: Later.Feed? = try context.existingObject(
        where: \Later.Feed.url, equals: start + "17")
      #expect(feed?.title == start + "82")
    }
    let other = EvolvingStore()
    try other.open(Schema(Earlier.Feed.self)) { context in
      for _ in 0..<2 { Earlier.Feed(context: context).url = start }
    }
    let error = try other.refusal(Schema(version: 2, Later.Feed.self))
    #expect(error.kind == .incompatibleSchema && "\(error)".contains("url"))
  }

  @Test(.evidence("V-05"), .evidence("P-09"))
  func `a count by a long value and a range finds what a fetch finds`() throws {
    final class Entry: ManagedObject {
      @Attribute var name: String = ""
      @Attribute var rank: Int = 0
      override class var entity: Entity { Entity("Entry") { Index(\Entry.name, \Entry.rank) } }
    }
    let fixture = try GraphFixture(Schema(Entry.self))
    let long = String(repeating: "x", count: 3000)
    try fixture.saved { context in
      for rank in 0..<6 {
        for name in [long, long + "y"] {
          let entry = Entry(context: context)
          (entry.name, entry.rank) = (name, rank)
        }
      }
    }
    let predicate = try QueryPredicate<Entry>(
      format: "name == %@ AND rank > 3", arguments: [long])
    #expect(try fixture.context().count(for: FetchRequest(where: predicate)) == 2)
  }
}
