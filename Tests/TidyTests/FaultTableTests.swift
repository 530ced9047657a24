import Testing

@Suite("The table of faults")
struct FaultTableTests {
  private static let document = "Tests/Faults.md"

  /// Returns the rows of the table.
  ///
  /// Each row contains a fault, and its tests or the reason why it has none.
  private static func rows() throws -> [(fault: String, tests: String)] {
    let rows = try Package.text(of: document)
      .matches(of: /\| ([A-Z][0-9]+a?) \| ([^|]+) \| ([^|]+) \|/)
    return rows.map { (String($0.output.1 + " " + $0.output.2), String($0.output.3)) }
  }

  /// Returns the names of all tests, each combined with the name of every suite in its file.
  private static func tests() throws -> Set<String> {
    var result: Set<String> = []
    for path in try Package.files(under: ["Tests"], ending: ".swift") {
      let text = try Package.text(of: path)
      let sentences = text.matches(of: /func `([^`]+)`/).map(\.output.1)
      for suite in text.matches(of: /@Suite\("([^"]+)"/) {
        for sentence in sentences { result.insert("\(suite.output.1): \(sentence)") }
      }
    }
    return result
  }

  @Test func `names tests that exist, or a reason`() throws {
    let tests = try Self.tests()
    let rows = try Self.rows()
    #expect(rows.count > 40)
    for row in rows {
      let named = row.tests.matches(of: /`([^`]+)`/).map { String($0.output.1) }
      #expect(named.isEmpty == row.tests.contains("out of scope: "), "\(row.fault)")
      for test in named { #expect(tests.contains(test), "\(row.fault): \(test)") }
    }
  }
}
