import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Aggregates and values")
struct AggregateTests {
  @Test(.evidence("FO-04"), arguments: TestScale.seeds(quick: 1, all: 2))
  func `aggregates equal those computed from arrays of the objects`(seed: UInt64) throws {
    let herd = try Herd(seed: seed, count: TestScale.pick(quick: 60, all: 120))
    for number in 0..<TestScale.pick(quick: 12, all: 120, long: 400) {
      let condition = RandomCondition.any(&herd.random, depth: number % 3)
      var request = FetchRequest<Animal>(sort: [SortDescriptor(\.alias), SortDescriptor(\.paws)])
      if number % 4 == 3 { (request.fetchLimit, request.fetchOffset) = (9, 2) }
      request.predicate = try QueryPredicate(
        format: condition.format, arguments: condition.arguments)
      for (name, context) in herd.contexts {
        let all = try context.fetch(request)
        let label = Comment("seed \(seed), \(number), \(name): \(condition.format)")
        try check(request, context, all, label)
        try checkGroups(request, context, all, label)
      }
    }
  }

  private func check(
    _ request: FetchRequest<Animal>, _ context: ManagedObjectContext, _ all: [Animal],
    _ label: Comment
  ) throws {
    let (count, ranked, legs) = try context.aggregate(
      request, .count, .count(\.rank), .sum(\.legs))
    #expect(count == all.count && ranked == all.count { $0.rank != nil }, label)
    #expect(legs == all.reduce(0) { $0 + $1.legs }, label)
    let (least, most, ranks) = try context.aggregate(
      request, .min(\.nick), .max(\.alias), .sum(\.rank))
    #expect(least == all.compactMap(\.nick).min() && most == all.map(\.alias).max(), label)
    let (highest, paws) = try context.aggregate(request, .max(\.rank), .average(\.paws))
    let pawCount = Double(all.map(\.paws).reduce(0, +))
    #expect(highest == all.compactMap(\.rank).max(), label)
    #expect(paws == (all.isEmpty ? nil : pawCount / Double(all.count)), label)
    #expect(ranks == all.compactMap(\.rank).reduce(0, +), label)
    let prices = try context.aggregate(request, .sum(\.price))
    let total = all.map(\.price).reduce(0, +)
    #expect(prices == total, label)
    let mean = try context.aggregate(request, .average(\.rank))
    let expected = all.compactMap(\.rank)
    let sum = Double(expected.reduce(0, +))
    #expect(mean == (expected.isEmpty ? nil : sum / Double(expected.count)), label)
    let streets = try context.aggregate(request, .distinctCount(\Animal.home?.street))
    #expect(streets == Set(all.compactMap { $0.home?.street }).count, label)
    let rows = try context.fetchValues(request, \.alias, \.home?.town?.name, \.rank)
    #expect(rows.map(\.0) == all.map(\.alias) && rows.map(\.2) == all.map(\.rank), label)
    #expect(rows.map(\.1) == all.map { $0.home?.town?.name }, label)
  }

  private func checkGroups(
    _ request: FetchRequest<Animal>, _ context: ManagedObjectContext, _ all: [Animal],
    _ label: Comment
  ) throws {
    let groups = try context.aggregate(request, by: \.rank, .count, .max(\.legs))
    let expected = Dictionary(grouping: all, by: \.rank)
    #expect(groups.count == expected.count, label)
    #expect(groups.compactMap(\.key) == expected.keys.compactMap { $0 }.sorted(), label)
    for group in groups {
      let members = expected[group.key] ?? []
      #expect(group.values == (members.count, members.map(\.legs).max()), label)
    }
    guard request.fetchLimit == nil else { return }
    var distinct = request
    distinct.fetchLimit = 4
    let aliases = try context.fetchValues(distinct, \.alias, isDistinct: true)
    var known: Set<String> = []
    #expect(
      aliases == Array(all.map(\.alias).filter { known.insert($0).inserted }.prefix(4)), label)
  }

  @Test(.evidence("FO-04")) func `a sum that does not fit its type throws`() throws {
    let zoo = try Zoo()
    zoo.ada.big = .max
    let request = FetchRequest<Animal>()
    #expect(throws: ObjectGraphError.self) { try zoo.context.aggregate(request, .sum(\.big)) }
    zoo.celine.big = 0
    #expect(try zoo.context.aggregate(request, .sum(\.big)) == .max)
    do {
      _ = try zoo.context.aggregate(request, .distinctCount(\.idols))
      Issue.record("a relationship to many has no single value")
    } catch let error as ObjectGraphError {
      #expect(
        error.kind == .unsupportedPredicate && error.message.contains("idols is a collection"))
    }
    let byMood = try zoo.context.aggregate(request, by: \.mood, .count)
    #expect(byMood.map(\.values) == [3, 1])
    let compared = FetchRequest<Animal>(
      sort: [SortDescriptor(\.name, comparator: .lexical, order: .reverse)], limit: 2)
    let names = try zoo.context.fetchValues(compared, \.name)
    #expect(names == ["Rex", "Ce\u{301}line"])
    #expect(try zoo.context.fetchValues(compared, \.home?.street) == [nil, "Oak"])
    #expect(try zoo.context.aggregate(compared, .count) == 2)
  }

  @Test(.evidence("FO-04")) func `groups by a decimal attribute are sorted numerically`() throws {
    let fixture = try GraphFixture(Schema(PricedItem.self))
    let context = fixture.context()
    let one = Decimal(sign: .plus, exponent: -1, significand: 10)
    for price: Decimal? in [100, 9, nil, one, -2, 10, 1, -10, 9] {
      let item = PricedItem(context: context)
      (item.price, item.discount, item.tax) = (price ?? 0, price, Tax(rawValue: price ?? 0))
    }
    let request = FetchRequest<PricedItem>()
    for _ in 0..<2 {
      let groups = try context.aggregate(request, by: \.price, .count)
      #expect(groups.map(\.key) == [-10, -2, 0, 1, 9, 10, 100])
      #expect(groups.map(\.values) == [1, 1, 1, 2, 2, 1, 1])
      let discounts = try context.aggregate(request, by: \.discount, .count)
      #expect(discounts.map(\.key) == [nil, -10, -2, 1, 9, 10, 100])
      let taxes = try context.aggregate(request, by: \.tax, .count)
      #expect(taxes.map(\.key.rawValue) == groups.map(\.key))
      let (prices, given) = try context.aggregate(
        request, .distinctCount(\PricedItem.price), .distinctCount(\PricedItem.discount))
      #expect(prices == 7 && given == 6)
      let rows = try context.fetchValues(request, \.price, \.discount, isDistinct: true)
      #expect(rows.map(\.0) == [100, 9, 0, 1, -2, 10, -10])
      try context.save()
    }
  }

  @Test(.evidence("FO-04"), arguments: [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]])
  func `minimum and maximum ignore NaN`(order: [Int]) throws {
    let fixture = try GraphFixture(crew)
    let context = fixture.context()
    for number in order {
      CrewMember(context: context).weight = number == 0 ? .nan : Double(number)
    }
    for _ in 0..<2 {
      let request = FetchRequest<CrewMember>()
      let (least, most) = try context.aggregate(
        request, .min(\CrewMember.weight), .max(\CrewMember.weight))
      #expect(least == 1 && most == 2)
      try context.save()
    }
  }
}

private struct Tax: RawRepresentable, AttributeValue {
  let rawValue: Decimal
}

private final class PricedItem: ManagedObject {
  @Attribute var price: Decimal = 0
  @Attribute var discount: Decimal? = nil
  @Attribute var tax: Tax = Tax(rawValue: 0)
}
