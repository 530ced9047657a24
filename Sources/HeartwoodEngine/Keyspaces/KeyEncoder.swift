/// An encoder that writes the components of a key as bytes that sort in the order of the values.
///
/// Every component starts with a byte that identifies its kind, so that components sort by kind
/// first and a key can be decoded. A fixed-length component needs no terminator. In strings and
/// byte strings, a zero byte is written as `00 FF`. If another component follows a string or byte
/// string, `00` terminates it. Otherwise, it ends with the key. A key that consists of one string
/// therefore has one byte of overhead. These rules guarantee that keys sort in the order of their
/// values, and that different keys have different encodings:
///
/// - If two strings first differ at some byte, their encodings first differ at the corresponding
///   byte. If one of these two bytes is zero, it is encoded as `00 FF`, and `00` is less than the
///   other byte.
/// - Suppose that one string is a prefix of another. After the shorter string, the key either ends,
///   which sorts before any byte, or continues with `00` and a kind byte. The longer string
///   continues with a byte above `00`, or with `00 FF`. The bytes `00 FF` sort after `00` and a
///   kind byte, because every kind byte is less than `FF`. The shorter string therefore sorts
///   first, whatever follows it: `("a")` < `("a", x)` < `("a\0")`.
/// - `00 FF` always represents a zero byte, and any other `00` is always a terminator. Two
///   different lists of components therefore never have the same encoding.
public struct KeyEncoder: Sendable {
  package private(set) var bytes: [UInt8] = []
  /// A Boolean value that indicates whether the last component needs a terminator if another
  /// component follows.
  private var isOpen = false

  package init() {
    bytes.reserveCapacity(32)
  }

  /// Appends nil, which sorts before every value.
  public mutating func appendNil() {
    begin(.absent)
  }

  /// Appends a boolean.
  ///
  /// The value `false` sorts before `true`.
  public mutating func append(_ value: Bool) {
    begin(value ? .yes : .no)
  }

  /// Appends an integer.
  ///
  /// Integers of all widths have the same kind, and sort by value.
  public mutating func append(_ value: Int) {
    append(Int64(value))
  }

  /// Appends an integer.
  public mutating func append(_ value: Int64) {
    begin(.integer)
    bytes.append(bigEndian: value.keyBits)
  }

  /// Appends an integer.
  public mutating func append(_ value: UInt64) {
    if let small = Int64(exactly: value) { return append(small) }
    begin(.largeInteger)
    bytes.append(bigEndian: value)
  }

  /// Appends a floating-point number.
  ///
  /// -0 has the same key as 0, and all NaNs share one key, which sorts after infinity.
  /// Floating-point numbers and integers are different kinds, so 1.0 sorts after every integer.
  public mutating func append(_ value: Double) {
    begin(.float)
    bytes.append(bigEndian: value.keyBits)
  }

  /// Appends a point in time.
  ///
  /// The time is given in seconds since the start of 1970 (UTC).
  public mutating func append(date secondsSince1970: Double) {
    begin(.date)
    bytes.append(bigEndian: secondsSince1970.keyBits)
  }

  /// Appends a UUID, given as two integers.
  ///
  /// The integers are the UUID's first and last eight bytes, each read as a big-endian number.
  public mutating func append(uuid: (high: UInt64, low: UInt64)) {
    begin(.uuid)
    bytes.append(bigEndian: uuid.high)
    bytes.append(bigEndian: uuid.low)
  }

  /// Appends a string.
  ///
  /// Strings sort by their UTF-8 bytes, and therefore by their Unicode scalars. Strings that are
  /// equal by `==` but consist of different scalars, such as a composed and a decomposed letter,
  /// have different keys. Normalise strings first if they should have the same key.
  public mutating func append(_ value: String) {
    value.withBytes { append(.string, $0) }
  }

  /// Appends a byte string, which sorts byte by byte.
  public mutating func append(_ value: [UInt8]) {
    value.withBytes { append(.bytes, $0) }
  }

  /// Appends a byte string, which sorts byte by byte.
  public mutating func append(_ value: RawSpan) {
    value.withBytes { append(.bytes, $0) }
  }

  private mutating func begin(_ tag: KeyTag) {
    if isOpen { bytes.append(0) }
    isOpen = false
    bytes.append(tag.rawValue)
  }

  private mutating func append(_ tag: KeyTag, _ content: Bytes) {
    begin(tag)
    isOpen = true
    var start = 0
    while true {
      let zero = content.firstZero(from: start)
      bytes.append(contentsOf: content.slice(start, zero - start).buffer)
      guard zero < content.count else { return }
      bytes.append(0)
      bytes.append(0xFF)
      start = zero + 1
    }
  }
}

extension Int64 {
  /// The bits that represent this number in a key.
  ///
  /// The flipped sign bit makes negative numbers sort first.
  @inline(__always)
  package var keyBits: UInt64 { UInt64(bitPattern: self) ^ (1 << 63) }

  @inline(__always)
  init(keyBits: UInt64) {
    self = Int64(bitPattern: keyBits ^ (1 << 63))
  }
}

extension Double {
  /// The bits that represent this number in a key.
  ///
  /// All bits of a negative number are flipped, so that larger magnitudes sort first. Otherwise,
  /// only the sign bit is flipped. Equal numbers must have the same key, so -0 is written as 0, and
  /// all NaNs are written in the same form.
  package var keyBits: UInt64 {
    let sign: UInt64 = 1 << 63
    if isNaN { return 0x7FF8_0000_0000_0000 ^ sign }
    if self == 0 { return sign }
    return bitPattern & sign == 0 ? bitPattern ^ sign : ~bitPattern
  }

  /// Creates a number from its bits in a key, or returns `nil` if they do not represent a number.
  init?(keyBits: UInt64) {
    let sign: UInt64 = 1 << 63
    self.init(bitPattern: keyBits & sign == 0 ? ~keyBits : keyBits ^ sign)
    guard self.keyBits == keyBits else { return nil }
  }
}
