import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Stemmed: ManagedObject {
  @Attribute var text: String = ""

  override class var entity: Entity {
    Entity("Stemmed") { TextIndex(\Stemmed.text, tokenizer: .words(stemming: .english)) }
  }
}

@Suite("Text searches in posting lists")
struct PostingListSearchTests {
  /// Saves enough essays at once for the index to store their words in posting lists.
  private func merged(_ titles: [String]) throws -> TextFixture {
    let fixture = try TextFixture()
    try fixture.save(titles.map { ($0, nil) } + (0..<40).map { ("filler\($0)", "red pear") })
    return fixture
  }

  @Test(.evidence("TX-05"))
  func `the last word of a phrase may be a prefix or a similar word`() throws {
    let fixture = try merged([
      "red apple", "apple red", "red apricot apple", "apple apricot red apples", "red pear",
    ])
    let starts = ["apple apricot red apples", "red apple", "red apricot apple"]
    #expect(try fixture.titles(.prefix("red ap")) == starts)
    #expect(try fixture.titles(.prefix("red ap").in(\Essay.title)) == starts)
    #expect(try fixture.titles(.prefix("red ap").in(\Essay.body)) == [])
    #expect(try fixture.titles(.similar("red aple", distance: 1)) == ["red apple"])
    let both = TextQuery.prefix("red ap") && .word("apricot") && !.phrase("apricot apple")
    #expect(try fixture.titles(both) == ["apple apricot red apples"])
  }

  @Test(.evidence("TX-05")) func `a query may consist of negations`() throws {
    let fixture = try merged(["red apple", "green apple", "red plum", "green plum"])
    let query = TextQuery.all([!.word("pear"), !.word("apple"), !.word("red")])
    #expect(try fixture.titles(query) == ["green plum"])
    #expect(try fixture.context().count(for: FetchRequest<Essay>(matching: query)) == 1)
  }

  @Test(.evidence("TX-08"), .evidence("TX-12"))
  func `suggested terms include the latest changes`() throws {
    let fixture = try merged(["apple", "apple tree", "apricot"])
    let context = fixture.context()
    let found = try context.fetch(FetchRequest<Essay>(matching: .word("apple")))
    found.first?.title = "apricot jam"
    try context.save()
    let terms = try fixture.context().terms(withPrefix: "ap", of: Essay.self)
    #expect(terms.map(\.text) == ["apricot", "apple"] && terms.map(\.count) == [2, 1])
  }

  @Test(.evidence("TX-03")) func `a prefix finds the stems of saved words`() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Stemmed.self))
    let context = container.newContext()
    let words = ["running", "happiness", "cities", "relational"]
    for word in words + (0..<40).map({ "filler\($0)" }) { Stemmed(context: context).text = word }
    try context.save()
    for word in words {
      let query = TextQuery.prefix(String(word.dropLast(2)))
      let found = try context.fetch(FetchRequest<Stemmed>(matching: query))
      #expect(found.map(\.text) == [word])
    }
  }

  @Test(.evidence("TX-11")) func `highlights mark the words of NEAR, also in a fault`() throws {
    let fixture = try TextFixture()
    try fixture.save([("Notes on rain", nil)])
    let found = try fixture.context().fetch(FetchRequest<Essay>(matching: .word("rain")))
    let fault: Essay = fixture.context().object(with: try #require(found.first).objectID)
    let query = TextQuery.near("rain", "notes", distance: 2)
    let ranges = try fault.highlights(of: query, in: \Essay.title)
    #expect(ranges.map { String(fault.title[$0]) } == ["Notes", "rain"])
    #expect(try fault.highlights(of: query, in: \Essay.body) == [])
    expect(.foreignObject, "does not belong to a context") {
      _ = try Essay().highlights(of: query, in: \Essay.title)
    }
  }

  @Test(.evidence("TX-05"), .evidence("TX-12"))
  func `a search in a generation before its store was added finds unsaved objects`() throws {
    let fixture = try StoresFixture(adds: false)
    let pinned = fixture.context()
    try pinned.setQueryGenerationFrom(.current)
    _ = try pinned.count(for: FetchRequest<Person>())
    try fixture.container.addStore(
      url: fixture.url("essays"), entities: [Essay.self, Epistle.self])
    let context = fixture.context()
    Essay(context: context).title = "saved swift"
    try context.save()
    #expect(try context.terms(withPrefix: "sw", of: Essay.self).map(\.text) == ["swift"])
    let requests = [
      FetchRequest<Essay>(matching: .word("swift"), limit: 5),
      FetchRequest<Essay>(matching: .word("swift"), sort: [SortDescriptor(\.title)]),
    ]
    for request in requests { #expect(try pinned.fetch(request) == []) }
    Essay(context: pinned).title = "new swift"
    for request in requests { #expect(try pinned.fetch(request).map(\.title) == ["new swift"]) }
  }
}
