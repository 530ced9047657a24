import Foundation
import SQLiteWriter
import Testing

/// Tests the errors of the writer, which can be checked without `sqlite3`.
@Suite("Errors of the SQLite file writer")
struct ErrorTests {
  private static func expect(
    _ kind: SQLiteWriterError.Kind, _ words: String..., location: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) {
    let error = #expect(throws: SQLiteWriterError.self, sourceLocation: location) { try body() }
    #expect(error?.kind == kind, "\(error?.message ?? "")", sourceLocation: location)
    for word in words {
      #expect(
        error?.message.contains(word) == true, "\(error?.message ?? "")", sourceLocation: location)
    }
  }

  @Test func `replace no file`() throws {
    let scratch = try Scratch()
    try Data("mine".utf8).write(to: URL(filePath: scratch.path))
    Self.expect(.fileExists, scratch.path) { _ = try SQLiteFileWriter(path: scratch.path) }
    #expect(try Data(contentsOf: URL(filePath: scratch.path)) == Data("mine".utf8))
    Self.expect(.system(code: 2), "/none/x") { _ = try SQLiteFileWriter(path: "/none/x") }
  }

  @Test func `remove incomplete files`() throws {
    let scratch = try Scratch()
    do {
      let writer = try SQLiteFileWriter(path: scratch.path, sortByteCount: 100)
      let table = try writer.table(
        SQLiteTable(
          name: "t", key: .rowid(nil), columns: [SQLiteColumn("a")],
          indexes: [SQLiteIndex("i", on: ["a"])]))
      for number in 0..<500 { try table.append([.integer(Int64(number))]) }
      #expect(try scratch.names == ["file.sqlite"])
    }
    #expect(try scratch.names == [])
  }

  @Test func `reject invalid names`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    func table(_ name: String, _ columns: [String] = ["a"], index: String = "i") throws {
      _ = try writer.table(
        SQLiteTable(
          name: name, key: .rowid("id"), columns: columns.map { SQLiteColumn($0) },
          indexes: [SQLiteIndex(index, on: ["id"])]))
    }
    Self.expect(.invalidName, "empty") { try table("") }
    Self.expect(.invalidName, "NUL") { try table("a\u{0}b") }
    Self.expect(.invalidName, "NUL") { try table("a", ["\u{0}"]) }
    Self.expect(.invalidName, "reserves") { try table("SQLite_x") }
    Self.expect(.invalidName, "reserves") { try table("t", index: "sqlite_autoindex_t_1") }
    Self.expect(.invalidName, "in use") { try table("t", index: "T") }
    try table("t")
    Self.expect(.invalidName, "in use") { try table("T", index: "j") }
    Self.expect(.invalidName, "in use") { try writer.view("I", select: "SELECT 1") }
    Self.expect(.invalidDefinition, "NUL") { try writer.view("v", select: "SELECT '\u{0}'") }
    Self.expect(.invalidDefinition, "same name") { try table("u", ["x", "X"], index: "j") }
    Self.expect(.invalidDefinition, "same name") { try table("u", ["ID"], index: "j") }
    Self.expect(.invalidDefinition, "2000") {
      try table("u", (0..<2000).map { "c\($0)" }, index: "j")
    }
    Self.expect(.tooLarge, "1000000") {
      try table("u", [String(repeating: "long", count: 250_000)], index: "j")
    }
    // The rejected definitions must not have reserved any names.
    try table("u", ["é", "e\u{301}"], index: "j")
    try writer.finish()
    Self.expect(.closed, "finished") { try table("later", index: "k") }
  }

  @Test func `reject invalid definitions`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    func table(
      _ key: SQLiteTable.Key = .rowid("id"), index: [String] = ["a"],
      foreignKeys: [SQLiteForeignKey] = []
    ) throws {
      _ = try writer.table(
        SQLiteTable(
          name: "t", key: key, columns: [SQLiteColumn("a"), SQLiteColumn("b")],
          foreignKeys: foreignKeys, indexes: [SQLiteIndex("i", on: index)]))
    }
    Self.expect(.invalidDefinition, "no column \"c\"", "primary key") { try table(.columns(["c"])) }
    Self.expect(.invalidDefinition, "no column") { try table(.columns([])) }
    Self.expect(.invalidDefinition, "twice") { try table(.columns(["a", "A"])) }
    Self.expect(.invalidDefinition, "\"i\"") { try table(index: ["rowid"]) }
    Self.expect(.invalidDefinition, "foreign key") {
      try table(foreignKeys: [SQLiteForeignKey(["c"], references: "t", ["id"])])
    }
    Self.expect(.invalidDefinition, "column lists differ") {
      try table(foreignKeys: [SQLiteForeignKey(["a", "b"], references: "t", ["id"])])
    }
    try table(foreignKeys: [SQLiteForeignKey(["a"], references: "t", ["b"])])
    Self.expect(.invalidDefinition, "unique") { try writer.finish() }
  }

  @Test func `reject invalid rows and continue`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    let table = try writer.table(
      SQLiteTable(
        name: "t", key: .rowid("id"),
        columns: [
          SQLiteColumn("i", .integer), SQLiteColumn("r", .real), SQLiteColumn("t", .text),
          SQLiteColumn("x", isRequired: true),
        ],
        indexes: [SQLiteIndex("all", on: ["x", "t", "r", "i"])]))
    let good: [SQLiteValue] = [.integer(1), .real(2), .text("3"), .integer(4)]
    try table.append(rowid: 5, good)
    func rejects(_ position: Int, _ value: SQLiteValue, _ word: String) {
      var row = good
      row[position] = value
      Self.expect(.invalidRow, word, "\"t\"") { try table.append(row) }
    }
    rejects(0, .text("7"), "INTEGER")
    rejects(1, .text("x"), "cannot store text")
    rejects(2, .integer(7), "an integer")
    rejects(2, .real(7), "\"t\"")
    rejects(3, .null, "requires a value")
    rejects(3, .real(.nan), "NaN")
    rejects(1, .real(.signalingNaN), "NaN")
    Self.expect(.invalidRow, "5 instead of 4") { try table.append(good + [.null]) }
    Self.expect(.invalidRow, "3 instead of 4") { try table.append(Array(good.dropLast())) }
    Self.expect(.unorderedRowid, "rowid 5") { try table.append(rowid: 5, good) }
    Self.expect(.unorderedRowid, "rowid 5") { try table.append(rowid: -6, good) }
    #expect(throws: CancellationError.self) { try table.append { _ in throw CancellationError() } }
    try table.append(good)
    try table.append(rowid: .max, good)
    Self.expect(.unorderedRowid, "no rowids left after") { try table.append(good) }
    let keyed = try writer.table(
      SQLiteTable(name: "k", key: .columns(["a"]), columns: [SQLiteColumn("a")]))
    Self.expect(.invalidRow, "no rowids") { try keyed.append(rowid: 1, [.integer(1)]) }
    Self.expect(.invalidRow, "requires") { try keyed.append([.null]) }
    try table.close()
    Self.expect(.closed, "is already closed") { try table.append(good) }
    try writer.finish()
    guard SQLiteShell.isInstalled else { return }
    try scratch.expectSound()
    #expect(
      try scratch.lines("SELECT id FROM t INDEXED BY \"all\" WHERE x = 4;")
        == ["5", "6", "9223372036854775807"])
  }
}
