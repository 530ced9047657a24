import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("The predicate format language")
struct FormatTests {
  private struct Case: Sendable {
    let format: String
    let letters: String
    let arguments: [any Sendable]

    init(_ format: String, _ arguments: any Sendable..., is letters: String) {
      self.format = format
      self.arguments = arguments
      self.letters = letters
    }
  }

  private func expect(_ cases: [Case]) throws {
    let zoo = try Zoo()
    for item in cases {
      let found: String
      do {
        found = try zoo.letters(item.format, item.arguments)
      } catch {
        found = "\(error)"
      }
      #expect(found == item.letters, "\(item.format)")
    }
  }

  @Test(.evidence("P-03"), .evidence("P-05"))
  func `comparison operators order nil before all values`() throws {
    try expect([
      Case("legs == 4", is: "AR"), Case("legs = 4", is: "AR"), Case("4 == paws", is: "AR"),
      Case("legs != 4", is: "BC"), Case("legs <> 4", is: "BC"), Case("paws < 4", is: "BC"),
      Case("legs <= 2", is: "BC"), Case("legs =< 2", is: "BC"), Case("legs > 2", is: "AR"),
      Case("legs >= 2", is: "ABR"), Case("legs => 2", is: "ABR"), Case("2 < legs", is: "AR"),
      Case("rank < 100", is: "ACR"), Case("rank == nil", is: "B"), Case("rank != NULL", is: "ACR"),
      Case("rank != 3", is: "ABR"), Case("NOT rank > 1", is: "AB"), Case("nil == nick", is: "BR"),
      Case("rank == home.rooms", is: ""), Case("nick == nil AND rank == nil", is: "B"),
      Case("rank < NIL", is: ""), Case("legs == 2.0", is: "B"), Case("legs > 3.5", is: "AR"),
      Case("weight == 10", is: "C"), Case("weight < -1", is: "B"), Case("length == 1.1", is: "A"),
      Case("name == 'C\u{e9}line'", is: "C"), Case("alias == 'C\u{e9}line'", is: "C"),
      Case("name > \"B\"", is: "BCR"), Case("big == 18446744073709551615", is: "C"),
      Case("big > legs", is: "C"), Case("price == 0.1", is: "A"), Case("price >= 12", is: "C"),
      Case("price == 12.0", is: "C"), Case("isTame == YES", is: "A"),
      Case("isTame == 0", is: "BCR"), Case("isTame == 1", is: "A"),
      Case("isTame", is: "A"), Case("mood == 7", is: "C"), Case("legs == 0x4", is: "AR"),
      Case("weight == 25e-1", is: "A"), Case("legs > -9223372036854775808", is: "ABCR"),
      Case("place != nil", is: "C"), Case("big >= 1.5", is: "C"),
      Case("legs > -9223372036854775809", is: "ABCR"),
      Case("weight > -18446744073709551615", is: "ABCR"),
      Case("price BETWEEN {-10000000000000000000, 1}", is: "ABR"),
      Case("-9223372036854775809 == nil", is: ""),
      Case("-9223372036854775809 < -9223372036854775808", is: "ABCR"),
    ])
  }

  @Test func `and, or, not and parentheses combine conditions`() throws {
    try expect([
      Case("legs = 4 AND rank = 1", is: "A"), Case("legs = 4 && rank = 1", is: "A"),
      Case("rank = 1 OR rank = 2 or legs = 0", is: "ACR"), Case("rank = 1 || rank = 2", is: "AR"),
      Case("not legs = 4", is: "BC"), Case("!(legs = 4)", is: "BC"),
      Case("! NOT legs = 4", is: "AR"),
      Case("rank = 3 OR legs = 4 AND rank = 1", is: "AC"),
      Case("(rank = 3 OR legs = 4) AND rank = 1", is: "A"), Case("TRUEPREDICATE", is: "ABCR"),
      Case("falsepredicate", is: ""), Case("TRUEPREDICATE AND legs = 2", is: "B"),
      Case("((((legs))) = (2))", is: "B"),
    ])
  }

