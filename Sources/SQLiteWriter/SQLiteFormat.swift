/// The constants of version 3 of SQLite's file format, for pages of 4,096 bytes.
///
/// See <https://www.sqlite.org/fileformat2.html>.
enum SQLiteFormat {
  static let pageByteCount = 4096

  /// The page that contains the byte at offset 2^30.
  ///
  /// SQLite locks bytes of this page, but never stores data in it (§ 1.4).
  static let lockBytePage = UInt32((1 << 30) / pageByteCount + 1)

  /// The greatest page number (§ 1.3).
  static let maximumPage: UInt32 = 4_294_967_294

  /// The length, in bytes, of the file header at the start of page 1 (§ 1.3).
  static let fileHeaderByteCount = 100

  /// The number of payload bytes in an overflow page, after the number of the next page (§ 1.7).
  static let overflowByteCount = pageByteCount - 4

  /// The maximum size, in bytes, of a row or a value, unless SQLite was compiled with a different
  /// limit; see <https://www.sqlite.org/limits.html>, § 1.
  static let maximumRecordByteCount = 1_000_000_000

  /// The maximum number of columns in a table or an index (§ 2 of `limits.html`).
  static let maximumColumnCount = 2000

  /// The maximum length of an SQL statement, in bytes (§ 3 of `limits.html`).
  static let maximumSQLByteCount = 1_000_000

  /// The version number in the file header, which identifies the SQLite version whose rules this
  /// code follows.
  static let versionNumber: UInt32 = 3_040_001

  /// The kinds of b-tree pages.
  ///
  /// Each raw value is the first byte of a page of that kind (§ 1.6).
  enum PageKind: UInt8 {
    case indexInterior = 2
    case tableInterior = 5
    case indexLeaf = 10
    case tableLeaf = 13

    var isInterior: Bool { self == .indexInterior || self == .tableInterior }

    /// The number of bytes before the array of cell pointers.
    var headerByteCount: Int { isInterior ? 12 : 8 }

    /// The maximum size, in bytes, of a payload that needs no overflow pages (X in § 1.6).
    var localByteCountLimit: Int {
      self == .tableLeaf ? pageByteCount - 35 : (pageByteCount - 12) * 64 / 255 - 23
    }
  }

  /// Returns the number of payload bytes that are stored in the cell.
  ///
  /// The remaining bytes are in overflow pages.
  ///
  /// In the terms of § 1.6, a payload of more than X bytes keeps K bytes in its cell if K ≤ X, and
  /// M bytes otherwise.
  static func localByteCount(of payloadByteCount: Int, _ kind: PageKind) -> Int {
    let limit = kind.localByteCountLimit
    guard payloadByteCount > limit else { return payloadByteCount }
    let minimum = (pageByteCount - 12) * 32 / 255 - 23
    // Prefer the length that leaves no unused space in the last overflow page.
    let filling = minimum + (payloadByteCount - minimum) % overflowByteCount
    return filling <= limit ? filling : minimum
  }

  /// Returns the length, in bytes, of a variable-length integer.
  @inline(__always)
  static func varintByteCount(_ value: UInt64) -> Int {
    if value < 0x80 { return 1 }
    return value >= 1 << 56 ? 9 : (70 - value.leadingZeroBitCount) / 7
  }

  /// Returns the length, in bytes, of a record header whose serial types take `typesByteCount`
  /// bytes.
  ///
  /// The header begins with its own length, which also counts the bytes of the length field.
  @inline(__always)
  static func recordHeaderByteCount(typesByteCount: Int) -> Int {
    if typesByteCount < 127 { return typesByteCount + 1 }
    let guess = typesByteCount + varintByteCount(UInt64(typesByteCount))
    // Compute the size of the length field again, because adding the field's own bytes to the
    // length can make the field one byte longer.
    return typesByteCount + varintByteCount(UInt64(guess))
  }
}

/// The serial types of record values, each of which encodes a kind and a length (§ 2.1).
enum SQLiteSerialType {
  static let null: UInt64 = 0
  static let real: UInt64 = 7
  static let zero: UInt64 = 8
  static let one: UInt64 = 9

  static func blob(byteCount: Int) -> UInt64 { UInt64(byteCount) * 2 + 12 }
  static func text(byteCount: Int) -> UInt64 { UInt64(byteCount) * 2 + 13 }

  /// The storage classes in SQLite's sort order; see <https://www.sqlite.org/datatype3.html>, §
  /// 4.1.
  enum SortClass: UInt64 {
    case null = 0
    case number = 1
    case text = 2
    case blob = 3
  }

  @inline(__always)
  static func sortClass(of type: UInt64) -> SortClass {
    if type == null { return .null }
    if type < 12 { return .number }
    return type & 1 == 1 ? .text : .blob
  }

  /// Returns the length, in bytes, of a value in the body of a record.
  @inline(__always)
  static func byteCount(of type: UInt64) -> Int {
    switch type {
    case 0, 8, 9: 0
    case 1...4: Int(type)
    case 5: 6
    case 6, 7: 8
    default: Int((type - 12) / 2)
    }
  }

  /// Returns the shortest serial type for an integer.
  @inline(__always)
  static func integer(_ value: Int64) -> UInt64 {
    if value == 0 { return zero }
    if value == 1 { return one }
    // Allow one more bit than the magnitude needs, for the sign.
    let magnitude = UInt64(bitPattern: value < 0 ? ~value : value)
    switch 65 - magnitude.leadingZeroBitCount {
    case ...8: return 1
    case ...16: return 2
    case ...24: return 3
    case ...32: return 4
    case ...48: return 5
    default: return 6
    }
  }
}
