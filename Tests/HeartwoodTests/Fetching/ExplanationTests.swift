import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Checks which access path is chosen, and how it is described.
@Suite("Fetch explanations")
struct ExplanationTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let homes: [Home]

  init() throws {
    fixture = try GraphFixture(animals)
    let context = fixture.context()
    let homes = (0..<20).map { _ in Home(context: context) }
    for number in 0..<2000 {
      let animal = Animal(context: context)
      animal.name = "animal \(number)"
      animal.legs = number % 100
      animal.paws = animal.legs
      animal.weight = Double(number * 7919 % 2000)
      animal.rank = number % 10
      animal.home = homes[number % 20]
    }
    self.context = context
    self.homes = homes
    try context.save()
  }

  private func explain(
    _ format: String, _ arguments: any Sendable..., sort: [SortDescriptor<Animal>] = [],
    limit: Int? = nil
  ) throws -> FetchExplanation {
    var request = FetchRequest<Animal>(sort: sort, limit: limit)
    request.predicate = try QueryPredicate(format: format, arguments: arguments)
    let explanation = try context.explain(request)
    let found = try context.count(for: request)
    if limit == nil {
      #expect(explanation.estimatedRowCount >= found / 2, "\(format): \(found)\n\(explanation)")
    }
    return explanation
  }

  @Test(.evidence("FO-03")) func `a fetch uses the most selective index`() throws {
    let byName = try explain("name == 'animal 7' AND legs == 7")
    #expect(byName.indexes == ["name"] && byName.estimatedRowCount == 1)
    #expect(byName.steps[0] == "Animal by index name: about 1 of 2,000 rows.")
    #expect(try explain("name BEGINSWITH 'animal 19'").indexes == ["name"])
    #expect(try explain("name LIKE 'animal 190?' AND paws == 3").indexes == ["name"])
    #expect(try explain("legs IN {3, 4, 5}").indexes == ["legs"])
    #expect(try explain("legs == 3 OR legs == 4").indexes == ["legs"])
    #expect(try explain("rank == 3 AND legs > 90").indexes == ["rank, legs"])
    #expect(try explain("weight BETWEEN {10, 20}").indexes == ["weight"])
    let home = homes[3]
    #expect(try explain("home == %@", home.objectID).indexes == ["home"])
    #expect(try explain("home IN %@", [home.objectID, homes[5].objectID]).indexes == ["home"])
    let own = try #require(try context.fetch(FetchRequest<Animal>()).last)
    #expect(try explain("SELF == %@", own.objectID).steps[0] == "Animal by ID: 1 rows.")
  }

  @Test(.evidence("FO-03")) func `a fetch scans all rows if an index would be slower`() throws {
    for format in [
      "paws == 3", "legs > 3", "NOT legs == 3", "legs == 3 OR paws == 4", "nick == 'x'",
    ] {
      let explanation = try explain(format)
      #expect(explanation.indexes == [] && explanation.estimatedRowCount == 2000, "\(format)")
      #expect(explanation.steps[0] == "Animal: a scan of all 2,000 rows.")
    }
  }

  @Test(.evidence("FO-03")) func `a fetch intersects two indexes if few rows are in both`() throws {
    let both = try explain("weight < 200 AND rank == 3")
    #expect(Set(both.indexes) == ["weight", "rank, legs"], "\(both)")
    #expect(both.estimatedRowCount < 40)
  }

  @Test(.evidence("FO-03")) func `a fetch with a limit reads an index in order`() throws {
    let heaviest = SortDescriptor(\Animal.weight, order: .reverse)
    let first = try explain("legs < 50", sort: [heaviest], limit: 5)
    #expect(first.indexes == ["weight"] && first.estimatedRowCount < 50, "\(first)")
    #expect(
      first.steps[0].contains(", backwards") && first.steps[0].hasSuffix("until 5 match."))
    let sorted = try explain("legs == 7", sort: [heaviest], limit: 5)
    #expect(sorted.indexes == ["legs"])
    #expect(sorted.steps.last == "Sort by weight, backwards; keep the first 5.")
    let ranked = try explain("rank == 3", sort: [SortDescriptor(\Animal.legs)], limit: 3)
    #expect(ranked.indexes == ["rank, legs"] && ranked.estimatedRowCount == 3, "\(ranked)")
    let compared = [SortDescriptor(\Animal.name, comparator: .lexical)]
    #expect(
      try explain("legs == 7", sort: compared).steps.last == "Sort, comparing objects.")
  }

  @Test(.evidence("FO-03")) func `a child context explains the fetch of its parent`() throws {
    let request = FetchRequest<Animal>(where: #Predicate { $0.rank == 3 && $0.legs > 90 })
    let explanation = try fixture.child(of: context).explain(request)
    #expect(explanation.steps == (try context.explain(request).steps))
  }

  @Test(.evidence("FO-02"), .evidence("FO-03"))
  func `a unique index finds a range of optional values`() throws {
    let fixture = try GraphFixture(Schema(Ticket.self))
    try fixture.saved { context in
      for number in 0..<500 { Ticket(context: context).code = number % 5 == 0 ? nil : number }
    }
    let context = fixture.context()
    let request = FetchRequest<Ticket>(
      where: try QueryPredicate(format: "code > 470"), sort: [SortDescriptor(\.code)])
    let explanation = try context.explain(request)
    #expect(explanation.steps[0].hasPrefix("Ticket by unique index code"), "\(explanation)")
    let expected = (471..<500).filter { $0 % 5 != 0 }
    #expect(try context.fetch(request).map(\.code) == expected)
    #expect(try context.count(for: request) == expected.count)
  }

  @Test(.evidence("FO-02"), arguments: [SortOrder.forward, .reverse])
  func `a limit ends a search for many unique values`(order: SortOrder) throws {
    let fixture = try GraphFixture(Schema(Ticket.self))
    try fixture.saved { context in
      for number in 0..<500 { Ticket(context: context).code = 999 - number }
    }
    let request = FetchRequest<Ticket>(
      where: try QueryPredicate(format: "code IN %@", Array(600..<640)),
      sort: [SortDescriptor(\.code, order: order)], limit: 3)
    let codes = try fixture.context().fetch(request).map(\.code)
    #expect(codes == (order == .forward ? [600, 601, 602] : [639, 638, 637]))
  }

  @Test(.evidence("FO-02"), .evidence("FO-07"))
  func `an index of only the first sort attributes gives the same order`() throws {
    let (rank, legs) = (SortDescriptor(\Animal.rank), SortDescriptor(\Animal.legs))
    let cases: [(String, [SortDescriptor<Animal>])] = [
      ("rank >= 3", [rank, SortDescriptor(\.legs, order: .reverse)]),
      ("rank >= 3", [rank, legs, SortDescriptor(\.weight)]),
      ("rank == 3 AND legs >= 20", [legs, SortDescriptor(\.weight, order: .reverse)]),
    ]
    for (format, sort) in cases {
      var request = FetchRequest<Animal>(where: try QueryPredicate(format: format), sort: sort)
      let all = try context.fetch(request)
      request.fetchLimit = 25
      #expect(try context.fetch(request) == Array(all.prefix(25)), "\(format)")
      #expect(try context.explain(request).indexes == ["rank, legs"], "\(format)")
    }
  }

  @Test(.evidence("FO-02"))
  func `the access path does not affect the result of batch deletes and updates`() throws {
    let heavy = #Predicate<Animal> { $0.weight >= 1990 }
    var update = BatchUpdateRequest<Animal>(where: heavy) { row in row[\.nick] = "heavy" }
    update.resultType = .count
    #expect(try context.execute(update).count == 10)
    let marked = FetchRequest<Animal>(where: #Predicate { $0.nick == "heavy" })
    #expect(try fixture.context().fetch(marked).count == 10)
    #expect(try context.execute(BatchDeleteRequest<Animal>(where: heavy)).count == 10)
    #expect(try fixture.context().count(for: FetchRequest<Animal>()) == 1990)
  }
}

private final class Ticket: ManagedObject {
  @Attribute(.unique) var code: Int? = nil
}
