/// The encodings of numbers in SQLite files.
///
/// See <https://www.sqlite.org/fileformat2.html>, § 1.6 for variable-length integers and § 2.1 for
/// the numbers in records.
extension [UInt8] {
  /// Appends a variable-length integer of 1 to 9 bytes.
  ///
  /// Each of the first eight bytes stores 7 bits of the value, beginning with the most significant
  /// bits. The top bit of such a byte is set if another byte follows. A ninth byte stores 8 bits.
  @inline(__always)
  mutating func appendVarint(_ value: UInt64) {
    if value < 0x80 {
      append(UInt8(truncatingIfNeeded: value))
    } else {
      appendLongVarint(value)
    }
  }

  private mutating func appendLongVarint(_ value: UInt64) {
    let byteCount = SQLiteFormat.varintByteCount(value)
    if byteCount == 9 {
      for shift in stride(from: UInt64(57), through: 8, by: -7) {
        append(UInt8(truncatingIfNeeded: value >> shift) | 0x80)
      }
      append(UInt8(truncatingIfNeeded: value))
      return
    }
    var shift = UInt64(7 * (byteCount - 1))
    while shift > 0 {
      append(UInt8(truncatingIfNeeded: value >> shift) | 0x80)
      shift -= 7
    }
    append(UInt8(truncatingIfNeeded: value) & 0x7F)
  }

  /// Appends the low `byteCount` bytes of a number, most significant byte first.
  @inline(__always)
  mutating func appendBigEndian(_ value: UInt64, byteCount: Int) {
    var shift = UInt64(8 * byteCount)
    while shift > 0 {
      shift -= 8
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  /// Reads a 4-byte length, most significant byte first.
  @inline(__always)
  func length(at position: Int) -> Int { Int(span.bigEndian(at: position, byteCount: 4)) }

  /// Appends `count` zero bytes.
  mutating func appendZeros(_ count: Int) {
    var rest = count
    while rest > 0 {
      // Append zeros from an array, because copying an array is fast even in debug builds.
      let step = Swift.min(rest, zeros.count)
      append(contentsOf: zeros[..<step])
      rest -= step
    }
  }
}

private let zeros = [UInt8](repeating: 0, count: SQLiteFormat.pageByteCount)

/// Methods that decode numbers so that records can be sorted.
extension Span<UInt8> {
  /// Reads a variable-length integer at `position` and moves `position` past it.
  @inline(__always)
  func varint(at position: inout Int) -> UInt64 {
    let first = self[position]
    position += 1
    return first < 0x80 ? UInt64(first) : longVarint(after: first, at: &position)
  }

  private func longVarint(after first: UInt8, at position: inout Int) -> UInt64 {
    var result = UInt64(first & 0x7F)
    for _ in 0..<7 {
      let byte = self[position]
      position += 1
      result = result << 7 | UInt64(byte & 0x7F)
      if byte < 0x80 { return result }
    }
    let last = self[position]
    position += 1
    return result << 8 | UInt64(last)
  }

  /// Reads an unsigned `byteCount`-byte integer, most significant byte first.
  @inline(__always)
  func bigEndian(at position: Int, byteCount: Int) -> UInt64 {
    var result: UInt64 = 0
    for offset in 0..<byteCount { result = result << 8 | UInt64(self[position + offset]) }
    return result
  }

  /// Reads a two's-complement `byteCount`-byte integer, most significant byte first.
  @inline(__always)
  func signedBigEndian(at position: Int, byteCount: Int) -> Int64 {
    guard byteCount > 0 else { return 0 }
    let unused = UInt64(64 - 8 * byteCount)
    return Int64(bitPattern: bigEndian(at: position, byteCount: byteCount) << unused)
      >> Int64(unused)
  }
}