  @Test func `string operators search in strings`() throws {
    try expect([
      Case("name BEGINSWITH 'A'", is: "A"), Case("name beginswith[c] 'a'", is: "A"),
      Case("name BEGINSWITH 'a'", is: ""), Case("name ENDSWITH 'b'", is: "B"),
      Case("name CONTAINS 'e'", is: "CR"), Case("alias CONTAINS[d] 'ce'", is: ""),
      Case("alias CONTAINS[cd] 'ce'", is: "C"), Case("name ==[cd] 'CELINE'", is: "C"),
      Case("name ==[c] 'C\u{c9}LINE'", is: "C"), Case("name !=[cd] 'celine'", is: "ABR"),
      Case("name <[c] 'B'", is: "A"), Case("name LIKE '*e*'", is: "CR"),
      Case("name LIKE '?o?'", is: "B"), Case("name LIKE[cd] 'c*'", is: "C"),
      Case("name LIKE 'A'", is: ""), Case("nick LIKE 'c\\\\*c'", is: "C"),
      Case("name MATCHES '[AB].*'", is: "AB"), Case("name MATCHES 'e'", is: ""),
      Case("name MATCHES[c] 'rEX'", is: "R"), Case("alias MATCHES[cd] 'cel.*'", is: "C"),
      Case("nick CONTAINS 'd'", is: "A"), Case("NOT nick CONTAINS 'd'", is: "BCR"),
      Case("name CONTAINS alias", is: "ABCR"), Case("name IN[c] {'ada', 'BOB'}", is: "AB"),
      Case("name CONTAINS ''", is: "ABCR"), Case("name == 'A\\u0064a'", is: "A"),
      Case("'Rexona' BEGINSWITH name", is: "R"), Case("name LIKE alias", is: "ABCR"),
      Case("nick == 'c%*c' OR nick == 'c*c'", is: "C"), Case("nick CONTAINS '%%'", is: ""),
      Case("nick.@count == nil", is: "BR"), Case("nick.@count == 4", is: "A"),
    ])
  }

  @Test func `ranges, lists and numbers are supported`() throws {
    try expect([
      Case("legs IN {2, 0}", is: "BC"), Case("rank IN {1, nil}", is: "AB"),
      Case("legs IN {}", is: ""),
      Case("weight IN {10, 20.0}", is: "CR"), Case("price IN {0.1, 12}", is: "AC"),
      Case("legs BETWEEN {1, 2}", is: "B"), Case("rank between {2, 3}", is: "CR"),
      Case("legs + 1 = 5", is: "AR"), Case("legs - 1 = 1", is: "B"), Case("legs * 2 = 8", is: "AR"),
      Case("legs / 3 = 1", is: "AR"), Case("legs ** 2 = 16", is: "AR"), Case("-legs = -2", is: "B"),
      Case("1 + legs * 2 = 9", is: "AR"), Case("(1 + legs) * 2 = 6", is: "B"),
      Case("2 ** 3 ** 2 = 512 AND legs = 0", is: "C"), Case("weight / 2 = 5", is: "C"),
      Case("rank + 1 = nil", is: "B"), Case("10 / legs = 5", is: "B"),
      Case("10 / legs = nil", is: "C"),
      Case("legs * 9223372036854775807 * 9 = nil", is: "ABR"), Case("price + 1 = 1.1", is: "A"),
      Case("big * big = nil", is: "C"), Case("big * big * -1 = 0", is: "ABR"),
      Case("legs IN {rank, paws}", is: "ABCR"), Case("8 - legs - 2 = 2", is: "AR"),
      Case("rank == nil + nil", is: "B"), Case("rank + 0.5 == nil", is: "B"),
      Case("weight IN {}", is: ""), Case("big / 2.0 > 9e18", is: "C"),
      Case("price / 4 == 3", is: "C"), Case("price / 0 == nil", is: "ABCR"),
      Case("price * %@ == nil", Decimal.greatestFiniteMagnitude, is: "C"),
      Case("ANY {2, 3} = legs", is: "B"), Case("ALL {2, 3} > legs", is: "C"),
      Case("NONE {0, 4} = legs", is: "B"), Case("{2, 4}.@max = legs", is: "AR"),
      Case("SUBQUERY({1, 3, 5}, $n, $n < legs).@count = 2", is: "AR"),
    ])
  }

