/// A row that is encoded as a record while it is being filled.
///
/// A record consists of a header, which contains one serial type per value, and a body, which
/// contains the values; see <https://www.sqlite.org/fileformat2.html>, § 2.1. The header and the
/// body are collected in buffers shared by all rows of a table.
///
/// The methods of this type do not throw. If a column cannot store its value, the row is rejected
/// when it is complete.
package struct SQLiteRow: ~Copyable {
  /// The rules for the values of a column.
  struct Column {
    let affinity: SQLiteAffinity
    let isRequired: Bool
  }

  /// The reason for rejecting a row.
  enum Problem {
    case null
    case notANumber
    /// The column does not accept values of the named kind.
    case kind(String)
  }

  private let columns: [Column]
  private(set) var serialTypes: [UInt64] = []
  /// The serial types in encoded form, which make up the header without its length.
  private var header: [UInt8] = []
  private(set) var body: [UInt8] = []
  /// For each value, the position in the body at which the value ends.
  private(set) var ends: [Int] = []
  /// The first problem, and the position of the column in which it occurred.
  private(set) var problem: (column: Int, problem: Problem)?

  init(_ columns: [Column]) {
    self.columns = columns
    serialTypes.reserveCapacity(columns.count)
    ends.reserveCapacity(columns.count)
  }

  /// The number of values appended so far.
  var count: Int { serialTypes.count }

  /// A Boolean value that indicates whether the row has one value per column.
  var isComplete: Bool { count == columns.count }

  /// The length, in bytes, of the complete record.
  var recordByteCount: Int {
    SQLiteFormat.recordHeaderByteCount(typesByteCount: header.count) + body.count
  }

  // MARK: Values, in the order of the columns

  package mutating func appendNull() {
    guard let column = nextColumn else { return }
    if column.isRequired { reject(.null) } else { end(SQLiteSerialType.null) }
  }

  package mutating func append(integer: Int64) {
    guard let column = nextColumn else { return }
    switch column.affinity {
    case .numeric, .blob: store(integer)
    // Convert the integer, because a column with real affinity stores reals. The conversion can
    // round a large integer.
    case .real: store(realColumn: Double(integer))
    case .text: reject(.kind("an integer"))
    }
  }

  package mutating func append(real: Double) {
    guard let column = nextColumn else { return }
    guard !real.isNaN else {
      reject(.notANumber)
      return
    }
    switch column.affinity {
    case .blob: store(real)
    case .real: store(realColumn: real)
    case .numeric:
      // Like SQLite, do not convert a real at either end of the integer range to an integer.
      if let integer = Int64(exactly: real), integer != .min { store(integer) } else { store(real) }
    case .text: reject(.kind("a real number"))
    }
  }

  package mutating func append(text: String) {
    guard let column = nextColumn else { return }
    guard column.affinity == .text || column.affinity == .blob else {
      reject(.kind("text"))
      return
    }
    let start = body.count
    body.append(contentsOf: text.utf8)
    end(SQLiteSerialType.text(byteCount: body.count - start))
  }

  /// Appends text that is already encoded as UTF-8.
  ///
  /// - Precondition: The bytes are valid UTF-8. The method does not check them.
  package mutating func append(utf8: RawSpan) {
    guard let column = nextColumn else { return }
    guard column.affinity == .text || column.affinity == .blob else {
      reject(.kind("text"))
      return
    }
    body.append(utf8)
    end(SQLiteSerialType.text(byteCount: utf8.byteCount))
  }

  package mutating func append(blob: RawSpan) {
    guard nextColumn != nil else { return }
    body.append(blob)
    end(SQLiteSerialType.blob(byteCount: blob.byteCount))
  }

  package mutating func append(blob: [UInt8]) {
    guard nextColumn != nil else { return }
    body.append(contentsOf: blob)
    end(SQLiteSerialType.blob(byteCount: blob.count))
  }

  package mutating func append(_ value: SQLiteValue) {
    switch value {
    case .null: appendNull()
    case .integer(let integer): append(integer: integer)
    case .real(let real): append(real: real)
    case .text(let text): append(text: text)
    case .blob(let bytes): append(blob: bytes)
    }
  }

  // MARK: Using the row

  /// Removes all values.
  mutating func removeAll() {
    serialTypes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    // Release the buffer if a single huge row has enlarged it.
    body.removeAll(keepingCapacity: body.count <= 1 << 20)
    header.removeAll(keepingCapacity: true)
    problem = nil
  }

  /// Appends the null that a record contains in place of the rowid (§ 2.3).
  mutating func appendRowidPlaceholder() { end(SQLiteSerialType.null) }

  /// Returns the range that a value occupies in the body.
  @inline(__always)
  func range(of position: Int) -> Range<Int> {
    (position == 0 ? 0 : ends[position - 1])..<ends[position]
  }

  /// Appends the header of the record to `target`.
  func appendHeader(to target: inout [UInt8]) {
    let headerByteCount = SQLiteFormat.recordHeaderByteCount(typesByteCount: header.count)
    target.appendVarint(UInt64(headerByteCount))
    target.append(contentsOf: header)
  }

  // MARK: Storing

  /// The rules for the next value, or `nil` if there are too many values.
  @inline(__always)
  private var nextColumn: Column? {
    mutating get {
      guard count < columns.count else {
        // Append a type nevertheless, so that the count shows that there are too many values.
        serialTypes.append(SQLiteSerialType.null)
        return nil
      }
      return columns[count]
    }
  }

  private mutating func reject(_ reason: Problem) {
    if problem == nil { problem = (count, reason) }
    // Append a placeholder, so that each later value belongs to the correct column.
    end(SQLiteSerialType.null)
  }

  @inline(__always)
  private mutating func end(_ type: UInt64) {
    serialTypes.append(type)
    header.appendVarint(type)
    ends.append(body.count)
  }

  @inline(__always)
  private mutating func store(_ integer: Int64) {
    let type = SQLiteSerialType.integer(integer)
    body.appendBigEndian(
      UInt64(bitPattern: integer), byteCount: SQLiteSerialType.byteCount(of: type))
    end(type)
  }

  @inline(__always)
  private mutating func store(_ real: Double) {
    body.appendBigEndian(real.bitPattern, byteCount: 8)
    end(SQLiteSerialType.real)
  }

  /// Stores a value in a column with real affinity.
  ///
  /// In a column with real affinity, SQLite stores a real without a fraction as an integer if the
  /// integer is shorter, and converts it back to a real when it reads the column; see
  /// <https://www.sqlite.org/datatype3.html>, § 3. Unlike SQLite, this method keeps the sign of
  /// -0.0.
  @inline(__always)
  private mutating func store(realColumn real: Double) {
    let limit = 140_737_488_355_328.0  // 2^47: larger integers take 8 bytes, as reals do.
    let isShort = real >= -limit && real < limit && (real != 0 || real.sign == .plus)
    if isShort, let integer = Int64(exactly: real) { store(integer) } else { store(real) }
  }
}
