import HeartwoodTestSupport
import SQLiteWriter
import Testing

@Suite("SQLite files", .enabled(if: SQLiteShell.isInstalled, SQLiteShell.comment))
struct RoundTripTests {
  @Test(arguments: TestScale.seeds(quick: 2, all: 8, long: 24))
  func `return random rows, by rowid and by index`(seed: UInt64) throws {
    var source = SeededSource(seed)
    let scratch = try Scratch()
    // With little memory, the writer makes sorted runs, and even merges the results of earlier
    // merges.
    let sortByteCount = source.element([1 << 10, 64 << 10, 8 << 20])
    let writer = try SQLiteFileWriter(path: scratch.path, sortByteCount: sortByteCount)
    var tables: [RandomTable] = []
    for number in 0..<4 {
      let rowCount = source.element([0, 1, 2, 40, 700])
      let table = RandomTable("table\(number)", rowCount: rowCount, &source)
      try table.write(to: writer)
      tables.append(table)
    }
    try writer.finish()
    #expect(try scratch.names == ["file.sqlite"])
    try scratch.expectSound()
    for table in tables {
      let lines = try scratch.lines(table.query)
      #expect(lines == table.lines)
      for index in table.definition.indexes {
        try expectLookUps(scratch, table, index, &source)
      }
      try scratch.expectSameByteCounts(
        table.definition.indexes.map(\.name), table: table.definition.name,
        copyStatements: table.copyStatements)
    }
  }

  private func expectLookUps(
    _ scratch: Scratch, _ table: RandomTable, _ index: SQLiteIndex, _ source: inout SeededSource
  ) throws {
    let name = table.definition.name
    let order = index.columns.map { "+\"\($0)\"" }.joined(separator: ", ")
    let sorted = index.columns.map { "\"\($0)\"" }.joined(separator: ", ")
    let lines = try scratch.lines(
      "SELECT rowid FROM \(name) INDEXED BY \(index.name) ORDER BY \(sorted), rowid;"
        + "SELECT rowid FROM \(name) NOT INDEXED ORDER BY \(order), rowid;")
    let count = table.rows.count
    #expect(lines.count == 2 * count)
    #expect(lines.prefix(count) == lines.suffix(count))
    guard count > 0 else { return }
    for _ in 0..<3 {
      let rowid = source.element(table.rows).rowid
      func query(_ source: String) -> String {
        let matches = index.columns.map { column in
          "\"\(column)\" IS (SELECT \"\(column)\" FROM \(name) NOT INDEXED WHERE rowid = \(rowid))"
        }
        return "SELECT rowid FROM \(name) \(source) WHERE \(matches.joined(separator: " AND ")) "
          + "ORDER BY +rowid;"
      }
      let found = try scratch.lines(
        query("INDEXED BY \(index.name)") + "SELECT '-';" + query("NOT INDEXED"))
      let halves = found.split(separator: "-", omittingEmptySubsequences: false)
      #expect(halves.count == 2 && halves[0] == halves[1])
      #expect(halves.first?.contains("\(rowid)") == true)
    }
  }

  /// The lengths around which the form of a cell changes.
  ///
  /// These lengths are the threshold X of the SQLite format for tables and indexes, the ends of
  /// overflow pages, and the limits of length varints.
  private static let lengths: [Int] = {
    let local = [124, 489, 1002, 4061, 8184, 16_380]
    let overflow = [1, 2, 3].flatMap { (count: Int) -> [Int] in
      [489 + 4092 * count, 1002 + 4092 * count, 4061 + 4092 * count]
    }
    return (local + overflow).flatMap { length in (-12...8).map { length + $0 } }
  }()

