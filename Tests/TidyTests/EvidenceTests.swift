import Testing

@Suite("The guarantees")
struct EvidenceTests {
  private static let documents = [
    "Docs/Reference/Engine.md", "Docs/Reference/ObjectGraph.md",
    "Docs/Reference/ProgrammerErrors.md",
  ]

  /// Returns the numbers of the guarantees in a document, which are written as `**D3.**` at the
  /// start of a paragraph or list item.
  private static func guarantees(of path: String) throws -> [String] {
    try Package.text(of: path).matches(of: /\*\*([A-Z]+-?[0-9]+)\.\*\*/).map { String($0.output.1) }
  }

  /// Returns the numbers of all guarantees that tests cite.
  private static func cited() throws -> Set<String> {
    var result: Set<String> = []
    for path in try Package.files(under: ["Tests"], ending: ".swift")
    where !path.hasPrefix("Tests/TidyTests/") && !path.hasPrefix("Tests/Support/") {
      for call in try Package.text(of: path).matches(of: /\.evidence\(([^)]*)\)/) {
        for guarantee in call.output.1.matches(of: /"([A-Z]+-?[0-9]+)"/) {
          result.insert(String(guarantee.output.1))
        }
      }
    }
    return result
  }

  @Test func `are numbered once each`() throws {
    let guarantees = try Self.documents.flatMap(Self.guarantees)
    #expect(!guarantees.isEmpty)
    #expect(guarantees.count == Set(guarantees).count, "\(guarantees)")
  }

  @Test(arguments: documents) func `are each cited by a test`(document: String) throws {
    let cited = try Self.cited()
    let uncited = try Self.guarantees(of: document).filter { !cited.contains($0) }
    #expect(uncited == [], "no test cites these guarantees of \(document)")
  }

  @Test func `are cited only where they exist`() throws {
    let guarantees = Set(try Self.documents.flatMap(Self.guarantees))
    #expect(try Self.cited().subtracting(guarantees).sorted() == [])
  }
}
