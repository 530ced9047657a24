import HeartwoodTestSupport
import SQLiteWriter
import Testing

/// Tests indexes, unique keys and tables that are sorted by columns.
@Suite("Keys of SQLite files", .enabled(if: SQLiteShell.isInstalled, SQLiteShell.comment))
struct KeyTests {
  @Test(arguments: TestScale.seeds(quick: 3, all: 12)) func `sort join tables by their key columns`(
    seed: UInt64
  ) throws {
    var source = SeededSource(seed + 1000)
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(
      path: scratch.path, sortByteCount: source.element([512, 8 << 20]))
    // The key lists its columns in a different order from the table.
    let table = try writer.table(
      SQLiteTable(
        name: "pairs", key: .columns(["owner", "member"]),
        columns: [
          SQLiteColumn("note"), SQLiteColumn("member", .integer), SQLiteColumn("weight", .real),
          SQLiteColumn("owner", .text),
        ],
        indexes: [
          SQLiteIndex("backwards", on: ["member", "owner"]), SQLiteIndex("weights", on: ["weight"]),
          SQLiteIndex("mixed", on: ["note", "member"]),
        ]))
    var keys: Set<String> = []
    var expected: [String] = []
    for _ in 0..<source.element([0, 1, 500, 4000]) {
      let owner = "owner \(Int.random(in: 0..<40, using: &source))"
      let member = Int64.random(in: -9...400, using: &source)
      guard keys.insert("\(owner)|\(member)").inserted else { continue }
      let note = RandomTable.value(for: SQLiteColumn("note"), &source)
      let weight = SQLiteValue.real(Double(Int.random(in: 0...90, using: &source)) / 2)
      let values = [note, .integer(member), weight, .text(owner)]
      try table.append(values)
      expected.append(values.map(\.shown).joined(separator: "|"))
    }
    try writer.finish()
    try scratch.expectSound()
    try scratch.expectSameByteCounts(["backwards", "weights", "mixed"])
    let columns = ["note", "member", "weight", "owner"].map(SQLiteShell.shown)
    let all = columns.joined(separator: ", ")
    let lines = try scratch.lines("SELECT \(all) FROM pairs NOT INDEXED;")
    #expect(lines.sorted() == expected.sorted())
    #expect(
      try lines
        == scratch.lines("SELECT \(all) FROM pairs NOT INDEXED ORDER BY +owner, +member;"))
    for (index, order) in [
      ("backwards", "member, owner"), ("weights", "weight, owner, member"),
      ("mixed", "note, member, owner"),
    ] {
      let unsorted = order.split(separator: " ").map { "+\($0)" }.joined(separator: " ")
      #expect(
        try scratch.lines("SELECT \(all) FROM pairs INDEXED BY \(index) ORDER BY \(order);")
          == scratch.lines("SELECT \(all) FROM pairs NOT INDEXED ORDER BY \(unsorted);"))
    }
  }

  @Test func `compare integers and reals exactly`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    let table = try writer.table(
      SQLiteTable(
        name: "t", key: .rowid(nil), columns: [SQLiteColumn("a")],
        indexes: [SQLiteIndex("i", on: ["a"])]))
    for integer in OddValues.integers.shuffled() {
      try table.append([.integer(integer)])
      // The conversion to a real rounds many of these integers.
      try table.append([.real(Double(integer))])
      try table.append([.real(Double(integer).nextUp)])
      try table.append([.real(Double(integer).nextDown)])
    }
    for real in OddValues.reals { try table.append([.real(real)]) }
    let zeros = try writer.table(
      SQLiteTable(
        name: "z", key: .rowid(nil), columns: [SQLiteColumn("a", .real)],
        indexes: [SQLiteIndex("j", on: ["a"])]))
    for zero in [0.0, -0.0, 0.0, -0.0] { try zeros.append([.real(zero)]) }
    try writer.finish()
    try scratch.expectSound()
    #expect(
      try scratch.lines("SELECT rowid, \(SQLiteShell.shown("a")) FROM z INDEXED BY j ORDER BY a;")
        == [
          "1|r0000000000000000", "2|r8000000000000000", "3|r0000000000000000",
          "4|r8000000000000000",
        ])
    #expect(
      try scratch.lines("SELECT rowid FROM t INDEXED BY i ORDER BY a, rowid;")
        == scratch.lines("SELECT rowid FROM t NOT INDEXED ORDER BY +a, rowid;"))
  }

  @Test func `sort long texts with common beginnings`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    let table = try writer.table(
      SQLiteTable(
        name: "t", key: .rowid(nil), columns: [SQLiteColumn("a"), SQLiteColumn("b", .integer)],
        indexes: [SQLiteIndex("i", on: ["a", "b"])]))
    var source = SeededSource(77)
    for number in 0..<3000 {
      let count = source.element([0, 1, 6, 7, 8, 15, 16, 40, 135, 136, 200])
      // Trailing zero bytes in a text look like the padding of a word.
      let end = source.element(["", "\u{0}", "\u{0}\u{0}", "a", "b", "é", "\u{0}a"])
      let middle = (0..<source.element([0, 0, 3, 20])).map { _ in source.element(["a", "b", "c"]) }
      let text = String(repeating: "p", count: count) + middle.joined() + end
      try table.append([
        source.isOne(in: 2) ? .text(text) : .blob(Array(text.utf8)), .integer(Int64(-number)),
      ])
    }
    try writer.finish()
    try scratch.expectSound()
    #expect(
      try scratch.lines("SELECT rowid FROM t INDEXED BY i ORDER BY a, b;")
        == scratch.lines("SELECT rowid FROM t NOT INDEXED ORDER BY +a, +b;"))
  }

  @Test(arguments: [8 << 20, 256]) func `find duplicates of unique keys`(
    sortByteCount: Int
  ) throws {
    let scratch = try Scratch()
    func write(_ path: String, _ values: [SQLiteValue]) throws {
      let writer = try SQLiteFileWriter(path: path, sortByteCount: sortByteCount)
      let table = try writer.table(
        SQLiteTable(
          name: "t", key: .rowid("id"), columns: [SQLiteColumn("a"), SQLiteColumn("b")],
          indexes: [SQLiteIndex("u", on: ["a", "b"], isUnique: true)]))
      for value in values { try table.append([.text("x"), value]) }
      try writer.finish()
    }
    // Nulls are never equal, and a text never equals a blob.
    let distinct: [SQLiteValue] = [
      .integer(5), .null, .text("5"), .null, .blob([0x35]), .real(5.5), .integer(6),
    ]
    try write(scratch.path, distinct)
    try scratch.expectSound()
    #expect(try scratch.lines("SELECT count(*) FROM t INDEXED BY u WHERE a = 'x';") == ["7"])
    let other = scratch.path(of: "other")
    let error = #expect(throws: SQLiteWriterError.self) {
      try write(other, distinct + [.real(5)])
    }
    #expect(error?.kind == .duplicateKey)
    #expect(error?.message.contains("rows 1 and 8 ") == true)
    #expect(error?.message.contains("\"u\"") == true)
    // The failed writer must leave no file behind.
    #expect(try scratch.names == ["file.sqlite"])
  }

  @Test func `find duplicates of primary keys`() throws {
    let scratch = try Scratch()
    let writer = try SQLiteFileWriter(path: scratch.path)
    let table = try writer.table(
      SQLiteTable(
        name: "t", key: .columns(["a", "b"]),
        columns: [SQLiteColumn("a", .text), SQLiteColumn("b", .integer), SQLiteColumn("c")]))
    try table.append([.text("é"), .integer(1), .null])
    try table.append([.text("e\u{301}"), .integer(1), .null])
    try table.append([.text("é"), .integer(1), .integer(7)])
    let error = #expect(throws: SQLiteWriterError.self) { try table.close() }
    #expect(error?.kind == .duplicateKey)
    let later = #expect(throws: SQLiteWriterError.self) { try writer.finish() }
    #expect(later?.kind == .closed)
    #expect(later?.message.contains("primary key") == true)
  }

  @Test func `merge many sorted runs`() throws {
    let scratch = try Scratch()
    // The writer makes about 5,000 runs. It merges 64 runs at a time, and then the results, again
    // 64 at a time.
    let writer = try SQLiteFileWriter(path: scratch.path, sortByteCount: 256)
    let table = try writer.table(
      SQLiteTable(
        name: "t", key: .rowid(nil), columns: [SQLiteColumn("a", .integer)],
        indexes: [SQLiteIndex("i", on: ["a"])]))
    for number in Int64(0)..<40_000 {
      try table.append { $0.append(integer: number * 7919 % 40_009) }
    }
    #expect(try scratch.names == ["file.sqlite"])
    try writer.finish()
    try scratch.expectSound()
    let lines = try scratch.lines(
      "SELECT count(*), min(a), max(a) FROM t INDEXED BY i WHERE a >= 0;")
    #expect(lines == ["40000|0|40008"])
  }
}
