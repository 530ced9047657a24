import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Title: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var subtitle: String? = nil
  @ToOne var writer: Writer?
}

private final class Writer: ManagedObject {
  @Attribute var name: String = ""
}

@Suite("Predicates on strings")
struct StringPredicateTests {
  private static let texts = [
    "Café", "cafe", "CAFE\u{301} noir", "decaf", "", "K", "\u{212A}", "ß",
  ]
  private let context: ManagedObjectContext

  init() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Title.self))
    context = container.newContext()
    for text in Self.texts {
      let title = Title(context: context)
      title.text = text
      title.subtitle = text.isEmpty ? nil : text
      title.writer = text.count > 4 ? Writer(context: context) : nil
      title.writer?.name = text
    }
  }

  private func found(_ predicate: QueryPredicate<Title>) throws -> Set<[UInt8]> {
    var request = FetchRequest<Title>()
    request.predicate = predicate
    return Set(try context.fetch(request).map { Array($0.text.utf8) })
  }

  @Test(.evidence("P-13"), arguments: [true, false])
  func `a test of a property finds what the format finds`(isSaved: Bool) throws {
    if isSaved { try context.save() }
    let tests: [(String, (String) -> StringTest)] = [
      ("==", { .equals($0) }), ("CONTAINS", { .contains($0) }),
      ("BEGINSWITH", { .begins(with: $0) }), ("ENDSWITH", { .ends(with: $0) }),
      ("LIKE", { .like($0) }),
    ]
    let options: [(String, StringDifferences)] = [
      ("", []), ("[c]", .case), ("[d]", .diacritics), ("[cd]", [.case, .diacritics]),
    ]
    var count = 0
    for (name, test) in tests {
      for (letters, differences) in options {
        for text in Self.texts + ["ca*", "?afe", "e"] {
          let expected = try found(QueryPredicate(format: "text \(name)\(letters) %@", text))
          count += expected.count
          #expect(
            try found(QueryPredicate(\.text, test(text), ignoring: differences)) == expected)
          #expect(
            try found(QueryPredicate(\.subtitle, test(text), ignoring: differences))
              == found(QueryPredicate(format: "subtitle \(name)\(letters) %@", text)))
          #expect(
            try found(QueryPredicate(\.writer?.name, test(text), ignoring: differences))
              == found(QueryPredicate(format: "writer.name \(name)\(letters) %@", text)))
        }
      }
    }
    #expect(count > 300)
  }

  @Test(.evidence("P-01"), .evidence("P-06"), arguments: [true, false])
  func `a string operator treats a property's value like a constant`(isSaved: Bool) throws {
    let patterns = ["ca*", "cafe*", "*cafe", "a\\*b", "*", "**f**", "?", "cafe", "\u{E9}*", "deca"]
    for text in Self.texts + ["a*b", "ca", "f"] {
      for pattern in patterns {
        let title = Title(context: context)
        (title.text, title.subtitle) = (text, pattern)
      }
    }
    if isSaved { try context.save() }
    var count = 0
    for operation in ["LIKE", "CONTAINS", "BEGINSWITH", "ENDSWITH"] {
      for letters in ["", "[c]", "[d]", "[cd]"] {
        for pattern in patterns {
          let condition = "subtitle == %@ AND text \(operation)\(letters)"
          let expected = try found(QueryPredicate(format: "\(condition) %@", pattern, pattern))
          count += expected.count
          let result = try found(QueryPredicate(format: "\(condition) subtitle", pattern))
          #expect(result == expected, "\(operation)\(letters) \(pattern)")
        }
      }
    }
    #expect(count > 100)
  }

  @Test(.evidence("P-06")) func `a backslash at the end of a LIKE pattern is a character`() throws {
    Title(context: context).text = "a\\"
    for pattern in ["a\\", "?\\", "a\\\\"] {
      #expect(try found(QueryPredicate(\.text, .like(pattern))) == [Array("a\\".utf8)])
    }
  }

  @Test(.evidence("P-06"), arguments: [true, false])
  func `localizedStandardContains ignores case and diacritics`(isSaved: Bool) throws {
    if isSaved { try context.save() }
    for text in Self.texts + ["e", "CAF"] {
      let predicate = #Predicate<Title> { $0.text.localizedStandardContains(text) }
      let expected = try found(QueryPredicate(format: "text CONTAINS[cd] %@", text))
      #expect(try found(QueryPredicate(predicate)) == expected)
      // Evaluating the predicate directly must give the same result.
      let titles = try context.fetch(FetchRequest<Title>()).filter { try predicate.evaluate($0) }
      #expect(Set(titles.map { Array($0.text.utf8) }) == expected)
      let optional = #Predicate<Title> { $0.subtitle?.localizedStandardContains(text) ?? false }
      #expect(
        try found(QueryPredicate(optional))
          == found(QueryPredicate(format: "subtitle CONTAINS[cd] %@", text)))
    }
  }

  @Test(.evidence("P-06")) func `CONTAINS compares characters rather than bytes`() throws {
    let zoo = try GraphFixture(animals)
    let context = zoo.context()
    for alias in ["a\r\nb", "\u{212A}elvin"] { Animal(context: context).alias = alias }
    try context.save()
    func count(_ text: String) throws -> Int {
      let predicate = try QueryPredicate<Animal>(format: "alias CONTAINS %@", arguments: [text])
      return try zoo.context().count(for: FetchRequest(where: predicate))
    }
    #expect(try count("\n") == 0 && count("\r\n") == 1 && count("K") == 1)
  }
}
