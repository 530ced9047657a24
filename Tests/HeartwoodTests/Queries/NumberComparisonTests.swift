import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Ware: ManagedObject {
  @Attribute var price: Decimal? = nil
  @Attribute var weight: Double = 0
  @Attribute var big: UInt64 = 0
}

/// A format string, its arguments, and the number of objects that it should find.
private typealias Case = (format: String, arguments: [Double], count: Int)

@Suite("Comparisons of numbers of different types")
struct NumberComparisonTests {
  /// Creates objects, and counts those that each condition finds.
  private func expect(
    _ cases: [Case], isSaved: Bool = true, _ create: (ManagedObjectContext) -> Void
  ) throws {
    let fixture = try GraphFixture(Schema(Ware.self))
    let context = fixture.context()
    create(context)
    if isSaved { try context.save() }
    for (format, arguments, count) in cases {
      let predicate = try QueryPredicate<Ware>(format: format, arguments: arguments)
      let found = try context.count(for: FetchRequest<Ware>(where: predicate))
      #expect(found == count, "\(format) with \(arguments)")
    }
  }

  @Test(.evidence("P-05")) func `a decimal number equals its literal in every operator`() throws {
    let cents = [7, 1999] + stride(from: 1, through: 20_000, by: 401)
    var cases: [Case] = [
      ("price == weight", [], cents.count), ("weight != price", [], 0),
      ("price < weight OR price > weight", [], 0),
    ]
    for (position, cent) in cents.sorted().enumerated() {
      let number = Double(cent) / 100
      cases.append(("price == \(number)", [], 1))
      cases.append(("%@ == price", [number], 1))
      cases.append(("price > %@", [number], cents.count - position - 1))
      cases.append(("price <= %@", [number], position + 1))
      cases.append(("price IN {\(number), -1.5}", [], 1))
      cases.append(("price BETWEEN {\(number), %@}", [number], 1))
    }
    try expect(cases) { context in
      for cent in cents {
        let ware = Ware(context: context)
        ware.price = Decimal(sign: .plus, exponent: -2, significand: Decimal(cent))
        ware.weight = Double(cent) / 100
      }
    }
  }

  @Test(.evidence("P-03"), .evidence("P-05"), .evidence("V-06"), arguments: [true, false])
  func `a decimal number compares with numbers outside its range`(isSaved: Bool) throws {
    let (nan, infinity, huge, tiny) = (Double.nan, Double.infinity, 1e200, 5e-324)
    let cases: [Case] = [
      ("price == %@", [nan], 0), ("%@ == price", [nan], 0), ("price != %@", [nan], 4),
      ("price < %@", [nan], 0), ("price >= %@", [nan], 0), ("price IN {%@, 1.5}", [nan], 0),
      ("price == %@", [infinity], 0), ("price != %@", [-infinity], 4),
      ("price < %@", [infinity], 3), ("%@ < price", [-infinity], 3),
      ("price > %@", [infinity], 0), ("price IN {%@, 19.99}", [infinity], 1),
      ("price BETWEEN {%@, %@}", [-infinity, infinity], 3),
      ("price == %@", [huge], 0), ("price < %@", [huge], 3), ("price > %@", [-huge], 3),
      ("price == %@", [tiny], 0), ("price > %@", [tiny], 1), ("price < %@", [tiny], 2),
      ("price >= %@", [-tiny], 2), ("price == %@", [-0.0], 1),
      ("price + %@ == nil", [infinity], 4), ("price == nil", [], 1),
    ]
    try expect(cases, isSaved: isSaved) { context in
      let prices: [Decimal?] = [nil, Decimal(string: "19.99"), 0, -3]
      for price in prices { Ware(context: context).price = price }
    }
  }
}
