import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A key decoding")
struct KeyDecodingTests {
  @Test func `components of every type round-trip`() throws {
    try expectRoundTrip(Int.min)
    try expectRoundTrip(Int8.min)
    try expectRoundTrip(Int16.max)
    try expectRoundTrip(Int32.min)
    try expectRoundTrip(Int64.max)
    try expectRoundTrip(UInt.max)
    try expectRoundTrip(UInt8.max)
    try expectRoundTrip(UInt16.max)
    try expectRoundTrip(UInt32.max)
    try expectRoundTrip(UInt64.max)
    try expectRoundTrip(-2.5)
    try expectRoundTrip(Float(0.1))
    try expectRoundTrip(-Float.infinity)
    try expectRoundTrip(true)
    try expectRoundTrip(false)
    try expectRoundTrip("a\0b\0\0é")
    try expectRoundTrip([0, 0xFF, 0, 0] as [UInt8])
    try expectRoundTrip(Int?.none)
    try expectRoundTrip(Int?.some(-7))
    try expectRoundTrip(String?.some(""))
    try expectRoundTrip(Moment(seconds: 1_700_000_000.25))
    try expectRoundTrip(Identity(high: .max, low: 1))
    #expect(try Key.decode(Key(Double.nan).bytes.span.bytes, as: Double.self).isNaN)
    #expect(try Key.decode(Key(Float.nan).bytes.span.bytes, as: Float.self).isNaN)
    let zero: Double = try Key.decode(Key(-0.0).bytes.span.bytes, as: Double.self)
    #expect(zero.sign == .plus)
  }

  @Test func `several components round-trip, including nil`() throws {
    let key = Key("a\0", Int?.none, [0] as [UInt8], "", true, 1.5, Int?.some(3))
    let parts = try Key.decode(
      key.bytes.span.bytes, as: String.self, Int?.self, [UInt8].self, String.self, Bool.self,
      Double.self, Int?.self)
    #expect(parts.0 == "a\0" && parts.1 == nil && parts.2 == [0] && parts.3 == "")
    #expect(parts.4 && parts.5 == 1.5 && parts.6 == 3)
  }

