import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Foundation predicates")
struct PredicateTests {
  @Test(.evidence("P-01"), .evidence("P-03")) func `Foundation predicates compare and combine`()
    throws
  {
    let zoo = try Zoo()
    let none: String? = nil
    let four = 4
    var cases: [(Predicate<Animal>, String)] = []
    cases.append((#Predicate { $0.legs == four }, "AR"))
    cases.append((#Predicate { $0.legs != four && $0.paws > 1 }, "B"))
    cases.append((#Predicate { $0.legs <= 2 || $0.weight < 3 }, "ABC"))
    let alternatives = #Predicate<Animal> { $0.legs == 0 || $0.isTame || $0.rank == 2 }
    cases.append((alternatives, "ACR"))
    cases.append((#Predicate { !($0.legs >= 4) }, "BC"))
    cases.append((#Predicate { $0.nick == none }, "BR"))
    cases.append((#Predicate { $0.nick != nil }, "AC"))
    cases.append((#Predicate { $0.rank == 2 }, "R"))
    cases.append((#Predicate { $0.rank != 2 }, "ABC"))
    cases.append((#Predicate { $0.isTame }, "A"))
    cases.append((#Predicate { _ in true }, "ABCR"))
    cases.append((#Predicate { _ in false }, ""))
    cases.append((#Predicate { ($0.legs > 1 ? $0.paws : 7) == 7 }, "C"))
    cases.append((#Predicate { ($0.rank ?? 9) > 2 }, "BC"))
    cases.append((#Predicate { if let rank = $0.rank { rank > 1 } else { true } }, "BCR"))
    cases.append((#Predicate { $0.rank! > 1 }, "CR"))
    for (position, (predicate, letters)) in cases.enumerated() {
      #expect(try zoo.letters(predicate) == letters, "case \(position)")
    }
  }

  @Test(.evidence("P-09"), .evidence("V-06"))
  func `comparisons with NaN have the same results with and without an index`() throws {
    let fixture = try GraphFixture(animals)
    let context = fixture.context()
    for number in 0..<200 {
      let animal = Animal(context: context)
      animal.weight = Double(number)
      animal.length = Float(number)
    }
    try context.save()
    let nan = Double.nan
    let predicates: [(Predicate<Animal>, Int)] = [
      (#Predicate { $0.weight >= nan || $0.weight >= 190 }, 10),
      (#Predicate { $0.weight >= nan || $0.weight == 3 }, 1),
      (#Predicate { $0.weight < nan || $0.weight < 3 }, 3),
      (#Predicate { $0.weight == nan || $0.weight > 198 }, 1),
      (#Predicate { !($0.weight > nan) && $0.weight > 198 }, 1),
      (#Predicate { $0.weight >= nan && $0.weight >= 0 }, 0),
    ]
    for (position, (predicate, count)) in predicates.enumerated() {
      let found = try context.count(for: FetchRequest<Animal>(where: predicate))
      #expect(found == count, "case \(position)")
    }
    let format = try QueryPredicate<Animal>(
      format: "weight >= %@ OR weight >= 190", arguments: [nan])
    #expect(try context.count(for: FetchRequest<Animal>(where: format)) == 10)
  }

  @Test(.evidence("P-01"), .evidence("P-05"))
  func `Foundation predicates support values of all types`() throws {
    let zoo = try Zoo()
    let tenth = Decimal(string: "0.1") ?? 0
    let (later, code) = (Date(timeIntervalSinceReferenceDate: 10), zoo.bob.code)
    let (large, short) = (UInt64.max, Float(1.1))
    var cases: [(Predicate<Animal>, String)] = []
    cases.append((#Predicate { $0.price == tenth }, "A"))
    cases.append((#Predicate { $0.price > tenth }, "C"))
    cases.append((#Predicate { $0.born > later }, "R"))
    cases.append((#Predicate { $0.code == code }, "B"))
    cases.append((#Predicate { $0.big == large }, "C"))
    cases.append((#Predicate { $0.length == short }, "A"))
    cases.append((#Predicate { $0.place == nil }, "ABR"))
    cases.append((#Predicate { $0.legs + 1 == 5 }, "AR"))
    cases.append((#Predicate { 10 - $0.legs == 8 }, "B"))
    cases.append((#Predicate { $0.legs * 3 > 7 }, "AR"))
    cases.append((#Predicate { -$0.legs == -2 }, "B"))
    cases.append((#Predicate { $0.weight / 4 == 5 }, "R"))
    cases.append((#Predicate { 9 / $0.legs == 2 }, "AR"))
    cases.append((#Predicate { $0.legs % 3 == 1 }, "AR"))
    for (position, (predicate, letters)) in cases.enumerated() {
      #expect(try zoo.letters(predicate) == letters, "case \(position)")
    }
  }

  @Test(.evidence("P-01"), .evidence("P-06"))
  func `Foundation predicates search in strings, lists and ranges`() throws {
    let zoo = try Zoo()
    let (composed, few, bounds) = ("C\u{e9}line", [0, 2], 2...4)
    let nicks: [String?] = ["Addy", nil]
    var cases: [(Predicate<Animal>, String)] = []
    cases.append((#Predicate { $0.name == composed }, "C"))
    cases.append((#Predicate { $0.alias == composed }, "C"))
    cases.append((#Predicate { $0.name.contains("e") }, "CR"))
    cases.append((#Predicate { $0.name.contains("\u{301}") }, ""))
    cases.append((#Predicate { $0.name.starts(with: "C\u{e9}") }, "C"))
    cases.append((#Predicate { $0.nick?.contains("d") ?? true }, "ABR"))
    cases.append((#Predicate { $0.nick?.contains("d") == nil }, "BR"))
    cases.append((#Predicate { $0.name.count == 6 }, "C"))
    cases.append((#Predicate { $0.name.isEmpty }, ""))
    cases.append((#Predicate { $0.name.contains(/[Bx]/) }, "BR"))
    cases.append((#Predicate { few.contains($0.legs) }, "BC"))
    cases.append((#Predicate { nicks.contains($0.nick) }, "ABR"))
    cases.append((#Predicate { bounds.contains($0.legs) }, "ABR"))
    cases.append((#Predicate { (0..<4).contains($0.legs) }, "BC"))
    cases.append((#Predicate { ($0.paws...4).contains(3) }, "BC"))
    cases.append((#Predicate { (few.max() ?? 0) == $0.legs }, "B"))
    cases.append((#Predicate { few[0] == $0.legs }, "C"))
    for (position, (predicate, letters)) in cases.enumerated() {
      #expect(try zoo.letters(predicate) == letters, "case \(position)")
    }
  }

  @Test(.evidence("P-01"), .evidence("P-04"))
  func `Foundation predicates lead through relationships`() throws {
    let zoo = try Zoo()
    let (home, bob) = (zoo.elm.objectID, zoo.bob.objectID)
    let ids = [bob, zoo.rex.objectID]
    var cases: [(Predicate<Animal>, String)] = []
    cases.append((#Predicate { $0.home?.street == "Elm" }, "AB"))
    cases.append((#Predicate { $0.home == nil }, "R"))
    cases.append((#Predicate { $0.home?.objectID == home }, "AB"))
    cases.append((#Predicate { $0.home?.town == nil }, "CR"))
    cases.append((#Predicate { $0.home!.rooms == 3 }, "AB"))
    cases.append((#Predicate { $0.objectID == bob }, "B"))
    cases.append((#Predicate { ids.contains($0.objectID) }, "BR"))
    cases.append((#Predicate { $0.idols.count == 2 }, "A"))
    cases.append((#Predicate { $0.idols.isEmpty }, "BCR"))
    cases.append((#Predicate { $0.home?.animals.count == nil }, "R"))
    cases.append((#Predicate { $0.idols.contains { $0.legs == 2 } }, "A"))
    cases.append((#Predicate { $0.idols.allSatisfy { $0.legs == 2 } }, "BCR"))
    cases.append((#Predicate { $0.idols.filter { $0.legs == 4 }.count == 1 }, "A"))
    cases.append((#Predicate { one in one.idols.contains { $0.legs < one.legs } }, "A"))
    cases.append((#Predicate { $0.idols.contains { $0.admirers.contains { $0.legs == 4 } } }, "A"))
    cases.append((#Predicate { $0.home?.town?.homes.first?.street == "Elm" }, "AB"))
    cases.append((#Predicate { $0 is Dog }, "R"))
    cases.append((#Predicate { ($0 as? Dog)?.tricks == 5 }, "R"))
    cases.append((#Predicate { ($0 as! Dog).tricks == 5 }, "R"))
    cases.append((#Predicate { ($0 as? Dog) == nil }, "ABC"))
    cases.append((#Predicate { ($0.legs == 4 ? $0.place : $0.place) == nil }, "ABR"))
    let filtered = #Predicate<Animal> { animal in
      if let some = animal.home.flatMap({ home in home.animals.filter { $0.legs == 4 } }) {
        some.count == 1
      } else {
        false
      }
    }
    cases.append((filtered, "AB"))
    for (position, (predicate, letters)) in cases.enumerated() {
      #expect(try zoo.letters(predicate) == letters, "case \(position)")
    }
  }

  @Test(.evidence("P-10")) func `Foundation predicates combine with format predicates`() throws {
    let zoo = try Zoo()
    let four = QueryPredicate<Animal>(#Predicate { $0.legs == 4 })
    let first = try QueryPredicate<Animal>(format: "rank == %d", 1)
    #expect(try zoo.letters(four.and(first)) == "A" && zoo.letters(four && first) == "A")
    #expect(try zoo.letters(four.or(first.not)) == "ABCR" && zoo.letters(four || first) == "AR")
    #expect(try zoo.letters(four.not) == "BC" && zoo.letters(!four && !first) == "BC")
  }

  @Test(.evidence("P-02")) func `an unsupported expression is named in the error`() throws {
    let zoo = try Zoo()
    let place = Place(latitude: 1, longitude: 2)
    var cases: [(Predicate<Animal>, String)] = []
    cases.append((#Predicate { $0.place == place }, "latitude"))
    cases.append((#Predicate { $0.place?.latitude == 1 }, "latitude"))
    cases.append((#Predicate { $0.note == "x" }, "note"))
    cases.append((#Predicate { $0.name.first == nil }, "String"))
    cases.append((#Predicate { $0.mood.rawValue == 7 }, "Severity"))
    let (few, evens) = ([0, 2], Evens())
    cases.append((#Predicate { few[$0.legs] == 2 }, "CollectionIndexSubscript"))
    cases.append((#Predicate { evens.contains($0.legs) }, "Evens"))
    for (predicate, word) in cases {
      let error = #expect(throws: ObjectGraphError.self) { try zoo.letters(predicate) }
      #expect(error?.message.contains(word) == true, "\(String(describing: error))")
    }
  }

  @Test(.evidence("P-02")) func `predicates that are composed of nodes do not trap`() throws {
    typealias Nodes = PredicateExpressions
    typealias Legs = Nodes.KeyPath<Nodes.Variable<Animal>, Int>
    let zoo = try Zoo()
    let range = Predicate<Animal> { animal in
      Nodes.SequenceContains(
        sequence: Nodes.build_Arg(2...4),
        element: Nodes.build_KeyPath(root: animal, keyPath: \.legs))
    }
    #expect(try zoo.letters(range) == "ABR")
    var cases: [(Predicate<Animal>, String)] = []
    cases.append(
      (
        Predicate { _ in
          Nodes.build_KeyPath(root: Nodes.Variable<Animal>(), keyPath: \.isTame)
        }, "does not declare"
      ))
    cases.append(
      (
        Predicate { animal in
          var inner = animal
          let idols = Nodes.build_KeyPath(root: animal, keyPath: \.idols)
          let some = Nodes.build_contains(idols) { idol in
            inner = idol
            return Nodes.build_KeyPath(root: idol, keyPath: \.isTame)
          }
          return Nodes.build_Conjunction(
            lhs: some, rhs: Nodes.build_KeyPath(root: inner, keyPath: \.isTame))
        }, "outside the closure"
      ))
    cases.append(
      (
        Predicate { animal in
          Nodes.TypeCheck<Legs, Int>(Nodes.build_KeyPath(root: animal, keyPath: \.legs))
        }, "casts an object to Int"
      ))
    cases.append(
      (
        Predicate { animal in
          Nodes.TypeCheck<Legs, Dog>(Nodes.build_KeyPath(root: animal, keyPath: \.legs))
        }, "only objects can be cast"
      ))
    cases.append(
      (
        Predicate { animal in
          let regex = Nodes.build_Conditional(
            Nodes.build_KeyPath(root: animal, keyPath: \.isTame), Nodes.build_Arg(/a/),
            Nodes.build_Arg(/b/))
          return Nodes.StringContainsRegex(
            subject: Nodes.build_KeyPath(root: animal, keyPath: \.name), regex: regex)
        }, "Conditional"
      ))
    for (predicate, words) in cases {
      let error = #expect(throws: ObjectGraphError.self) { try zoo.letters(predicate) }
      #expect(error?.kind == .unsupportedPredicate)
      #expect(error?.message.contains(words) == true, "\(String(describing: error))")
    }
  }

  @Test(.evidence("P-02")) func `ranges of values of a Codable type are not supported`() throws {
    let fixture = try GraphFixture(Schema(Manual.self))
    let editions = Edition(number: 1)...Edition(number: 2)
    let predicate = #Predicate<Manual> { editions.contains($0.edition) }
    expect(.unsupportedPredicate, "Edition") {
      _ = try fixture.context().fetch(FetchRequest<Manual>(where: predicate))
    }
  }

  @Test(.evidence("P-02")) func `IDs of another store match nothing`() throws {
    let (zoo, other) = (try Zoo(), try Zoo())
    let id = other.bob.objectID
    #expect(try zoo.letters(#Predicate { $0.objectID == id }) == "")
    #expect(try zoo.letters("SELF == %@", [id]) == "")
    #expect(try zoo.letters("SELF IN %@", [[zoo.bob.objectID, id]]) == "B")
    #expect(try zoo.letters("ANY idols == %@", [zoo.rex.objectID]) == "A")
    #expect(try zoo.letters("home == %@", [zoo.oak.objectID]) == "C")
  }

  /// Saves animals whose ranks and legs are given, and returns the ones that a predicate finds.
  private func found(_ ranks: [Int?], _ format: String) throws -> [Int?] {
    let fixture = try GraphFixture(animals)
    try fixture.saved { context in
      for rank in ranks { Animal(context: context).rank = rank }
    }
    let request = FetchRequest<Animal>(where: try QueryPredicate(format: format))
    return try fixture.context().fetch(request).map(\.rank)
  }

  @Test(
    .evidence("FO-02"),
    arguments: [
      "rank > 1000 OR rank < -1000 OR rank == nil", "rank < -1000 OR rank > 1000 OR rank == nil",
      "rank > 1000 OR rank == nil OR rank < -1000",
    ])
  func `an index finds the objects of all alternatives`(format: String) throws {
    let ranks = [nil, -2000, 2000] + (0..<300).map { Optional($0) }
    #expect(try found(ranks, format) == [nil, -2000, 2000])
    #expect(try found(ranks, "rank > 1000 OR rank < -1000") == [-2000, 2000])
    #expect(try found(ranks, "rank < -1000 OR rank > 1000") == [-2000, 2000])
    #expect(try found(ranks, "rank > 1000 OR rank == nil") == [nil, 2000])
  }

  @Test(.evidence("P-09"), .evidence("FO-02"))
  func `an index finds what combined alternatives match`() throws {
    let fixture = try GraphFixture(animals)
    try fixture.saved { context in
      for number in 0..<300 {
        let animal = Animal(context: context)
        (animal.legs, animal.paws) = (number, number)
        (animal.name, animal.alias) = ("n\(number)", "n\(number)")
      }
    }
    let context = fixture.context()
    let legs = [
      "x == 7", "x IN {250, 5, 7}", "x IN {7, 9}", "x IN {}", "x > 6", "x >= 5 AND x < 9", "x < 3",
      "x != 4",
    ]
    let names = ["x BEGINSWITH 'n7'", "x == 'n7'", "x IN {'n8', 'n70'}", "x > 'n69'", "x < 'n1'"]
    func ids(_ format: String, _ name: String) throws -> [ManagedObjectID] {
      let predicate = try QueryPredicate<Animal>(
        format: format.replacing(/\bx\b/, with: name))
      return try context.fetchObjectIDs(FetchRequest<Animal>(where: predicate))
    }
    for (terms, indexed, plain) in [(legs, "legs", "paws"), (names, "name", "alias")] {
      let pairs = terms.flatMap { first in terms.map { "(\(first) AND \($0))" } }
      for (position, pair) in pairs.enumerated() {
        let format = "\(pair) OR \(pairs[(7 * position + 3) % pairs.count])"
        #expect(try ids(format, indexed) == ids(format, plain), "\(format)")
      }
    }
  }

  @Test(.evidence("P-05"), .evidence("P-09"))
  func `an index finds numbers beside an integer that is not one of them`() throws {
    let fixture = try GraphFixture(animals)
    try fixture.saved { context in
      for number in 0..<300 {
        let large = Double(1 << 53) + Double(2 * number)
        Animal(context: context).weight = number < 5 ? large : Double(number)
      }
    }
    let cases = [
      ("weight > 9007199254740993", 4), ("weight >= 9007199254740993", 4),
      ("weight > 299 AND weight < 9007199254740993", 1),
      ("weight > 299 AND weight <= 9007199254740993", 1), ("weight == 9007199254740993", 0),
      ("weight IN {9007199254740993}", 0), ("weight IN {9007199254740994}", 1),
    ]
    for (format, count) in cases {
      let request = FetchRequest<Animal>(where: try QueryPredicate(format: format))
      #expect(try fixture.context().fetch(request).count == count, "\(format)")
      #expect(try fixture.context().count(for: request) == count, "\(format)")
    }
  }

  @Test(.evidence("P-05")) func `an integer equals no number with a fraction`() throws {
    #expect(try found([2, 3], "rank == 2.5") == [] && found([2, 3], "rank > 2.5") == [3])
    #expect(try found([2, 3], "rank + 0 < 2.5") == [2])
    #expect(try found([2, 3], "rank + 0 == 2.5") == [])
  }

  @Test(.evidence("V-06")) func `the least number of a collection is not NaN`() throws {
    let fixture = try GraphFixture(animals)
    try fixture.saved { context in
      let home = Home(context: context)
      for weight in [Double.nan, 5, 7] {
        let animal = Animal(context: context)
        (animal.weight, animal.home) = (weight, home)
      }
    }
    for format in ["animals.@min.weight == 5", "animals.@max.weight == 7"] {
      let request = FetchRequest<Home>(where: try QueryPredicate(format: format))
      #expect(try fixture.context().count(for: request) == 1, "\(format)")
    }
  }
}

/// The even numbers, as a range expression of the program.
private struct Evens: RangeExpression, Codable, Sendable {
  func relative<C: Collection>(to collection: C) -> Range<Int> where C.Index == Int {
    collection.startIndex..<collection.endIndex
  }

  func contains(_ element: Int) -> Bool { element.isMultiple(of: 2) }
}

private struct Edition: Codable, Comparable, AttributeValue {
  var number = 0

  static func < (first: Edition, second: Edition) -> Bool { first.number < second.number }
}

private final class Manual: ManagedObject {
  @Attribute var edition: Edition = Edition()
}