  @Test(.evidence("P-04")) func `key paths lead through relationships`() throws {
    try expect([
      Case("home.street == 'Elm'", is: "AB"), Case("home.town.name == 'Ur'", is: "AB"),
      Case("home.town.name == nil", is: "CR"), Case("home == nil", is: "R"),
      Case("home.rooms > 2", is: "AB"), Case("home.animals.@count == 2", is: "AB"),
      Case("idols.@count == 0", is: "BCR"), Case("ANY idols.legs == 2", is: "A"),
      Case("SOME idols.rank == nil", is: "A"), Case("any admirers.name BEGINSWITH 'A'", is: "BR"),
      Case("ALL idols.legs == 2", is: "BCR"), Case("ALL idols.legs > 1", is: "ABCR"),
      Case("NONE idols.legs == 4", is: "BC" + "R"), Case("ANY idols.legs IN {4}", is: "A"),
      Case("ANY home.animals.name LIKE 'C*'", is: "C"),
      Case("ANY idols.home.street = 'Elm'", is: "A"),
      Case("idols.@sum.legs == 6", is: "A"), Case("idols.@max.weight == 20", is: "A"),
      Case("idols.@min.weight < 0", is: "A"), Case("idols.@avg.legs == 3", is: "A"),
      Case("idols.@sum.legs == 0", is: "BCR"), Case("idols.@max.legs == nil", is: "BCR"),
      Case("SUBQUERY(idols, $i, $i.legs == 4).@count == 1", is: "A"),
      Case("subquery(idols, $i, $i.legs > 1 AND $i.name != name).@count > 1", is: "A"),
      Case(
        "SUBQUERY(home.animals, $a, SUBQUERY($a.idols, $b, $b.name = 'Rex').@count > 0)"
          + ".@count = 1", is: "AB"),
      Case("SUBQUERY(idols, $i, $i.legs = 4).@sum.legs = 4", is: "A"),
      Case("4 IN idols.legs", is: "A"), Case("SELF IN home.animals", is: "ABC"),
      Case("home.town.homes.@count = 1", is: "AB"),
      Case("ANY home.town.homes.street = 'Elm'", is: "AB"),
      Case("SELF.legs == 2", is: "B"), Case("self == nil", is: ""), Case("ANY idols = nil", is: ""),
      Case("idols.@sum.price = 0", is: "ABCR"), Case("home.animals.@max.price = 0.1", is: "AB"),
      Case("home.animals.@avg.price = 0.05", is: "AB"), Case("home IN {SELF, home}", is: "ABCR"),
    ])
  }

  @Test(.evidence("P-04"), .evidence("P-09"), arguments: ["other, SELF", "SELF, other"])
  func `a list of objects has the properties of their common superclass`(elements: String) throws {
    let fixture = try GraphFixture(Schema(Everything.self, More.self))
    try fixture.saved { context in
      let other = Everything(context: context)
      other.int8 = 3
      More(context: context).other = other
      _ = More(context: context)
    }
    func count(_ value: Int, _ context: ManagedObjectContext) throws -> Int {
      let format = "ANY {\(elements)}.int8 == \(value)"
      return try context.count(
        for: FetchRequest<More>(where: try QueryPredicate(format: format)))
    }
    let context = fixture.context()
    #expect(try count(3, context) == 1 && count(-8, context) == 2)
    let child = fixture.child(of: context)
    for object in try child.fetch(FetchRequest<Everything>()) where object.int8 == 3 {
      object.int8 = 9
    }
    #expect(try count(3, child) == 0 && count(9, child) == 1)
  }
}
