import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Invalid predicate formats")
struct FormatErrorTests {
  @Test(
    .evidence("P-07"),
    arguments: [
      ("", "column 1 of the predicate format: expected a value, but found the end."),
      ("legs ==", "column 8 of the predicate format: expected a value, but found the end."),
      (
        "legs == 4 5", "11 of the predicate format: expected AND, OR, an operator or the end, but"
      ),
      ("legs == AND", "9 of the predicate format: expected a value, but found \"AND\"."),
      ("(legs == 4", "11 of the predicate format: expected ), but found the end."),
      ("legs ==[cx] 'a'", "9 of the predicate format: expected c, d or both, but found \"cx\"."),
      ("legs ==[c 'a'", "11 of the predicate format: expected ], but found"),
      ("name == 'abc", "9 of the predicate format: expected ' at the end of the string"),
      ("name == 'a\\q'", "11 of the predicate format: expected n, t, r, u, a quote"),
      ("name == '\\u12'", "10 of the predicate format: expected four hexadecimal digits"),
      ("legs BETWEEN 3", "14 of the predicate format: expected a list of two values"),
      ("legs BETWEEN {1, 2, 3}", "14 of the predicate format: expected a list of two"),
      ("legs IN {1, 2", "14 of the predicate format: expected }, but found the end."),
      ("legs == %@", "9 of the predicate format: expected an argument for %@."),
      ("legs == %x", "9 of the predicate format: expected %@, %K, %d, %i, %u, %f or %g."),
      ("legs == $x", "9 of the predicate format: expected a variable of an enclosing SUBQUERY"),
      (
        "SUBQUERY(idols, x, TRUEPREDICATE).@count = 1", "17 of the predicate format: expected a v"
      ),
      ("idols.@median.legs = 1", "7 of the predicate format: expected @count, @sum, @min, @max"),
      ("idols.4", "7 of the predicate format: expected the name of a property, but found"),
      ("FUNCTION(legs)", "1 of the predicate format: expected a value, but found the unknown fun"),
      (
        "legs == 1\(String(repeating: "0", count: 400))",
        "9 of the predicate format: expected a smaller integer"
      ),
      ("legs == 0xg", "9 of the predicate format: expected a hexadecimal number"),
      ("legs ; 3", "6 of the predicate format: expected an operator, a name or a value, but fo"),
      ("ANY idols", "10 of the predicate format: expected an operator, but found the end."),
      ("# == 3", "2 of the predicate format: expected a name after #."),
    ])
  func `a syntax error names the column and what was expected`(format: String, message: String) {
    let error = #expect(throws: ObjectGraphError.self) {
      try QueryPredicate<Animal>(format: format)
    }
    #expect(error?.kind == .predicateSyntax)
    #expect(error?.message.contains(message) == true, "\(String(describing: error))")
  }

  @Test(
    .evidence("P-02"), .evidence("P-07"),
    arguments: [
      ("height == 3", "Animal has no property named height."),
      ("home.height == 3", "Home has no property named height."),
      ("ANY idols.height == 3", "Animal has no property named height."),
      ("tricks == 3", "Animal has no property named tricks."),
      ("note == 'x'", "Animal.note exists only in memory, so it cannot be used in a query."),
      ("legs.height == 3", "reads a property of legs, which is an integer."),
      ("legs == 'four'", "The predicate compares legs (an integer) with a string. Values"),
      ("name < 3", "The predicate compares name (a string) with an integer. Values of these types"),
      ("name CONTAINS 3", "The predicate applies a string operator to an integer. Use strings"),
      ("legs CONTAINS 'x'", "The predicate applies a string operator to legs (an integer). Use"),
      ("legs IN 3", "The predicate uses an integer as a collection."),
      ("legs IN {'a'}", "cannot be compared"),
      ("legs IN {1, 'a'}", "A list in the predicate contains both an integer and a string."),
      ("isTame < YES", "The operator < cannot be applied to isTame (a boolean), because values"),
      ("home < SELF", "The operator < cannot be applied to home (an object of Home), because"),
      ("place == 'x'", "The predicate compares place (a value of a Codable type) with a string."),
      ("legs", "The predicate uses legs (an integer) as a condition."),
      ("idols == nil", "cannot be compared"), ("idols.legs == 2", "cannot be compared"),
      ("ANY legs == 2", "The predicate uses legs (an integer) as a collection."),
      ("name + 1 == 2", "applies an arithmetic operator to name (a string) and an integer, but"),
      ("idols.@sum.name == 2", "each element of idols.name is a string."),
      ("name MATCHES '['", "\"[\" is not a valid regular expression"),
      ("name MATCHES alias", "must be a constant string, but alias is not."),
      ("price ** 2 == 2", "applies an arithmetic operator to price (a decimal number) and"),
      ("home.@count = 1", "The predicate uses home (an object of Home) as a collection."),
      ("{}.street == 'x'", "The predicate reads a property of a list, which is nil."),
      ("legs IN {{1}, {2}}", "A single value is required, but a list is a collection."),
    ])
  func `a format with wrong names or types throws when it is used`(
    format: String, message: String
  ) throws {
    let zoo = try Zoo()
    let error = #expect(throws: ObjectGraphError.self) { try zoo.letters(format) }
    let isName = message.contains("no property") || message.contains("in memory")
    #expect(error?.kind == (isName ? .unknownProperty : .unsupportedPredicate))
    #expect(error?.message.contains(message) == true, "\(String(describing: error))")
  }

  @Test(.evidence("P-08")) func `format arguments are values, whatever they contain`() throws {
    let zoo = try Zoo()
    let attack = "x' OR TRUEPREDICATE OR name == 'x"
    #expect(try zoo.letters("name == %@", [attack]) == "")
    #expect(try zoo.letters("name LIKE %@", [attack]) == "")
    #expect(try zoo.letters("name == '%@' OR legs == %d", [2]) == "B")
    zoo.bob.nick = attack
    try zoo.context.save()
    #expect(try zoo.letters("nick == %@", [attack]) == "B")
    #expect(try zoo.letters("%K == %@", ["nick", attack]) == "B")
    for path in ["legs == 4 OR legs", "1 OR legs", "", "legs ", "home..street", "'a'", "@all"] {
      let error = #expect(throws: ObjectGraphError.self) {
        try zoo.letters("%K == 4", [path])
      }
      #expect(error?.kind == .unknownProperty, "\(path)")
    }
  }

  @Test(.evidence("P-08")) func `format arguments must fit their placeholders`() throws {
    let zoo = try Zoo()
    let none: Int? = nil
    let some: Int? = 2
    let (code, later) = (zoo.bob.code, Date(timeIntervalSinceReferenceDate: 1))
    #expect(try zoo.letters("legs IN %@", [[0, 2]]) == "BC")
    #expect(try zoo.letters("legs IN %@", [Set([4])]) == "AR")
    #expect(try zoo.letters("legs BETWEEN %@", [[1, 3]]) == "B")
    #expect(try zoo.letters("rank == %@", [none]) == "B")
    #expect(try zoo.letters("rank == %@", [some]) == "R")
    #expect(try zoo.letters("code == %@ OR born > %@", [code, later]) == "BR")
    #expect(try zoo.letters("mood == %@", [Severity.high]) == "C")
    #expect(try zoo.letters("%K.@count == %ld", ["idols", 2]) == "A")
    #expect(try zoo.letters("%K == %@", ["SELF", zoo.bob.objectID]) == "B")
    #expect(try zoo.letters("%K > 3 AND rank = %i", ["idols.@sum.legs", 1]) == "A")
    #expect(try zoo.letters("weight == %f AND legs < %lu", [2.5, UInt(9)]) == "A")
    #expect(try zoo.letters("price == %@", [Decimal(12)]) == "C")
    #expect(try zoo.letters("#legs == 4 AND #name.@count = 3", []) == "AR")
    let wrong: [(String, [any Sendable])] = [
      ("legs == %d", ["2"]), ("legs == %d", [2.5]), ("weight == %f", ["x"]), ("%K == 1", [1]),
      ("legs == %@", [Place(latitude: 1, longitude: 1)]), ("legs == 1", [1]),
      ("legs IN %@", [1...Int.max]), ("legs IN %@", [["a": 1]]),
    ]
    for (format, arguments) in wrong {
      let error = #expect(throws: ObjectGraphError.self) { try zoo.letters(format, arguments) }
      #expect(error?.kind == .predicateSyntax, "\(format)")
    }
  }

  @Test(
    .evidence("P-02"),
    arguments: ["(", "NOT ", "-", "legs + ", "legs ** ", "home.", "SUBQUERY(idols, $x, "])
  func `overly long formats are rejected before the stack overflows`(part: String) {
    let format =
      String(repeating: part, count: TestScale.pick(quick: 20_000, all: 100_000)) + "legs == 2"
    #expect(throws: ObjectGraphError.self) { try QueryPredicate<Animal>(format: format) }
  }
}
