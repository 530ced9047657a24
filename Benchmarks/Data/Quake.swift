import Foundation

/// An earthquake as reported by a feed.
struct Quake: Sendable {
  /// The code of the network followed by the quake's code in that network, for example
  /// `nc73275410`.
  var code: String
  /// The magnitude, or `nan` if the feed does not contain one.
  var magnitude: Float
  /// The place, or an empty string if the feed does not contain one.
  var place: String
  /// The time, in milliseconds since 1970.
  var time: Int64
  var longitude: Float
  var latitude: Float
  /// The depth in kilometres.
  var depth: Float
}

/// The layout of a row, which stores a quake in 100 bytes.
///
/// The row number comes first, so that a read can check with one comparison that it returned the
/// requested row. All numbers are little-endian.
enum QuakeRow {
  static let byteCount = 100
  static let time = 8
  static let magnitude = 16
  static let longitude = 20
  static let latitude = 24
  static let depth = 28
  static let code = 32..<48
  static let placeByteCount = 48
  static let place = 49..<100

  /// The number of base-36 digits at the end of a code, which encode the row number.
  private static let numberDigitCount = 6
  private static let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)

  /// The maximum number of rows for which all codes are distinct: 36 to the power of 6.
  static let maxCount = 2_176_782_336

  /// Appends the row for `quake` to `block`.
  ///
  /// A place that is too long is truncated, and a shorter place is padded with zeros.
  static func append(_ quake: Quake, number: Int64, to block: inout [UInt8]) {
    append(UInt64(bitPattern: number), to: &block)
    append(UInt64(bitPattern: quake.time), to: &block)
    append(quake.magnitude.bitPattern, to: &block)
    append(quake.longitude.bitPattern, to: &block)
    append(quake.latitude.bitPattern, to: &block)
    append(quake.depth.bitPattern, to: &block)
    appendCode(quake.code, number: number, to: &block)
    let kept = quake.place.utf8.prefix(place.count)
    block.append(UInt8(kept.count))
    block.append(contentsOf: kept)
    block.append(contentsOf: repeatElement(0, count: place.count - kept.count))
  }

  /// Appends the 16 bytes of the row's code, which consists of the quake's code and the row number.
  ///
  /// The row number makes the code unique even if a feed is repeated to reach `--rows`.
  private static func appendCode(_ name: String, number: Int64, to block: inout [UInt8]) {
    let kept = name.utf8.prefix(code.count - numberDigitCount)
    block.append(contentsOf: kept)
    let padding = code.count - numberDigitCount - kept.count
    block.append(contentsOf: repeatElement(UInt8(ascii: "."), count: padding))
    var divisor: Int64 = 60_466_176  // 36 to the power of 5
    for _ in 0..<numberDigitCount {
      block.append(digits[Int(number / divisor % 36)])
      divisor /= 36
    }
  }

  private static func append(_ value: some FixedWidthInteger, to block: inout [UInt8]) {
    withUnsafeBytes(of: value.littleEndian) { block.append(contentsOf: $0) }
  }
}

extension RawSpan {
  /// Returns the eight bytes at `offset` as a number.
  ///
  /// The bytes must be inside the span.
  @inline(__always)
  func word(at offset: Int) -> UInt64 {
    UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Returns the time of the quake in this row.
  ///
  /// - Throws: ``BenchFailure`` if the row does not have this number.
  @inline(__always)
  func verifiedTime(of number: Int64) throws -> UInt64 {
    guard byteCount == QuakeRow.byteCount, word(at: 0) == UInt64(bitPattern: number) else {
      throw wrongRow(number)
    }
    return word(at: QuakeRow.time)
  }

  /// The sum of the span's 64-bit words and of the bytes after the last complete word.
  ///
  /// Computing the sum takes about one cycle per word.
  @inline(__always)
  var sum: UInt64 {
    var sum: UInt64 = 0
    var offset = 0
    while offset + 8 <= byteCount {
      sum &+= unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    while offset < byteCount {
      sum &+= UInt64(unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self))
      offset += 1
    }
    return sum
  }

  @inline(never)
  private func wrongRow(_ number: Int64) -> BenchFailure {
    let found = byteCount < 8 ? "none" : "\(Int64(bitPattern: word(at: 0)))"
    return BenchFailure(
      "Reading row \(number) returned \(byteCount) bytes that contain the row number \(found).")
  }
}
