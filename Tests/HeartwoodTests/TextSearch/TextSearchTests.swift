import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Trimmed: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var line2: String = ""

  override class var entity: Entity {
    Entity("Trimmed") { TextIndex(\Trimmed.text, \Trimmed.line2) }
  }
  override func awakeFromFetch() { text = text.trimmingCharacters(in: .whitespaces) }
}

@Suite("Text searches")
struct TextSearchTests {
  private static let texts: [(title: String, body: String?)] = [
    ("Swift", "A language for apps and databases"), ("Birds", "The swift is a fast bird"),
    ("Data", "Swift reads data structures"), ("Notes on rain", nil),
  ]

  private func fixture() throws -> TextFixture {
    let fixture = try TextFixture()
    try fixture.save(Self.texts)
    return fixture
  }

  @Test(.evidence("TX-05")) func `a query can be restricted to some attributes`() throws {
    let fixture = try fixture()
    #expect(try fixture.titles(.word("swift")) == ["Birds", "Data", "Swift"])
    #expect(try fixture.titles(.word("swift").in(\Essay.title)) == ["Swift"])
    #expect(try fixture.titles(.word("swift").in(\Essay.body)) == ["Birds", "Data"])
    #expect(try fixture.titles(.word("swift") && !.word("data")) == ["Birds", "Swift"])
    #expect(try fixture.titles(.word("swift") && .word("data") && .word("reads")) == ["Data"])
    #expect(throws: ObjectGraphError.self) {
      try fixture.titles(.word("swift").in(\Essay.rank))
    }
  }

  @Test(.evidence("TX-05"), .evidence("TX-08"), arguments: [false, true])
  func `a deleted object without words is no longer found`(hasWords: Bool) throws {
    let fixture = try TextFixture()
    let context = fixture.context()
    let first = Essay(context: context)
    try context.save()
    context.delete(first)
    let second = Essay(context: context)
    if hasWords { second.title = "words" }
    try context.save()
    let request = FetchRequest<Essay>(matching: !TextQuery.word("draft"), limit: 1)
    #expect(try context.count(for: FetchRequest<Essay>(matching: !TextQuery.word("draft"))) == 1)
    #expect(try context.fetch(request) == [second])
    #expect(try context.fetchObjectIDs(request) == [second.objectID])
  }

  @Test(.evidence("TX-04")) func `user input names attributes with digits`() throws {
    let fixture = try GraphFixture(Schema(Trimmed.self))
    try fixture.saved { Trimmed(context: $0).line2 = "swift at 10:30" }
    func count(_ input: String) throws -> Int {
      try fixture.context().count(
        for: FetchRequest<Trimmed>(matching: TextQuery(userInput: input)))
    }
    #expect(try count("line2:swift") == 1 && count("text:swift") == 0 && count("10:30") == 1)
  }

  @Test(.evidence("TX-12")) func `a prefix without words matches no terms`() throws {
    let context = try fixture().context()
    #expect(try context.terms(withPrefix: "", of: Essay.self).count > 3)
    for prefix in ["-", "&", " "] {
      #expect(try context.terms(withPrefix: prefix, of: Essay.self).isEmpty, "\(prefix)")
    }
  }

  @Test(.evidence("TX-11"), .evidence("F-13"))
  func `highlights refer to the text that an attribute shows`() throws {
    let fixture = try GraphFixture(Schema(Trimmed.self))
    try fixture.saved { Trimmed(context: $0).text = "    red apples and green pears" }
    let context = fixture.context()
    let found = try context.fetch(FetchRequest<Trimmed>(matching: .word("red")))
    let entry = try #require(found.first)
    let ranges = try entry.highlights(of: .word("red"), in: \Trimmed.text)
    #expect(ranges.map { String(entry.text[$0]) } == ["red"])
  }

  @Test(.evidence("TX-06")) func `the title counts twice, and ties sort by creation`() throws {
    let fixture = try fixture()
    let context = fixture.context()
    let found = try context.fetch(FetchRequest<Essay>(matching: .word("swift")))
    #expect(found.map(\.title).first == "Swift")
    try fixture.save([("same words", nil), ("same words", nil)])
    let same = try fixture.context().fetch(
      FetchRequest<Essay>(matching: .word("same"), limit: 1))
    let all = try fixture.context().fetch(FetchRequest<Essay>(matching: .word("same")))
    #expect(same.map(\.objectID) == [all[0].objectID])
    #expect(
      all[0].objectID.uriRepresentation.absoluteString
        < all[1].objectID.uriRepresentation.absoluteString)
  }

  @Test(.evidence("TX-07"), .evidence("TX-05"))
  func `counts and pages agree with the matches`() throws {
    let fixture = try fixture()
    let context = fixture.context()
    #expect(try context.count(for: FetchRequest<Essay>(matching: .word("swift"))) == 3)
    #expect(
      try context.count(for: FetchRequest<Essay>(matching: .word("swift"), limit: 2, offset: 2))
        == 1)
    #expect(try context.count(for: FetchRequest<Epistle>(matching: .word("swift"))) == 0)
    var own = FetchRequest<Essay>(matching: .word("swift"))
    own.includesSubentities = false
    #expect(try context.count(for: own) == 3)
    #expect(try context.fetchObjectIDs(own).count == 3)
    let explanation = try context.explain(own)
    #expect(explanation.indexes == ["title, body"])
    #expect(explanation.description.hasPrefix("Essay by text index title, body"))
    #expect(explanation.description.contains("Sort by relevance"))
    let found = try #require(try context.fetch(own).first)
    #expect(throws: ObjectGraphError.self) { try own.after(found) }
  }

  @Test(.evidence("TX-05"), .evidence("FO-06"))
  func `a query without terms, a limit of 0 and an empty store find nothing`() throws {
    let empty = try TextFixture()
    let fixture = try fixture()
    for (fixture, query) in [
      (empty, TextQuery.word("swift")), (fixture, .word("-")), (fixture, .all([])),
    ] {
      let context = fixture.context()
      #expect(try context.count(for: FetchRequest<Essay>(matching: query)) == 0)
      #expect(try context.fetch(FetchRequest<Essay>(matching: query, limit: 5)) == [])
      #expect(try fixture.titles(query) == [])
    }
    let none = FetchRequest<Essay>(matching: .word("swift"), limit: 0)
    #expect(try fixture.context().fetch(none) == [])
  }

  @Test(.evidence("TX-05"), .evidence("TX-06"))
  func `a search finds unsaved objects in an empty store`() throws {
    let fixture = try TextFixture()
    let context = fixture.context()
    for title in ["swift data", "rain", "swift"] { Essay(context: context).title = title }
    #expect(Set(try fixture.titles(.word("swift"), context, sort: [])) == ["swift data", "swift"])
    let request = FetchRequest<Essay>(matching: .word("swift"), limit: 1)
    #expect(try context.fetch(request).count == 1)
  }

  @Test(.evidence("TX-05"), .evidence("P-10"))
  func `a search can be combined with a compound predicate`() throws {
    let context = try fixture().context()
    let first = try QueryPredicate<Essay>(format: "title BEGINSWITH 'B'")
    let request = FetchRequest<Essay>(
      matching: .word("swift"), where: first || QueryPredicate(#Predicate { $0.title == "Data" }),
      sort: [SortDescriptor(\.title)])
    #expect(try context.fetch(request).map(\.title) == ["Birds", "Data"])
  }

  @Test(.evidence("TX-05")) func `batch requests take text queries`() throws {
    let fixture = try fixture()
    let context = fixture.context()
    var update = BatchUpdateRequest<Essay> { row in row[\.title] = "Changed swift" }
    update.predicate = QueryPredicate(matching: .word("data") || .word("rain"))
    try context.execute(update)
    #expect(try fixture.titles(.word("changed")).count == 2)
    #expect(try fixture.titles(.word("rain")) == [])
    var delete = BatchDeleteRequest<Essay>()
    delete.predicate = QueryPredicate(matching: .word("bird"))
    try context.execute(delete)
    #expect(try fixture.titles(.word("swift")) == ["Changed swift", "Changed swift", "Swift"])
  }

  @Test(.evidence("TX-08")) func `revert and imports update the index`() throws {
    let fixture = try fixture()
    let pinned = try fixture.container.newContext(pinnedTo: .current)
    _ = try pinned.count(for: FetchRequest<Essay>())
    let token = try #require(pinned.queryGenerationToken)
    let rows = #"[{"code": "a", "title": "Imported swift", "body": "zebra"}, {"code": "b"}]"#
    let report = try fixture.context().upsert(
      Essay.self, matching: \.code, from: Data(rows.utf8))
    #expect(report.insertedCount == 2)
    #expect(try fixture.titles(.word("zebra")) == ["Imported swift"])
    #expect(try fixture.container.verifyTextIndexes() == [])
    try fixture.container.revert(to: token)
    #expect(try fixture.titles(.word("zebra")) == [])
    #expect(try fixture.titles(.word("swift")).count == 3)
  }

  @Test(.evidence("TX-09")) func `live results follow a search`() throws {
    let fixture = try fixture()
    let context = fixture.context()
    context.automaticallyMergesChangesFromParent = true
    let ranked = FetchedResultsController(
      fetchRequest: FetchRequest<Essay>(matching: .word("swift"), limit: 10), context: context)
    let sorted = FetchedResultsController(
      fetchRequest: FetchRequest<Essay>(
        matching: .word("swift"), sort: [SortDescriptor(\.title)]), context: context)
    try ranked.performFetch()
    try sorted.performFetch()
    #expect(sorted.map(\.title) == ["Birds", "Data", "Swift"])
    let other = fixture.context()
    let found = try other.fetch(FetchRequest<Essay>(matching: .word("rain")))
    found.first?.body = "swift swift swift swift"
    let gone = try other.fetch(FetchRequest<Essay>(matching: .word("bird")))
    gone.first?.body = "a slow bird"
    try other.save()
    #expect(sorted.map(\.title) == ["Data", "Notes on rain", "Swift"])
    #expect(Set(ranked.map(\.title)) == ["Data", "Notes on rain", "Swift"])
    // An unsaved change also removes an object from the results.
    sorted.first?.body = "nothing"
    #expect(sorted.map(\.title) == ["Notes on rain", "Swift"])
    #expect(Set(ranked.map(\.title)) == ["Notes on rain", "Swift"])
    context.rollback()
    #expect(sorted.map(\.title) == ["Data", "Notes on rain", "Swift"])
  }

  @Test(.evidence("TX-11")) func `highlights and snippets show what was found`() throws {
    let fixture = try TextFixture()
    let context = fixture.context()
    let essay = Essay(context: context)
    essay.title = "Swift, swift & SWÍFT 東京都"
    essay.body = (0..<50).map { $0 == 30 ? "needle in hay" : "word\($0)" }.joined(separator: " ")
    func highlighted(_ query: TextQuery) throws -> [String] {
      try essay.highlights(of: query, in: \Essay.title).map { String(essay.title[$0]) }
    }
    #expect(try highlighted(.word("swift")) == ["Swift", "swift", "SWÍFT"])
    #expect(try highlighted(.phrase("swift 東京")) == ["SWÍFT", "東京"])
    #expect(try highlighted(.word("東京都")) == ["東京都"])
    #expect(try highlighted(.word("none") && !.word("swift")) == [])
    let snippet = try essay.snippet(of: .phrase("needle in"), in: \Essay.body, wordCount: 8)
    #expect(snippet.text == "…word28 word29 needle in hay word31 word32 word33…")
    #expect(snippet.highlights.map { String(snippet.text[$0]) } == ["needle", "in"])
    let wide = try essay.snippet(
      of: .word("word28") || .word("word33"), in: \Essay.body, wordCount: 9)
    #expect(wide.text == "…word27 word28 word29 needle in hay word31 word32 word33…")
    #expect(wide.highlights.count == 2)
    let start = try essay.snippet(of: .word("none"), in: \Essay.body, wordCount: 2)
    #expect(start.text == "word0 word1…" && start.highlights == [])
    let whole = try essay.snippet(of: .word("swift"), in: \Essay.title)
    #expect(whole.text == essay.title && whole.highlights.count == 3)
    let end = try essay.snippet(of: .word("word49"), in: \Essay.body, wordCount: 4)
    #expect(end.text == "…word46 word47 word48 word49" && end.highlights.count == 1)
    #expect(throws: ObjectGraphError.self) {
      try essay.highlights(of: .word("a"), in: \Essay.rank)
    }
  }

  @Test(.evidence("TX-12")) func `terms are suggested by prefix with their counts`() throws {
    let fixture = try fixture()
    let context = fixture.context()
    let found = try context.terms(withPrefix: "S", of: Essay.self)
    #expect(found.map(\.text) == ["swift", "structures"] && found.map(\.count) == [3, 1])
    #expect(try context.terms(withPrefix: "", of: Essay.self, limit: 1).map(\.text) == ["swift"])
    #expect(try context.terms(withPrefix: "zz", of: Essay.self) == [])
    let child = ManagedObjectContext(parent: context)
    #expect(try child.terms(withPrefix: "data", of: Essay.self).map(\.count) == [1, 1])
  }

  private final class Stemmed: ManagedObject {
    @Attribute var text: String = ""

    override class var entity: Entity {
      Entity("Stemmed") { TextIndex(\Stemmed.text, tokenizer: .words(stemming: .english)) }
    }
  }

  @Test(.evidence("TX-03")) func `every prefix of a word finds the word despite stemming`() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Stemmed.self))
    let context = container.newContext()
    let words = [
      "running", "generalization", "happiness", "cities", "relational", "hopping", "adjustable",
      "university", "effective", "easily", "bled", "sing",
    ]
    for word in words { Stemmed(context: context).text = "a \(word) b" }
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      for word in words {
        for count in 1...word.count {
          let beginning = word.prefix(count)
          let found = try context.fetch(
            FetchRequest<Stemmed>(matching: TextQuery(userInput: beginning + "*")))
          #expect(found.contains { $0.text == "a \(word) b" }, "\(beginning)")
        }
      }
      let phrase = FetchRequest<Stemmed>(matching: .prefix("running b"))
      #expect(try context.fetch(phrase).map(\.text) == ["a running b"])
      #expect(
        try context.count(for: FetchRequest<Stemmed>(matching: TextQuery(userInput: "runw*"))) == 0)
    }
  }

  private struct Careless: CustomTextTokenizer {
    let name = "care-less"
    let version = 1

    func forEachToken(
      in text: String, _ body: (_ term: String, _ range: Range<String.Index>) -> Void
    ) {
      let longer = text + " and more words"
      for word in longer.split(separator: " ") {
        body(String(word), word.startIndex..<word.endIndex)
      }
    }
  }

  private final class Careful: ManagedObject {
    @Attribute var text: String = ""

    override class var entity: Entity {
      Entity("Careful") { TextIndex(\Careful.text, tokenizer: .custom(Careless())) }
    }
  }

  @Test(.evidence("TX-11")) func `ranges of a tokenizer beyond the text's end do not trap`() throws
  {
    let container = try PersistentContainer.inMemory(schema: Schema(Careful.self))
    let context = container.newContext()
    let object = Careful(context: context)
    object.text = "short"
    try context.save()
    // The tokenizer turns each word into a phrase.
    let ranges = try object.highlights(of: .word("short"), in: \Careful.text)
    #expect(ranges.map { String(object.text[$0]) } == ["short", "", "", ""])
    let snippet = try object.snippet(of: .word("short"), in: \Careful.text, wordCount: 2)
    #expect(snippet.text.hasPrefix("short"))
    // The last word of the query may be incomplete.
    let request = FetchRequest<Careful>(matching: .prefix("short"))
    #expect(try context.fetch(request) == [object])
  }

  @Test(.evidence("TX-05")) func `a class without an index cannot be searched`() throws {
    let fixture = try GraphFixture()
    #expect(throws: ObjectGraphError.self) {
      try fixture.context().fetch(FetchRequest<Person>(matching: .word("a")))
    }
  }

  @Test(.evidence("TX-06")) func `negated words do not count towards the relevance`() throws {
    let fixture = try TextFixture()
    try fixture.save([("swift other", nil), ("swift java", nil)])
    let query = TextQuery.any([.word("swift"), !.word("java")])
    let found = try fixture.context().fetch(FetchRequest<Essay>(matching: query))
    #expect(found.map(\.title) == ["swift other", "swift java"])
  }

  @Test(.evidence("TX-06")) func `words of a phrase count even where the phrase is not found`()
    throws
  {
    let fixture = try TextFixture()
    let titles = ["cat dog", "cat red", "red fox"]
    try fixture.save(titles.map { ($0, nil) } + (0..<30).map { ("filler \($0)", nil) })
    let query = TextQuery.word("cat") || .phrase("red fox")
    let found = try fixture.titles(query, sort: [])
    #expect(found.count == 3 && found.filter { $0.hasPrefix("cat") } == ["cat red", "cat dog"])
  }

  @Test(.evidence("TX-06")) func `very long texts are equally relevant before and after a save`()
    throws
  {
    let fixture = try TextFixture()
    let context = fixture.context()
    for (title, count) in [("first", 66_000), ("second", 65_600)] {
      let essay = Essay(context: context)
      (essay.title, essay.body) = (title, "found" + String(repeating: " a", count: count))
    }
    #expect(try fixture.titles(.word("found"), context, sort: []) == ["first", "second"])
    try context.save()
    #expect(try fixture.titles(.word("found"), context, sort: []) == ["first", "second"])
  }

  @Test(.evidence("TX-02"), .evidence("TX-05"))
  func `phrases may contain text that is written without spaces`() throws {
    let fixture = try TextFixture()
    try fixture.save([("日本 test", nil), ("日\u{F900}", nil)])
    func found(_ text: String) throws -> [String] {
      let request = FetchRequest<Essay>(matching: .phrase(text))
      return try fixture.context().fetch(request).map(\.title)
    }
    #expect(try found("日本 test") == ["日本 test"])
    #expect(try found("日\u{8C48}") == ["日\u{F900}"])
  }

  @Test(.evidence("TX-10")) func `long words are truncated at a character`() throws {
    let fixture = try TextFixture()
    try fixture.save([(String(repeating: "a", count: 127) + "жж", nil)])
    let terms = try fixture.context().terms(withPrefix: "a", of: Essay.self)
    #expect(terms.map(\.text) == [String(repeating: "a", count: 127)])
  }
}
