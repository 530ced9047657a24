import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Ware: ManagedObject {
  @Attribute var price: Decimal? = nil
  @Attribute var weight: Double = 0
  @Attribute var big: UInt64 = 0
  @Attribute var length: Float = 0
  @Attribute var sizes: [Float] = []
  @Attribute var share: Float? = nil
  @ToOne var pallet: Pallet?
}

private final class Pallet: ManagedObject {
  @ToOne var label: Ware?
  @ToMany(inverse: \Ware.pallet) var wares: Set<Ware>
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

  @Test(.evidence("P-05")) func `a decimal number equals its literal with every operator`() throws {
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
    let (nan, infinity) = (Double.nan, Double.infinity)
    let (huge, tiny) = (1e200, Double.leastNonzeroMagnitude)
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
  @Test(.evidence("P-05"), .evidence("V-06"), arguments: [true, false])
  func `comparing a large integer with a floating-point number rounds neither`(
    isSaved: Bool
  ) throws {
    // The numbers between 2^63 and 2^64 that `Double` can represent are multiples of 2048.
    let (half, whole) = (9_223_372_036_854_775_808.0, 18_446_744_073_709_551_616.0)
    let cases: [Case] = [
      ("big == %@", [whole], 0), ("%@ == big", [whole], 0), ("big != %@", [whole], 5),
      ("big < %@", [whole], 5), ("%@ > big", [whole], 5), ("big >= %@", [whole], 0),
      ("big IN {%@, %@}", [whole, half], 1), ("big BETWEEN {%@, %@}", [half, whole], 4),
      ("big == %@", [half], 1), ("big > %@", [half], 3), ("%@ >= big", [half], 2),
      ("big < %@", [half], 1), ("big > -0.5", [], 5), ("big < -0.5", [], 0),
      ("big < %@", [.infinity], 5), ("big > %@", [-.infinity], 5), ("big == %@", [.nan], 0),
      ("big != %@", [.nan], 5), ("big < %@", [.nan], 0), ("big == weight", [], 1),
      ("weight > big", [], 3), ("weight < big", [], 1),
    ]
    try expect(cases, isSaved: isSaved) { context in
      let numbers: [(UInt64, Double)] = [
        (.max, whole), (.max - 1, whole), (1 << 63, half), ((1 << 63) + 1, half), (7, 7.5),
      ]
      for (big, weight) in numbers {
        let ware = Ware(context: context)
        (ware.big, ware.weight) = (big, weight)
      }
    }
  }

  @Test(
    .evidence("P-05"), .evidence("P-12"),
    arguments: [
      "length = 0.1", "-length = -0.1", "length BETWEEN {0.1, 0.1}", "length IN {0.1, weight}",
      "pallet.label.length = 0.1", "pallet.label.length >= 0.1", "ANY pallet.wares.length = 0.1",
      "SUBQUERY(pallet.wares, $ware, $ware.length = 0.1).@count = 1",
      "pallet.wares.@min.length = 0.1", "0.1 IN pallet.wares.length", "0.1 IN sizes",
      "ALL sizes <= 0.1", "price = length", "price = pallet.label.length", "price IN sizes",
    ])
  func `a literal equals a Float, wherever the Float is stored`(format: String) throws {
    try expect([(format, [], 1), ("NOT \(format)", [], 0)]) { context in
      let (ware, pallet) = (Ware(context: context), Pallet(context: context))
      (ware.length, ware.sizes, ware.price) = (0.1, [0.1], Decimal(string: "0.1"))
      (ware.pallet, pallet.label) = (pallet, ware)
    }
  }

  @Test(.evidence("P-05"), arguments: [true, false])
  func `constants and sums that no Float can represent are not rounded to Float`(
    isSaved: Bool
  ) throws {
    // 16777217 is the smallest positive integer that `Float` cannot represent.
    let cases: [Case] = [
      ("length = 1e39", [], 0), ("length > 1e39", [], 1), ("%@ > length", [1e39], 2),
      ("length = 1e-50", [], 0), ("length < 1e-50", [], 1), ("length > %@", [1e-50], 2),
      ("length IN {1e39, %@}", [1e-50], 0), ("sizes.@sum = 16777217", [], 1),
      ("sizes.@sum < 16777217", [], 2),
    ]
    try expect(cases, isSaved: isSaved) { context in
      let lengths: [Float] = [.infinity, 0, 1]
      for length in lengths {
        let ware = Ware(context: context)
        ware.length = length
        if length == 1 { ware.sizes = [16_777_216, 1] }
      }
    }
  }

  @Test(
    .evidence("P-05"), .evidence("V-02"),
    arguments: [
      "10e127", "340282366920938463463374607431768211455e127", "18446744073709551616",
      "12345678901234567890.123", "-0.12345678901234567890", "-1e-128",
    ])
  func `a decimal number equals its digits in a format string`(text: String) throws {
    let number = try #require(Decimal(string: text))
    let cases: [Case] = [
      ("price = \(number)", [], 1), ("price IN {7, \(number)}", [], 1),
      ("price < \(number) OR price > \(number)", [], 0), ("price - \(number) = 0", [], 1),
    ]
    try expect(cases) { context in Ware(context: context).price = number }
  }

  @Test(.evidence("P-02"), .evidence("P-05"), arguments: ["1e-70", "-7e-128", "1e100"])
  func `a product that no decimal number can represent has no value`(price: String) throws {
    try expect([("price * price = nil", [], 1), ("price * 10 = nil", [], 0)]) { context in
      Ware(context: context).price = Decimal(string: price)
    }
  }

  @Test(.evidence("V-06")) func `a calculation with a decimal NaN has no result`() throws {
    let calculations = ["* 0.5", "* -3e-9", "* 2", "+ 0.5", "- 0.5", "/ 0.5"]
    let cases: [Case] = calculations.flatMap { calculation -> [Case] in
      [("price \(calculation) = nil", [], 1), ("price \(calculation) = 0", [], 0)]
    }
    try expect(cases, isSaved: false) { context in Ware(context: context).price = .nan }
  }

  @Test(.evidence("P-01")) func `a minus sign changes the sign of zero`() throws {
    try expect([("1 / -weight < 0", [], 1), ("1 / -(-weight) < 0", [], 0)]) { context in
      _ = Ware(context: context)
    }
  }

  // A decimal number that is NaN cannot be saved (V-02).
  @Test(.evidence("FO-01"), .evidence("V-06"))
  func `a decimal number that is NaN comes last and compares with no number`() throws {
    let fixture = try GraphFixture(Schema(Ware.self))
    let context = fixture.context()
    for price: Decimal? in [.nan, 2, nil, 10] { Ware(context: context).price = price }
    let found = try context.fetch(FetchRequest<Ware>(sort: [SortDescriptor(\.price)]))
    #expect(found.map { $0.price?.description } == [nil, "2", "10", "NaN"])
    for (format, count) in [("price > 1", 2), ("price < %@", 0), ("price != %@", 4)] {
      let arguments: [Decimal] = format.contains("%") ? [.nan] : []
      let predicate = try QueryPredicate<Ware>(format: format, arguments: arguments)
      #expect(try context.count(for: FetchRequest<Ware>(where: predicate)) == count, "\(format)")
    }
  }

  @Test(.evidence("P-05")) func `a calculation with a missing Float yields nil`() throws {
    let fixture = try GraphFixture(Schema(Ware.self))
    try fixture.saved { context in
      for share: Float? in [nil, 0.5] { Ware(context: context).share = share }
    }
    let (more, sum) = (Float(0.25), Float(0.75))
    func shares(_ predicate: Predicate<Ware>) throws -> [Float?] {
      try fixture.context().fetch(FetchRequest<Ware>(where: predicate)).map(\.share)
    }
    #expect(try shares(#Predicate { $0.share! + more == sum }) == [0.5])
    #expect(try shares(#Predicate { $0.share! + more != sum }) == [nil])
  }

  @Test(.evidence("P-01"), arguments: [0.1, 0.2, 0.3, 0.6, 3, 10] as [Float])
  func `a calculation with Float has the same result as in Swift`(operand: Float) throws {
    let fixture = try GraphFixture(Schema(Ware.self))
    let context = fixture.context()
    let lengths: [Float] = [0.1, 0.2, 0.3, 1.1, -7.7, 3e38, .leastNonzeroMagnitude]
    for length in lengths { Ware(context: context).length = length }
    try context.save()
    let wares = try context.fetch(FetchRequest<Ware>())
    let sums = lengths.map { $0 + operand } + lengths.map { $0 * operand }
    var count = 0
    for bound in lengths + sums + lengths.map({ $0 / operand }) + [operand, .infinity] {
      let predicates: [Predicate<Ware>] = [
        #Predicate { $0.length + operand >= bound }, #Predicate { $0.length + operand == bound },
        #Predicate { $0.length - operand == bound }, #Predicate { $0.length * operand == bound },
        #Predicate { $0.length * operand < bound }, #Predicate { $0.length / operand == bound },
        #Predicate { -$0.length + operand <= bound },
        #Predicate { $0.length * operand / operand == $0.length },
      ]
      for (position, predicate) in predicates.enumerated() {
        let expected = try wares.filter { try predicate.evaluate($0) }
        count += expected.count
        let found = try context.fetch(FetchRequest<Ware>(where: predicate))
        #expect(found.map(\.length) == expected.map(\.length), "case \(position), \(bound)")
      }
    }
    #expect(count > 100)
  }
}