  @Test func `a component of another kind throws and names both kinds`() {
    #expect(
      message(Key(1, "x"), as: Int.self, Int.self)
        == "The key's second component is a string, not an integer. "
        + "Request a string instead.")
    #expect(
      message(Key(1.5), as: Int.self)
        == "The key's first component is a floating-point number, not an integer. "
        + "Request a floating-point number instead.")
    #expect(
      message(Key(1), as: Bool.self)
        == "The key's first component is an integer, not a boolean. "
        + "Request an integer instead.")
    #expect(
      message(Key(true), as: String.self)
        == "The key's first component is a boolean, not a string. "
        + "Request a boolean instead.")
    #expect(
      message(Key(Int?.none), as: [UInt8].self)
        == "The key's first component is nil, not a byte string. "
        + "Request nil instead.")
    #expect(
      message(Key("x"), as: Moment.self)
        == "The key's first component is a string, not a date. "
        + "Request a string instead.")
    #expect(
      message(Key([UInt8]()), as: Identity.self)
        == "The key's first component is a byte string, not a UUID. "
        + "Request a byte string instead.")
    #expect(
      message(Key(Moment(seconds: 0)), as: Double.self)
        == "The key's first component is a date, not a floating-point number. "
        + "Request a date instead.")
  }

  @Test func `a number that does not fit throws`() {
    #expect(
      message(Key(300), as: Int8.self)
        == "The key's first component is the number 300, which Int8 cannot represent. "
        + "Request a type that can represent it.")
    #expect(
      message(Key(-1), as: UInt64.self)
        == "The key's first component is the number -1, which UInt64 cannot represent. "
        + "Request a type that can represent it.")
    #expect(
      message(Key(UInt64.max), as: Int.self)
        == "The key's first component is the number 18446744073709551615, which Int cannot "
        + "represent. Request a type that can represent it.")
    #expect(
      message(Key(0.1), as: Float.self)
        == "The key's first component is the number 0.1, which Float cannot represent. "
        + "Request a type that can represent it.")
  }

  @Test func `missing and remaining components throw`() {
    #expect(
      message(Key(1), as: Int.self, String.self)
        == "The key's second component is missing, but a string was requested. "
        + "Request only the components that the key has.")
    #expect(
      message(Key(1, "x"), as: Int.self)
        == "The key's second component is a string, but no more components were requested. "
        + "Request all components of the key.")
    #expect(
      message(Key(), as: Int?.self)
        == "The key's first component is missing, but an integer was requested. "
        + "Request only the components that the key has.")
  }

  @Test(
    arguments: [
      [0x00], [0x09], [0xFF], [0x20], [0x20, 0, 0, 0, 0, 0, 0, 0], [0x38, 1, 2, 3],
      // Terminators that are not followed by another component.
      [0x40, 0x61, 0x00], [0x48, 0x00], [0x40, 0x61, 0x00, 0x00],
      // Strings that are not valid UTF-8.
      [0x40, 0xC3], [0x40, 0xED, 0xA0, 0x80], [0x40, 0xC0, 0x80],
      // Noncanonical encodings of a small integer, of zero and of NaN.
      [0x21, 0, 0, 0, 0, 0, 0, 0, 1], [0x28, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      [0x28, 0xFF, 0xF8, 0, 0, 0, 0, 0, 1], [0x30, 0, 0, 0, 0, 0, 0, 0, 0],
    ] as [[UInt8]])
  func `bytes that no encoder writes are corrupt`(bytes: [UInt8]) throws {
    let error = #expect(throws: StorageError.self) { try Key(encoded: bytes) }
    #expect(error?.kind == .corrupt)
    #expect(Key(unverified: bytes).description.hasPrefix("0x"))
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `random bytes never trap, and what decodes encodes to the same`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let tags = KeyTag.allCases.map(\.rawValue)
    var acceptedCount = 0
    for _ in 0..<TestScale.pick(quick: 700, all: 20_000) {
      var bytes = generator.bytes(generator.below(24))
      for index in bytes.indices where generator.isTrue(in256: 100) {
        bytes[index] = generator.isTrue(in256: 128) ? 0 : tags[generator.below(tags.count)]
      }
      if (try? Key(encoded: bytes)) != nil { acceptedCount += 1 }
      expectFaithful(bytes, as: Int.self)
      expectFaithful(bytes, as: UInt8.self)
      expectFaithful(bytes, as: UInt64.self)
      expectFaithful(bytes, as: Double.self)
      expectFaithful(bytes, as: Float.self)
      expectFaithful(bytes, as: Bool.self)
      expectFaithful(bytes, as: String.self)
      expectFaithful(bytes, as: [UInt8].self)
      expectFaithful(bytes, as: Moment.self)
      expectFaithful(bytes, as: Identity.self)
      if let pair = try? Key.decode(bytes.span.bytes, as: [UInt8].self, String?.self) {
        #expect(Key(pair.0, pair.1).bytes == bytes, "seed \(seed)")
      }
    }
    #expect(acceptedCount > 20)
  }

  private func expectFaithful<Value: KeyConvertible>(_ bytes: [UInt8], as type: Value.Type) {
    guard let value: Value = try? Key.decode(bytes.span.bytes, as: type) else { return }
    #expect(Key(value).bytes == bytes)
    #expect((try? Key(encoded: bytes)) != nil)
  }

  private func expectRoundTrip<Value: KeyConvertible & Equatable>(_ value: Value) throws {
    let key = Key(value)
    let result: Value = try Key.decode(key.bytes.span.bytes, as: Value.self)
    #expect(result == value)
    #expect(try Key(encoded: key.bytes) == key)
  }

  /// Returns the message of the error thrown when a key is decoded as components of the wrong
  /// types.
  private func message<each Part: KeyConvertible>(
    _ key: Key, as types: repeat (each Part).Type
  ) -> String? {
    do throws(StorageError) {
      _ = try Key.decode(key.bytes.span.bytes, as: repeat each types)
      return nil
    } catch {
      #expect(error.kind == .invalidArgument)
      return error.message
    }
  }
}
