import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A class whose subclasses are members of a relationship of a class between them in the alphabet.
private class Tagged: ManagedObject {
  @ToMany(inverse: \Keyword.articles) var labels: Set<Keyword>
}

private final class Article: Tagged {
  @Attribute var title: String = ""
}

private final class Keyword: ManagedObject {
  @Attribute("SELF") var word: String = ""
  @ToMany var articles: Set<Article>
}

@Suite(
  "SQLite exports",
  .enabled(if: SQLiteProgram.path != nil, "The program sqlite3 is not installed."))
struct SQLiteExportTests {
  private func exported(_ store: ObjectStore, _ directory: ScratchDirectory) throws -> String {
    let file = directory.path(of: "export.sqlite")
    try store.run("export", "--format", "sqlite", "--output", file).expectFine()
    return file
  }

  @Test func `contain every object, value and relationship`() throws {
    let (store, directory) = (try ObjectStore(), try ScratchDirectory())
    let file = try exported(store, directory)
    func lines(_ sql: String) throws -> [String] { try SQLiteProgram.lines(file, sql) }
    #expect(try lines("PRAGMA integrity_check; PRAGMA foreign_key_check") == ["ok"])
    #expect(
      try lines("SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY 1")
        == [
          "Captain|table", "Captain_all|view", "Oddity|table", "Player|table", "Team|table",
          "Team_lineUp|table",
        ])
    #expect(
      try lines(
        """
        SELECT p.name, p.weight, p.number, t.name, p.entity
        FROM Player p LEFT JOIN Team t ON p.team = t.id ORDER BY p.name
        """) == [
          "P0|0.0|0|Reds|Player", "P1|10.5|1|Blues|Player", "P2|21.0|2|Reds|Player",
          "P3|31.5|3|Blues|Player", "P4|42.0|||Player", "P5|52.5|5||Captain",
        ])
    #expect(
      try lines("SELECT name, badge, born FROM Captain_all") == [
        "P5|0|2001-01-06T00:00:02.500Z"
      ])
    #expect(
      try lines(
        """
        SELECT p.name FROM Team_lineUp l JOIN Player p ON l.member = p.id
        WHERE l.owner = 1 ORDER BY position
        """) == ["P5", "P4", "P3", "P2", "P1", "P0"])
    let texts = try lines("SELECT hex(text) FROM Oddity ORDER BY id")
    let expected = (ObjectStore.oddTexts + [""]).map { text in
      text.utf8.map { String(format: "%02X", $0) }.joined()
    }
    #expect(texts.elementsEqual(expected))
    #expect(
      try lines(
        """
        SELECT flag, tiny, large, single, double IS NULL, moment, hex(data), price, link,
          json_extract(place, '$.y'), words, length(code) FROM Oddity ORDER BY id DESC LIMIT 1
        """) == [
          "0|-128|18446744073709551615|Inf|1|1367-03-24T12:26:39.875Z|00FF|12.5|"
            + "https://example.org/a?b=c|two|[\"one\",\"two\"]|36"
        ])
    #expect(
      try lines("EXPLAIN QUERY PLAN SELECT * FROM Team WHERE name = 'Reds'")
        .contains { $0.contains("INDEX Team_name") })
  }

  @Test func `contain inherited relationships and an attribute named SELF`() throws {
    let directory = try ScratchDirectory()
    let (path, file) = (directory.path(of: "store"), directory.path(of: "export.sqlite"))
    let container = try PersistentContainer(
      url: URL(filePath: path), schema: Schema(Article.self, Keyword.self))
    let context = container.newContext()
    let (article, keyword) = (Article(context: context), Keyword(context: context))
    (article.title, keyword.word) = ("Oaks", "trees")
    keyword.articles = [article]
    try context.save()
    try container.store.close()
    try ToolRun("export", path, "--format", "sqlite", "--output", file).expectFine()
    #expect(
      try SQLiteProgram.lines(
        file,
        """
        SELECT Keyword.SELF, title FROM Keyword_articles
        JOIN Keyword ON owner = Keyword.id JOIN Article ON member = Article.id;
        SELECT count(*) FROM sqlite_schema WHERE name = 'Tagged_labels'
        """) == ["trees|Oaks", "0"])
  }

  @Test func `replace a file only when they are complete`() throws {
    let (store, directory) = (try ObjectStore(), try ScratchDirectory())
    let file = directory.path(of: "export.sqlite")
    try Data("old".utf8).write(to: URL(filePath: file))
    try ToolRun("export", directory.path(of: "nothing"), "--format", "sqlite", "--output", file)
      .expectComplaint("no file or directory at", exitCode: 1)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "old")
    _ = try exported(store, directory)
    #expect(try SQLiteProgram.lines(file, "SELECT count(*) FROM Player") == ["6"])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["export.sqlite"])
    try store.run("export", "Team", "--format", "sqlite").expectComplaint(
      "--output FILE", exitCode: 2)
    try store.run("export", "--format", "csv").expectComplaint(
      "Missing argument ENTITY", exitCode: 2)
  }
}

/// The program `sqlite3`, which checks exported files.
private enum SQLiteProgram {
  static let path: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin")
    .split(separator: ":").map { "\($0)/sqlite3" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Returns the lines that statements print, including errors.
  static func lines(_ file: String, _ sql: String) throws -> [String] {
    let process = Process()
    process.executableURL = URL(filePath: try #require(path))
    process.arguments = ["-batch", "-readonly", file, sql]
    let output = Pipe()
    (process.standardOutput, process.standardError) = (output, output)
    try process.start()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false
    )
    .dropLast().map(String.init)
  }
}
