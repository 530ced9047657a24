/// The order in which SQLite sorts records.
///
/// Null sorts before numbers, numbers before text, and text before blobs. Integers and reals are
/// compared with each other exactly. Text and blobs are compared byte by byte. See
/// <https://www.sqlite.org/datatype3.html>, § 4.1.
enum RecordOrder {
  /// Compares the first values of two records.
  ///
  /// - Parameters:
  ///   - leftStart: The position in `left` at which the left record starts.
  ///   - rightStart: The position in `right` at which the right record starts.
  ///   - count: The number of values to compare.
  /// - Returns: A negative number if the left record sorts first, a positive number if the right
  ///   record sorts first, or 0 if the records are equal.
  static func compare(
    _ left: [UInt8], at leftStart: Int, _ right: [UInt8], at rightStart: Int, count: Int
  ) -> Int {
    let leftBytes = left.span
    let rightBytes = right.span
    var leftType = leftStart
    var rightType = rightStart
    var leftValue = leftStart + Int(leftBytes.varint(at: &leftType))
    var rightValue = rightStart + Int(rightBytes.varint(at: &rightType))
    for _ in 0..<count {
      let type = leftBytes.varint(at: &leftType)
      let otherType = rightBytes.varint(at: &rightType)
      let leftEnd = leftValue + SQLiteSerialType.byteCount(of: type)
      let rightEnd = rightValue + SQLiteSerialType.byteCount(of: otherType)
      let sortClass = SQLiteSerialType.sortClass(of: type)
      let otherClass = SQLiteSerialType.sortClass(of: otherType)
      guard sortClass == otherClass else {
        return sortClass.rawValue < otherClass.rawValue ? -1 : 1
      }
      let result: Int
      switch sortClass {
      case .null: result = 0
      case .number:
        result = compareNumbers(
          leftBytes, at: leftValue, type, rightBytes, at: rightValue, otherType)
      case .text, .blob:
        result = left.compare(leftValue..<leftEnd, with: right, rightValue..<rightEnd)
      }
      if result != 0 { return result }
      leftValue = leftEnd
      rightValue = rightEnd
    }
    return 0
  }

  /// Returns whether any of the first `count` values of a record is null.
  static func hasNull(_ record: [UInt8], count: Int) -> Bool {
    let bytes = record.span
    var position = 0
    _ = bytes.varint(at: &position)
    for _ in 0..<count where bytes.varint(at: &position) == SQLiteSerialType.null { return true }
    return false
  }

  /// Returns the last value of a record.
  ///
  /// In an index, this value is the rowid.
  static func lastInteger(of record: [UInt8]) -> Int64 {
    let bytes = record.span
    var position = 0
    var end = Int(bytes.varint(at: &position))
    let headerEnd = end
    var start = end
    var type = SQLiteSerialType.null
    while position < headerEnd {
      type = bytes.varint(at: &position)
      start = end
      end += SQLiteSerialType.byteCount(of: type)
    }
    return integer(bytes, at: start, type)
  }

  /// Returns the head of a record: an abbreviated key that decides most comparisons.
  ///
  /// The head consists of two bits for the storage class and the first bits of the first value.
  /// Records with different heads sort in the order of their heads. Records with equal heads must
  /// be compared completely.
  static func head(of record: [UInt8], at start: Int) -> UInt64 {
    let bytes = record.span
    var position = start
    let value = start + Int(bytes.varint(at: &position))
    let type = bytes.varint(at: &position)
    let sortClass = SQLiteSerialType.sortClass(of: type)
    let bits: UInt64
    switch sortClass {
    case .null: bits = 0
    case .number:
      let number =
        type == SQLiteSerialType.real
        ? real(bytes, at: value) : Double(integer(bytes, at: value, type))
      // Add 0 to turn -0.0 into the equal number 0.0. Converting an integer may round it, but never
      // changes the order.
      let pattern = (number + 0).bitPattern
      bits = pattern >> 63 == 1 ? ~pattern : pattern | 1 << 63
    case .text, .blob:
      let byteCount = min(SQLiteSerialType.byteCount(of: type), 8)
      bits =
        byteCount == 0
        ? 0 : bytes.bigEndian(at: value, byteCount: byteCount) << UInt64(64 - 8 * byteCount)
    }
    return sortClass.rawValue << 62 | bits >> 2
  }

  /// Returns one of the 8-byte words that follow the head of a text or blob value.
  ///
  /// Records with equal heads and equal preceding words sort in the order of this word. If this
  /// word is also equal, the records must be compared completely. Words are padded with zeros.
  ///
  /// - Parameter index: The number of the word, counted from 0.
  /// - Returns: The word, or `nil` if the first value has no bytes at this position.
  static func word(_ index: Int, of record: [UInt8], at start: Int) -> UInt64? {
    let bytes = record.span
    var position = start
    let value = start + Int(bytes.varint(at: &position))
    let type = bytes.varint(at: &position)
    // Skip only the 7 bytes that the head contains completely. Of the next byte, the head contains
    // only 6 bits.
    let offset = 7 + 8 * index
    let rest = SQLiteSerialType.byteCount(of: type) - offset
    guard type >= 12, rest > 0 else { return nil }
    let byteCount = min(rest, 8)
    return bytes.bigEndian(at: value + offset, byteCount: byteCount) << UInt64(64 - 8 * byteCount)
  }

  @inline(__always)
  private static func compareNumbers(
    _ left: Span<UInt8>, at leftStart: Int, _ type: UInt64,
    _ right: Span<UInt8>, at rightStart: Int, _ otherType: UInt64
  ) -> Int {
    switch (type == SQLiteSerialType.real, otherType == SQLiteSerialType.real) {
    case (false, false):
      let value = integer(left, at: leftStart, type)
      let other = integer(right, at: rightStart, otherType)
      return value == other ? 0 : (value < other ? -1 : 1)
    case (true, true):
      let value = real(left, at: leftStart)
      let other = real(right, at: rightStart)
      return value == other ? 0 : (value < other ? -1 : 1)
    case (false, true):
      return compare(integer(left, at: leftStart, type), real(right, at: rightStart))
    case (true, false):
      return -compare(integer(right, at: rightStart, otherType), real(left, at: leftStart))
    }
  }

  /// Compares an integer with a real exactly, without rounding the integer.
  static func compare(_ integer: Int64, _ real: Double) -> Int {
    // Compare with -2^63 and 2^63, because a real can represent these limits exactly.
    if real < -9_223_372_036_854_775_808 { return 1 }
    if real >= 9_223_372_036_854_775_808 { return -1 }
    let whole = Int64(real)
    if integer != whole { return integer < whole ? -1 : 1 }
    let fraction = real - real.rounded(.towardZero)
    return fraction == 0 ? 0 : (fraction > 0 ? -1 : 1)
  }

  private static func integer(_ bytes: Span<UInt8>, at position: Int, _ type: UInt64) -> Int64 {
    if type >= SQLiteSerialType.zero { return type == SQLiteSerialType.one ? 1 : 0 }
    return bytes.signedBigEndian(
      at: position, byteCount: SQLiteSerialType.byteCount(of: type))
  }

  private static func real(_ bytes: Span<UInt8>, at position: Int) -> Double {
    Double(bitPattern: bytes.bigEndian(at: position, byteCount: 8))
  }
}
