import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("heartwoodctl and text indexes")
struct SearchCommandTests {
  final class Letter: ManagedObject {
    @Attribute var subject: String = ""
    @Attribute var body: String = ""

    override class var entity: Entity {
      Entity("Letter") { TextIndex(\Letter.subject, \Letter.body, weights: [3, 1]) }
    }
  }

  /// Creates a store with three letters, and returns its path.
  private func store(in scratch: ScratchDirectory) throws -> String {
    let path = scratch.path(of: "letters")
    let container = try PersistentContainer(
      url: URL(filePath: path), schema: Schema(Letter.self))
    let context = container.newContext()
    for (subject, body) in [("Sea", "calm"), ("Land", "storms at sea"), ("Sky", "blue")] {
      let letter = Letter(context: context)
      (letter.subject, letter.body) = (subject, body)
    }
    try context.save()
    try container.store.close()
    return path
  }

  @Test(.evidence("TX-04")) func `query searches the text index`() throws {
    let scratch = try ScratchDirectory()
    let path = try store(in: scratch)
    func found(_ arguments: String...) throws -> [String] {
      let run = try ToolRun(
        ["query", path, "Letter", "--columns", "subject", "--csv"] + arguments)
      run.expectFine()
      return run.output.split(whereSeparator: \.isNewline).dropFirst().map(String.init)
    }
    #expect(try found("--search", "sea") == ["Sea", "Land"])
    #expect(try found("--search", "subject:sea") == ["Sea"])
    #expect(try found("--search", "se* -calm") == ["Land"])
    #expect(try found("--search", "sea", "--sort", "subject", "--limit", "1") == ["Land"])
    #expect(try found("body CONTAINS 'calm'", "--search", "sea") == ["Sea"])
    try ToolRun("query", path, "Letter", "--search", "sea", "--count").expectFine()
  }

  @Test(.evidence("TX-13")) func `verify compares text indexes with the objects`() throws {
    let scratch = try ScratchDirectory()
    let path = try store(in: scratch)
    try ToolRun("verify", path).expectFine()
    let container = try PersistentContainer(
      url: URL(filePath: path), schema: Schema(Letter.self))
    let name = try #require(
      try container.store.snapshot().keyspaceNames.first { $0.hasPrefix("text.") })
    try container.store.write { try $0.removeKeyspace(name) }
    try container.store.close()
    let run = try ToolRun("verify", path)
    #expect(run.exitCode == 1)
    #expect(run.output.contains("The text index of Letter is wrong"))
    #expect(try ToolRun("verify", path, "--json").json()["isSound"] as? Bool == false)
  }
}
