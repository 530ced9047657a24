import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Compares random predicates of every form with closures, as formats and as `#Predicate` nodes.
@Suite("Predicates of every form")
struct PredicateFormTests {
  private static let seeds: Range<UInt64> = 0..<2

  /// Returns the conditions for a seed; the same seed gives the same conditions.
  private static func conditions(_ seed: UInt64, _ ids: [ManagedObjectID]) -> [Condition] {
    var terms = RandomTerms(SeededGenerator(seed: seed), ids)
    let languages: [RandomTerms.Language] = [.both, .format, .predicate, .format]
    return (0..<Herd.questionCount(200)).map { number in
      terms.language = languages[number % 4]
      return terms.condition([0, 1, 0, 2, 1, 0, 2, 3][number / 4 % 8])
    }
  }

  @Test(.evidence("P-01"), .evidence("P-09"), .evidence("P-10"), arguments: seeds)
  func `predicates of every form equal plain closures`(seed: UInt64) throws {
    let herd = try Herd(seed: seed)
    var last: (predicate: QueryPredicate<Animal>, condition: Condition)?
    // Every third condition is enough to cover every language and every depth.
    let conditions = TestScale.some(Self.conditions(seed, herd.ids), every: 3)
    for (number, condition) in conditions.enumerated() {
      let place = "seed \(seed), \(number): "
      if let format = condition.format {
        let predicate = try QueryPredicate<Animal>(format: format, arguments: condition.arguments)
        let place = place + "\(format) \(condition.arguments)"
        try herd.check(predicate, { condition.holds([$0]) }, place)
        if let last, number % 6 == 0 {
          try herd.check(
            predicate.or(last.predicate.not),
            { condition.holds([$0]) || !last.condition.holds([$0]) },
            place + ", or not what came before")
        }
      }
      guard let predicate = condition.predicate() else { continue }
      try herd.check(QueryPredicate(predicate), { condition.holds([$0]) }, place + "\(predicate)")
      last = (QueryPredicate(predicate), condition)
    }
  }

  @Test func `every supported kind of predicate node is covered`() throws {
    let herd = try Herd(seed: 0)
    var kinds: Set<String> = []
    for seed in Self.seeds {
      for condition in Self.conditions(seed, herd.ids) {
        if let predicate = condition.predicate() { kinds.formUnion(Self.kinds(of: predicate)) }
      }
    }
    let known = try Self.found(
      /(?:extension PredicateExpressions\.|\bcase \.)([a-zA-Z]+)[:,]/, in: "PredicateNodes")
    #expect(known.count > 40)
    #expect(known.subtracting(kinds) == [])
    let ranges = try Self.found(/extension ([A-Za-z]+): ValueRange/, in: "QueryConstant")
    #expect(ranges.count == 5 && ranges.subtracting(kinds) == [])
  }

  @Test func `every keyword and operator of the format language is covered`() throws {
    let herd = try Herd(seed: 0)
    var formats = ""
    for seed in Self.seeds {
      formats += Self.conditions(seed, herd.ids).compactMap(\.format).joined(separator: " ")
    }
    let text = /'([^'\\]|\\.)*'|"([^"\\]|\\.)*"/
    let bare = formats.replacing(text, with: " ")
    let words = Set(bare.matches(of: /[A-Za-z_]+/).map { $0.output.uppercased() })
    let keywords = try Self.found(/"([A-Z]+)"/, in: "FormatParser")
    #expect(keywords.count > 20)
    #expect(keywords.subtracting(words) == [])
    let list = try Self.found(/signs: Set<String> = \[\n((?:.*\n)*?)  \]/, in: "FormatLexer")
    let signs = list.joined().matches(of: /"([^"]+)"/).map { String($0.output.1) }
    #expect(signs.count > 25)
    #expect(signs.filter { !bare.contains($0) } == [])
    let cases = try Self.found(/enum Summary: .*\n((?:.*\n)*?)\}/, in: "QueryExpression")
    let summaries = cases.joined().matches(of: /case (?:[a-z]+ = ")?([a-z]+)/).map(\.output.1)
    #expect(summaries.count == 5)
    #expect(summaries.filter { !bare.contains("@\($0)") } == [])
    let arguments = ["%@", "%K", "%d", "%i", "%u", "%f", "%g", "%ld", "%lli", "%lf"]
    #expect(arguments.filter { !bare.contains($0) } == [])
    let escapes = ["\\n", "\\t", "\\r", "\\u", "\\\\", "\\'", "\\*", "\\?", "%%", "\""]
    #expect(escapes.filter { !formats.contains($0) } == [])
    for form in [/0x[0-9a-f]+/, /[0-9]\.[0-9]/, /[0-9]e[+-][0-9]/, /\[c\]/, /\[d\]/, /\[cd\]/] {
      #expect(bare.contains(form))
    }
  }

  /// Returns the captures of a pattern in source files of the library's predicates.
  private static func found(
    _ pattern: Regex<(Substring, Substring)>, in files: String...
  ) throws -> Set<String> {
    let directory = URL(filePath: #filePath).appending(
      path: "../../../../Sources/Heartwood/Queries")
    var found: Set<String> = []
    for file in files {
      let source = try String(
        contentsOf: directory.appending(path: "\(file).swift").standardized, encoding: .utf8)
      found.formUnion(source.matches(of: pattern).map { String($0.output.1) })
    }
    return found
  }

  /// Returns the names of the operators in a predicate, and of the types of its nodes and values.
  private static func kinds(of predicate: Predicate<Animal>) -> Set<String> {
    var kinds: Set<String> = []
    func visit(_ value: Any) {
      kinds.insert(String(String(describing: type(of: value)).prefix { $0 != "<" }))
      if let path = value as? any KeyPathNode { kinds.insert(path.kindName) }
      let mirror = Mirror(reflecting: value)
      if mirror.displayStyle == .enum { kinds.insert("\(value)") }
      guard !(value is any Collection), !(value is AnyKeyPath) else { return }
      for child in mirror.children { visit(child.value) }
    }
    visit(predicate.expression)
    return kinds
  }
}

/// A node that applies a key path to another node.
private protocol KeyPathNode {
  /// The kind of collection property that the key path reads, or `none` for other properties.
  var kindName: String { get }
}

extension PredicateExpressions.KeyPath: KeyPathNode {
  var kindName: String { kind.map { "\($0)" } ?? "none" }
}
