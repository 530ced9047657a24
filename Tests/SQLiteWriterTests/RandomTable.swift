import SQLiteWriter

struct SeededSource: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  mutating func isOne(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

  mutating func element<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }
}

/// Values at a limit of the format, and values that programs often handle incorrectly.
enum OddValues {
  static let integers: [Int64] = {
    let bits: [Int64] = [7, 8, 15, 16, 23, 24, 31, 32, 47, 48, 53, 62]
    let limits = bits.flatMap { (bits: Int64) -> [Int64] in
      let power = Int64(1) << bits
      return [power, power - 1, power + 1, -power, -power - 1, -power + 1]
    }
    let others: [Int64] = [0, 1, 2, -1, 9_007_199_254_740_993, .max, .min, .max - 1, .min + 1]
    return others + limits
  }()

  static let reals: [Double] = [
    0, -0.0, 1, -1, 0.5, -1.5, .infinity, -.infinity, .leastNonzeroMagnitude,
    .greatestFiniteMagnitude, 0.1, 1e300, -1e-300, 9_007_199_254_740_992,
    9_223_372_036_854_775_808, -9_223_372_036_854_775_808, 9_223_372_036_854_774_784,
    140_737_488_355_327, 140_737_488_355_328, -140_737_488_355_328, -140_737_488_355_329,
    4_611_686_018_427_387_904, 4_611_686_018_427_387_903.5, 1e18, 3, -7, 255, 65536,
  ]

  static let texts = [
    "", "a", "A", "it's", "\"quoted\"", "\u{0}", "a\u{0}b", "a\u{0}", "\n\r\t\u{1B}[31m\u{7F}",
    "שלום עולם", "\u{202E}abc", "e\u{301}", "é", "👩‍👩‍👧‍👦", "\u{FFFF}", "\u{10FFFF}", "12", "1e5", " 7 ",
    "x'00'", "NULL", "a|b", "a,b", String(repeating: "z", count: 300),
  ]
}

/// A table with random columns and rows, and its expected content.
struct RandomTable {
  var definition: SQLiteTable
  /// The rows with their rowids, in the order in which they are written.
  var rows: [(rowid: Int64, values: [SQLiteValue])] = []

  static let types: [SQLiteColumnType] = [
    .any, .any, .integer, .real, .text, .blob, .numeric, .declared("BOOLEAN"),
    .declared("VARCHAR(20)"), .declared("double \"precision\""),
  ]

  init(_ name: String, rowCount: Int, _ source: inout SeededSource) {
    let count = source.isOne(in: 6) ? 150 : Int.random(in: 1...9, using: &source)
    let columns = (0..<count).map { position in
      SQLiteColumn("c\(position)", source.element(Self.types), isRequired: source.isOne(in: 4))
    }
    definition = SQLiteTable(
      name: name, key: .rowid(source.isOne(in: 2) ? "id" : nil), columns: columns)
    var rowid = source.element([1, -5, .min, 1 << 40, .max - Int64(rowCount)])
    let hasGaps = rowid != .max - Int64(rowCount) && source.isOne(in: 2)
    // Limit the number of rows, because wide tables are slow in debug builds.
    for _ in 0..<min(rowCount, 9000 / count) {
      let values = columns.map { Self.value(for: $0, &source) }
      rows.append((rowid, values))
      rowid += hasGaps ? Int64.random(in: 1...(1 << 33), using: &source) : 1
    }
    if let last = rows.last, last.rowid < .max, source.isOne(in: 3) {
      rows.append((.max, last.values))
    }
    for number in 0..<Int.random(in: 0...3, using: &source) {
      var names = definition.columns.map(\.name).shuffled(using: &source)
      names = Array(names.prefix(Int.random(in: 1...3, using: &source)))
      if case .rowid(let id?) = definition.key, source.isOne(in: 4) { names.append(id) }
      definition.indexes.append(SQLiteIndex("\(name)_\(number)", on: names))
    }
  }

  /// The expected content of the table, with one line per row.
  var lines: [String] {
    rows.map { row in
      let values = zip(definition.columns, row.values).map { Self.stored($1, $0.type).shown }
      return (["\(row.rowid)"] + values).joined(separator: "|")
    }
  }

  /// The query that returns the expected lines.
  var query: String {
    let columns = ["rowid"] + definition.columns.map { SQLiteShell.shown($0.name) }
    return "SELECT \(columns.joined(separator: ",\n")) FROM \(definition.name) NOT INDEXED "
      + "ORDER BY rowid;"
  }

  static func value(for column: SQLiteColumn, _ source: inout SeededSource) -> SQLiteValue {
    if !column.isRequired, source.isOne(in: 5) { return .null }
    let isSimilar = source.isOne(in: 2)
    let kinds: [Int] =
      switch column.type.affinity {
      case .blob: [0, 1, 2, 3]
      case .text: [2, 2, 2, 3]
      case .real, .numeric: [0, 1, 1, 0, 1, 3]
      }
    switch source.element(kinds) {
    case 0:
      return .integer(
        isSimilar ? Int64.random(in: -3...300, using: &source) : source.element(OddValues.integers))
    case 1:
      let real =
        isSimilar
        ? Double(Int.random(in: -300...300, using: &source)) / 4 : source.element(OddValues.reals)
      // SQLite drops the sign of -0.0 in such a column, but the writer preserves it.
      return .real(real == 0 && column.type.affinity == .real ? 0 : real)
    case 2:
      if isSimilar { return .text("common beginning \(Int.random(in: 0..<50, using: &source))") }
      return .text(
        source.isOne(in: 40)
          ? String(repeating: "long ", count: Int.random(in: 100...4000, using: &source))
          : source.element(OddValues.texts))
    default:
      let count = source.isOne(in: 40) ? Int.random(in: 0...12_000, using: &source) : 3
      return .blob((0..<count).map { _ in UInt8.random(in: 0...255, using: &source) })
    }
  }

  /// Returns the value that a column of the given type returns for `value`.
  static func stored(_ value: SQLiteValue, _ type: SQLiteColumnType) -> SQLiteValue {
    switch (type.affinity, value) {
    case (.real, .integer(let integer)): .real(Double(integer))
    case (.numeric, .real(let real)):
      // The values -2^63 and 2^63 remain reals.
      abs(real) < 9_223_372_036_854_775_808 && real == real.rounded()
        ? .integer(Int64(real)) : value
    default: value
    }
  }

  /// Statements that copy the table row by row to a table `copy`, so that SQLite encodes the rows.
  var copyStatements: String {
    var copy = definition
    copy.name = "copy"
    let columns = (["rowid"] + definition.columns.map(\.name)).joined(separator: ", ")
    return "\(copy.sql); INSERT INTO copy (\(columns)) SELECT \(columns) FROM \(definition.name) "
      + "NOT INDEXED ORDER BY rowid;"
  }

  func write(to writer: SQLiteFileWriter) throws {
    let table = try writer.table(definition)
    for row in rows { try table.append(rowid: row.rowid, row.values) }
  }
}
