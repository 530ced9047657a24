import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("User input of text searches")
struct UserInputTests {
  private static let texts = [
    "swift data", "swift and sqlite", "data base", "the swift bird", "data structures in swift",
    "taylor swift", "wrod", "word",
  ]

  @Test(
    .evidence("TX-04"),
    arguments: [
      ("swift", [0, 1, 3, 4, 5]), ("swift data", [0, 4]), ("swift AND data", [0, 4]),
      ("swift OR base", [0, 1, 2, 3, 4, 5]), ("swift NOT data", [1, 3, 5]),
      ("swift -data -taylor", [1, 3]), ("\"swift data\"", [0]), ("dat*", [0, 2, 4]),
      ("(data OR bird) swift", [0, 3, 4]), ("title:bird", [3]), ("title:(bird OR taylor)", [3, 5]),
      ("word~", [6, 7]), ("wird~2", [3, 6, 7]), ("NEAR(data swift, 2)", [0]),
      ("NEAR(data swift, 3)", [0, 4]), ("NEAR(\"data structures\" swift)", [4]),
      ("swift:data", [0]), ("nobody:data", []), ("SWIFT Data", [0, 4]), ("“swift data”", [0]),
      ("", []), ("AND", []), ("OR swift", [0, 1, 3, 4, 5]), ("swift AND", [0, 1, 3, 4, 5]),
      ("NOT", []), ("((swift", [0, 1, 3, 4, 5]), ("swift))) data", [0, 4]), ("\"swift data", [0]),
      ("*", []), ("-", []), ("~", []), (":", []), ("title:", []), ("NEAR(", []),
      ("NEAR(swift", [0, 1, 3, 4, 5]), ("swift:)", [0, 1, 3, 4, 5]), ("(swift:) data", [0, 4]),
      ("data:( ", [0, 2, 4]), ("bird:OR base", [2, 3]), ("title:)", []),
      ("\"\"", []), ("()", []), ("!?…", []), ("swift -\"\"", [0, 1, 3, 4, 5]),
    ] as [(String, [Int])])
  func `every input is a query`(input: String, expected: [Int]) throws {
    let fixture = try TextFixture()
    try fixture.save(Self.texts.map { ($0, nil) })
    let found = try fixture.titles(TextQuery(userInput: input))
    if input == "swift:data" {
      // "swift" is not an attribute, so both words must occur.
      #expect(found == ["data structures in swift", "swift data"])
    } else {
      #expect(found == expected.map { Self.texts[$0] }.sorted(), "\(input)")
    }
  }

  @Test(
    .evidence("TX-04"), .evidence("TX-10"), .mustEnd, arguments: TestScale.seeds(quick: 2, all: 20))
  func `random input neither throws nor takes long`(seed: UInt64) throws {
    let fixture = try TextFixture()
    try fixture.save(Self.texts.map { ($0, nil) })
    let context = fixture.context()
    var random = SeededGenerator(seed: seed)
    let parts = [
      "\"", "(", ")", " ", "-", "*", "~", ":", "AND ", "OR ", "NOT ", "NEAR(", ",", "9", "swift",
      "dat", "title:", "\u{0}", "\u{301}", "東京", "🙂", "'", ".", "~99999999999999999999",
    ]
    for _ in 0..<300 {
      let input = (0..<Int.random(in: 0...30, using: &random)).map { _ in
        parts.randomElement(using: &random) ?? ""
      }.joined()
      _ = try context.fetch(FetchRequest<Essay>(matching: TextQuery(userInput: input), limit: 3))
    }
    let many = (0..<100_000).map { "word\($0)" }.joined(separator: " OR ")
    #expect(try fixture.titles(TextQuery(userInput: many)) == [])
    let deep = String(repeating: "(", count: 20_000) + "swift"
    #expect(try fixture.titles(TextQuery(userInput: deep)).count == 5)
    _ = try fixture.titles(TextQuery(userInput: String(repeating: "-", count: 100_000) + "swift"))
  }

  @Test(.evidence("TX-10"), .mustEnd) func `a query that is too large throws`() throws {
    let fixture = try TextFixture()
    let context = fixture.context()
    let wide = TextQuery.any((0..<100_000).map { .word("word\($0)") })
    #expect(throws: ObjectGraphError.self) {
      try context.fetch(FetchRequest<Essay>(matching: wide))
    }
    var deep = TextQuery.word("swift")
    for _ in 0..<1000 { deep = !deep }
    #expect(throws: ObjectGraphError.self) {
      try context.fetch(FetchRequest<Essay>(matching: deep))
    }
    for count in [300, 10_000, 200_000] {
      var (negated, mixed) = (TextQuery.word("a"), TextQuery.word("a"))
      for number in 0..<count {
        negated = !negated
        mixed = number % 2 == 0 ? mixed && .word("b") : mixed || .word("c")
      }
      for query in [negated, mixed] {
        #expect(throws: ObjectGraphError.self) {
          try context.count(for: FetchRequest<Essay>(matching: query))
        }
      }
    }
    var long = TextQuery.word("a")
    for number in 0..<100_000 { long = long || .word("\(number)") }
    #expect(throws: ObjectGraphError.self) {
      try context.count(for: FetchRequest<Essay>(matching: long))
    }
    let phrase = TextQuery.phrase(String(repeating: "ha ", count: 1001))
    let terms = TextQuery.any((0...1000).map { .word("word\($0)") })
    for query in [phrase, terms] {
      #expect(throws: ObjectGraphError.self) {
        try context.count(for: FetchRequest<Essay>(matching: query))
      }
    }
    // Identical parts of a query are searched for only once.
    let same = TextQuery.any((0..<10_000).map { _ in .word("swift") })
    #expect(try context.count(for: FetchRequest<Essay>(matching: same)) == 0)
  }

  @Test(.evidence("TX-04"), .evidence("TX-10"), .mustEnd)
  func `long pasted input neither throws nor takes long`() throws {
    let fixture = try TextFixture()
    let laughter = String(repeating: "ha ", count: 20_000)
    try fixture.save([(laughter, nil), ("ha b", nil), ("other", nil)])
    let chinese = String(String.UnicodeScalarView((0x4E00..<0x5A00).compactMap { .init($0) }))
    let words = (0..<3000).map { "number\($0)" }
    for input in [
      chinese, "\"" + words.joined(separator: " ") + "\"", words.joined(separator: "-"),
      "NEAR(" + words.joined(separator: " ") + ")",
      words.map { $0 + "~2" }.joined(separator: " OR "),
      words.map { $0 + "*" }.joined(separator: " "),
      words.map { $0 + ":)" }.joined(separator: " "),
    ] {
      #expect(try fixture.titles(TextQuery(userInput: input)) == [], "\(input.prefix(20))")
    }
    let repeated = [
      "\"" + laughter + "\"", "NEAR(" + laughter + ", 1000)",
      String(repeating: "(ha ", count: 10_000), String(repeating: "ha:", count: 10_000) + "ha",
    ]
    for input in repeated {
      #expect(try fixture.titles(TextQuery(userInput: input)).contains(laughter))
      // The query must also find an unsaved object in memory.
      let context = fixture.context()
      Essay(context: context).title = laughter
      #expect(try fixture.titles(TextQuery(userInput: input), context).count >= 2)
    }
  }
}