  @Test func `can have payloads of every length at which cells change`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    let table = try writer.table(
      SQLiteTable(
        name: "t", key: .rowid(nil), columns: [SQLiteColumn("a")],
        indexes: [SQLiteIndex("i", on: ["a"])]))
    let keyed = try writer.table(
      SQLiteTable(name: "k", key: .columns(["a"]), columns: [SQLiteColumn("a")]))
    var expected: [String] = []
    for length in Self.lengths {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
      try table.append([.blob(bytes)])
      expected.append(SQLiteValue.blob(bytes).shown)
    }
    for length in Set(Self.lengths) {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
      try keyed.append([.blob(bytes)])
    }
    try writer.finish()
    try scratch.expectSound()
    let shown = SQLiteShell.shown("a")
    #expect(
      try scratch.lines("SELECT \(shown) FROM t NOT INDEXED ORDER BY rowid;") == expected)
    #expect(
      try scratch.lines("SELECT \(shown) FROM t INDEXED BY i ORDER BY a, rowid;")
        == scratch.lines("SELECT \(shown) FROM t NOT INDEXED ORDER BY +a, rowid;"))
    #expect(
      try scratch.lines("SELECT \(shown) FROM k ORDER BY a;")
        == scratch.lines("SELECT DISTINCT \(shown) FROM t NOT INDEXED ORDER BY +a;"))
  }

  @Test func `can have leaves filled by rows of every length`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    for length in 0..<130 {
      let table = try writer.table(
        SQLiteTable(
          name: "t\(length)", key: .rowid(nil), columns: [SQLiteColumn("a", .text)],
          indexes: [SQLiteIndex("i\(length)", on: ["a"])]))
      for number in 0..<150 {
        let text = String(repeating: "x", count: length)
        try table.append { $0.append(text: number % 100 == 99 ? text + "y" : text) }
      }
    }
    try writer.finish()
    try scratch.expectSound()
    let counts = (0..<130).map { "SELECT count(a) FROM t\($0) INDEXED BY i\($0);" }
    let lines = try scratch.lines(counts.joined())
    #expect(lines == Array(repeating: "150", count: 130))
  }

  @Test func `can have index trees with any number of large keys`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    // About four keys fill a page, so 140 keys need four levels.
    let counts = Array(0..<140)
    for count in counts {
      let table = try writer.table(
        SQLiteTable(
          name: "t\(count)", key: .columns(["a"]), columns: [SQLiteColumn("a", .blob)]))
      for number in (0..<count).reversed() {
        let end = [UInt8](repeating: 7, count: 980 + number % 30)
        try table.append { $0.append(blob: [UInt8(number)] + end) }
      }
    }
    try writer.finish()
    try scratch.expectSound()
    let sql = counts.map { "SELECT count(*) FROM t\($0) WHERE a >= x'00';" }.joined()
    #expect(try scratch.lines(sql) == counts.map(String.init))
  }

  @Test func `can have table trees whose last interior page is full`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    // A rowid takes 9 bytes, so a cell and its pointer take 15 bytes. An interior page holds 272
    // cells.
    let counts = [1, 2, 271, 272, 273, 274, 275, 545, 546, 547, 548, 549]
    let blob = [UInt8](repeating: 7, count: 3000)
    for count in counts {
      let table = try writer.table(
        SQLiteTable(name: "t\(count)", key: .rowid("id"), columns: [SQLiteColumn("a", .blob)]))
      for number in 0..<count {
        try table.append(rowid: Int64.min + Int64(number)) { $0.append(blob: blob) }
      }
    }
    try writer.finish()
    try scratch.expectSound()
    let sql = counts.map { "SELECT count(length(a)) FROM t\($0);" }.joined()
    #expect(try scratch.lines(sql) == counts.map(String.init))
  }

  @Test func `can have keys of a single value that is shorter than a cell`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    // The numbers fill the first leaf, so that in some tables, the leaf ends between two short
    // keys. The second-to-last key then moves to an interior page and loses its padding.
    var counts: [Int] = []
    for realCount in 306...313 {
      for integerCount in 0..<9 {
        let table = try writer.table(
          SQLiteTable(
            name: "t\(counts.count)", key: .columns(["a"]), columns: [SQLiteColumn("a")]))
        for value in [SQLiteValue.blob([]), .text(""), .integer(0), .integer(1), .integer(-1)] {
          try table.append([value])
        }
        for number in 0..<realCount { try table.append([.real(-0.125 - Double(number))]) }
        for number in 0..<integerCount { try table.append([.integer(Int64(2 + number))]) }
        counts.append(5 + realCount + integerCount)
      }
    }
    try writer.finish()
    try scratch.expectSound()
    let sql = counts.indices.map { "SELECT count(*) FROM t\($0) WHERE a IS NOT NULL;" }.joined()
    #expect(try scratch.lines(sql) == counts.map(String.init))
  }

  @Test func `can have records whose headers need a longer length`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    let counts = 120...132
    for count in counts {
      let columns = (0..<count).map { SQLiteColumn("c\($0)") }
      let table = try writer.table(
        SQLiteTable(
          name: "t\(count)", key: .rowid(nil), columns: columns,
          indexes: [SQLiteIndex("i\(count)", on: columns.map(\.name))]))
      for first in [7, 8] { try table.append(columns.indices.map { .integer(Int64($0 + first)) }) }
    }
    try writer.finish()
    try scratch.expectSound()
    for count in counts {
      let sql = "SELECT c0, c\(count - 1) FROM t\(count) INDEXED BY i\(count) ORDER BY c0;"
      #expect(try scratch.lines(sql) == ["7|\(count + 6)", "8|\(count + 7)"])
    }
  }

  @Test func `can have values of several megabytes`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path, sortByteCount: 1 << 20)
    let table = try writer.table(
      SQLiteTable(
        name: "t", key: .rowid("id"), columns: [SQLiteColumn("a", .text), SQLiteColumn("b")],
        indexes: [SQLiteIndex("i", on: ["a", "b"])]))
    let text = String(repeating: "Ωmega\u{0}'", count: 130_000)
    let blob = (0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 >> 4) }
    try table.append { row in
      row.append(text: text)
      row.append(blob: blob.span.bytes)
    }
    try table.append { row in
      row.append(utf8: Array((text + "!").utf8).span.bytes)
      row.append(integer: 5)
    }
    try writer.finish()
    try scratch.expectSound()
    let lines = try scratch.lines(
      "SELECT \(SQLiteShell.shown("a")), \(SQLiteShell.shown("b")) FROM t INDEXED BY i ORDER BY a;")
    #expect(
      lines == [
        SQLiteValue.text(text).shown + "|" + SQLiteValue.blob(blob).shown,
        SQLiteValue.text(text + "!").shown + "|i5",
      ])
  }
}
