import Foundation
import SQLiteWriter
import Testing

@Suite("Schemas of SQLite files", .enabled(if: SQLiteShell.isInstalled, SQLiteShell.comment))
struct SchemaTests {
  static let names = [
    "select", "a b", "it's", "\"quoted\"", "\"\u{301}", "line\nbreak", "שם", "e\u{301}", "é",
    "👩‍👩‍👧", "[x]", "`x`", "a.b", "--", "/*", "%s", "\u{1}", "0", "rowid", ";",
  ]

  @Test func `quote names of every kind`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    for name in Self.names {
      let table = try writer.table(
        SQLiteTable(
          name: name, key: .rowid("the " + name),
          columns: Self.names.map { SQLiteColumn($0, .declared("a \"type\" " + $0)) },
          indexes: [SQLiteIndex("index " + name, on: Self.names)]))
      try table.append(rowid: 7, Self.names.map { _ in .integer(5) })
      let select = "SELECT \(name.sqlQuoted) FROM \(name.sqlQuoted)"
      try writer.view("view " + name, columns: [name], select: select)
    }
    try writer.finish()
    try scratch.expectSound()
    let tables = try scratch.lines(
      "SELECT 't' || hex(name) FROM sqlite_schema WHERE type = 'table';")
    #expect(tables == Self.names.map { SQLiteValue.text($0).shown })
    for name in Self.names {
      let lookUp =
        "SELECT \(("the " + name).sqlQuoted) FROM \(name.sqlQuoted) "
        + "INDEXED BY \(("index " + name).sqlQuoted) WHERE \(Self.names[0].sqlQuoted) = 5;"
      #expect(try scratch.lines(lookUp) == ["7"], "\(name)")
      let view = "SELECT \(name.sqlQuoted) FROM \(("view " + name).sqlQuoted);"
      #expect(try scratch.lines(view) == ["5"], "\(name)")
    }
  }

  @Test func `declare types, keys and nulls`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(
      path: scratch.path, userVersion: -7, applicationID: 0x4877_7244)
    let people = try writer.table(
      SQLiteTable(
        name: "person", key: .rowid("id"),
        columns: [
          SQLiteColumn("name", .text, isRequired: true), SQLiteColumn("born", .declared("DATE")),
          SQLiteColumn("boss", .integer), SQLiteColumn("code", .text),
        ],
        foreignKeys: [
          SQLiteForeignKey(
            ["boss"], references: "PERSON", ["id"], deletion: .setNull, isDeferred: true)
        ],
        indexes: [SQLiteIndex("person_code", on: ["Code"], isUnique: true)]))
    let friends = try writer.table(
      SQLiteTable(
        name: "friend", key: .columns(["owner", "member"]),
        columns: [
          SQLiteColumn("owner", .integer), SQLiteColumn("member", .text),
          SQLiteColumn("rank", .real),
        ],
        foreignKeys: [
          SQLiteForeignKey(["owner"], references: "person", ["id"], deletion: .cascade),
          SQLiteForeignKey(["member"], references: "person", ["code"]),
        ]))
    // The writer fills both tables at the same time.
    for id in 1...500 {
      try people.append(
        rowid: Int64(id),
        [.text("n\(id)"), .null, id > 1 ? .integer(Int64(id / 2)) : .null, .text("c\(id)")])
      try friends.append([.integer(Int64(1 + id * 7 % 500)), .text("c\(id)"), .integer(2)])
    }
    try writer.finish()
    try scratch.expectSound()
    #expect(
      try scratch.lines("PRAGMA table_info(person);") == [
        "0|id|INTEGER|0||1", "1|name|TEXT|1||0", "2|born|DATE|0||0", "3|boss|INTEGER|0||0",
        "4|code|TEXT|0||0",
      ])
    #expect(
      try scratch.lines("PRAGMA table_info(friend);") == [
        "0|owner|INTEGER|1||1", "1|member|TEXT|1||2", "2|rank|REAL|0||0",
      ])
    #expect(
      try scratch.lines("PRAGMA foreign_key_list(friend);") == [
        "0|0|person|member|code|NO ACTION|NO ACTION|NONE",
        "1|0|person|owner|id|NO ACTION|CASCADE|NONE",
      ])
    #expect(
      try scratch.lines(
        "PRAGMA user_version; PRAGMA application_id; PRAGMA page_size; PRAGMA encoding; "
          + "PRAGMA schema_version; PRAGMA journal_mode;")
        == ["-7", "1215787588", "4096", "UTF-8", "1", "delete"])
    #expect(try scratch.lines("SELECT typeof(rank) FROM friend LIMIT 1;") == ["real"])
  }

  @Test func `let SQLite change the file`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    let table = try writer.table(
      SQLiteTable(
        name: "t", key: .rowid("id"), columns: [SQLiteColumn("a", .text), SQLiteColumn("b")],
        indexes: [SQLiteIndex("i", on: ["a"], isUnique: true), SQLiteIndex("j", on: ["b"])]))
    for id in 1...5000 {
      try table.append([.text("text \(id)"), .blob(Array(repeating: 1, count: id % 1500))])
    }
    try writer.finish()
    let changes = """
      BEGIN; DELETE FROM t WHERE id % 3 = 0; UPDATE t SET b = a, a = a || 'x' WHERE id % 2 = 0;
      INSERT INTO t(a, b) SELECT 'new ' || id, zeroblob(id) FROM t;
      CREATE TABLE u AS SELECT * FROM t;
      COMMIT; PRAGMA integrity_check; DELETE FROM t; PRAGMA integrity_check; VACUUM;
      PRAGMA integrity_check; SELECT count(*) FROM u;
      """
    #expect(
      try SQLiteShell.lines(scratch.path, changes, isReadOnly: false) == ["ok", "ok", "ok", "6668"])
  }

  @Test func `may have any length around the capacity of page 1`() throws {
    let scratch = try Scratch()
    // Page 1 has room for 3,996 bytes, and any other page has room for 4,096 bytes. Rows of
    // more than 4,061 bytes overflow.
    for length in Array(3890...3960) + Array(4000...4030) {
      let path = scratch.path(of: "\(length)")
      let writer = try SQLiteFileWriter(path: path)
      try writer.view("v", select: "SELECT '\(String(repeating: "x", count: length))' AS x")
      try writer.finish()
      let sql = "PRAGMA integrity_check; SELECT length(x) FROM v;"
      #expect(try SQLiteShell.lines(path, sql) == ["ok", "\(length)"])
    }
    let grown = "CREATE TABLE t(a); PRAGMA integrity_check; DROP VIEW v; PRAGMA integrity_check;"
    for length in [3890, 3950, 4010] {
      let path = scratch.path(of: "\(length)")
      #expect(try SQLiteShell.lines(path, grown, isReadOnly: false) == ["ok", "ok"])
    }
  }

  @Test func `may contain many tables and long statements`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    for number in 0..<300 {
      let columns = (0..<(number % 50 == 0 ? 1900 : 3)).map { SQLiteColumn("column \($0)", .text) }
      let table = try writer.table(
        SQLiteTable(
          name: "t\(number)", key: .rowid(nil), columns: columns,
          indexes: [SQLiteIndex("i\(number)", on: ["column 1"])]))
      try table.append { row in
        for column in columns { row.append(text: column.name) }
      }
    }
    try writer.finish()
    try scratch.expectSound()
    #expect(try scratch.lines("SELECT count(*) FROM sqlite_schema;") == ["600"])
    #expect(try scratch.lines("SELECT \"column 1899\" FROM t50;") == ["column 1899"])
  }

  @Test func `are valid without any table`() throws {
    let scratch = try Scratch()
    try SQLiteFileWriter(path: scratch.path).finish()
    try scratch.expectSound()
    #expect(try Data(contentsOf: URL(filePath: scratch.path)).count == 4096)
  }

  @Test func `are rejected by SQLite until they are finished`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    let table = try writer.table(
      SQLiteTable(name: "t", key: .rowid(nil), columns: [SQLiteColumn("a")]))
    for _ in 0..<2000 { try table.append([.blob(Array(repeating: 5, count: 4000))]) }
    let lines = try scratch.lines("SELECT count(*) FROM sqlite_schema;")
    #expect(lines.count == 1)
    #expect(lines.first?.contains("file is not a database") == true, "\(lines)")
    try writer.finish()
    try scratch.expectSound()
  }

  /// This test writes files of more than 1 GiB, so it runs only on request.
  @Test(
    .enabled(
      if: ProcessInfo.processInfo.environment["SQLITE_WRITER_HUGE"] != nil,
      "It writes gigabytes; set SQLITE_WRITER_HUGE to run it."),
    arguments: [(300 << 20, 4), (3000, 263_000)])
  func `leave out the page that SQLite locks`(blobByteCount: Int, rowCount: Int) throws {
    // The locked page is in the middle of a chain of overflow pages, or between two leaves.
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    let table = try writer.table(
      SQLiteTable(name: "t", key: .rowid(nil), columns: [SQLiteColumn("a")]))
    let blob = [UInt8](repeating: 5, count: blobByteCount)
    for _ in 0..<rowCount { try table.append { $0.append(blob: blob) } }
    try writer.finish()
    try scratch.expectSound()
    let sql = "SELECT count(*), sum(length(a)) FROM t;"
    #expect(try scratch.lines(sql) == ["\(rowCount)|\(rowCount * blobByteCount)"])
  }
}
