import HeartwoodTestSupport
import Testing

/// Compares the table of calls inside a `write` in `Docs/Reference/Engine.md` with the calls that
/// are tested.
@Suite("The table of calls inside a write")
struct CallsDocumentTests {
  @Test func `has one row for each tested call, with its effect`() throws {
    let tables = DocumentTable.all(in: try Package.text(of: "Docs/Reference/Engine.md"))
    let rows = try #require(tables.first { $0.category == "calls" && $0.name == "write" }).rows
    let said = rows.map { row in
      (row[0].filter { $0 != "`" }, row[1] == "traps")
    }
    let tested = CallInsideWrite.allCases.map { ($0.rawValue, $0.isRefused) }
    #expect(said.map(\.0).sorted() == tested.map(\.0).sorted())
    for (name, isRefused) in said {
      #expect(CallInsideWrite(rawValue: name)?.isRefused == isRefused, "\(name)")
    }
    #expect(rows.allSatisfy { ["traps", "allowed"].contains($0[1]) && !$0[2].isEmpty })
  }
}
