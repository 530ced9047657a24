import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A key encoding")
struct KeyEncodingTests {
  static let seeds: [UInt64] = [1, 2, 3, 4]

  // MARK: Order

  @Test(arguments: seeds)
  func `integers sort by value, whatever their width`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let edges: [Int64] = [.min, .min + 1, -256, -255, -1, 0, 1, 255, 256, .max - 1, .max]
    let values = edges + (0..<80).map { _ in Int64.random(in: .min ... .max, using: &generator) }
    try expectOrder(values)
    try expectOrder([UInt64(0), 1, UInt64(Int64.max), UInt64(Int64.max) + 1, .max - 1, .max])
    #expect(Key(Int64.max) < Key(UInt64(Int64.max) + 1))
    #expect(Key(Int8(-5)) == Key(Int64(-5)))
    #expect(Key(UInt16(700)) == Key(Int32(700)))
    #expect(Key(UInt64(7)) == Key(7))
  }

  @Test(arguments: seeds)
  func `floating-point numbers sort by value`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let edges: [Double] = [
      -.infinity, -.greatestFiniteMagnitude, -1, -.leastNormalMagnitude, -.leastNonzeroMagnitude, 0,
      .leastNonzeroMagnitude, .leastNormalMagnitude, 1, .greatestFiniteMagnitude, .infinity,
    ]
    let random = (0..<80).map { _ in Double(bitPattern: generator.next()) }.filter { !$0.isNaN }
    try expectOrder(edges + random)
    for value in edges + random { #expect(Key(value) < Key(Double.nan)) }
    #expect(Key(Float(0.1)) == Key(Double(Float(0.1))))
  }

  @Test(arguments: seeds)
  func `strings sort by their UTF-8, zero bytes included`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let letters: [Unicode.Scalar] = ["\0", "\u{1}", "a", "b", "\u{7F}", "é", "\u{FFFF}", "😀"]
    let strings = ["", "\0", "\0\0", "a", "a\0", "a\0\0", "a\0b", "a\u{1}", "aa"]
    let random = (0..<60).map { _ in
      var text = String.UnicodeScalarView()
      for _ in 0..<generator.below(12) { text.append(letters[generator.below(letters.count)]) }
      return String(text)
    }
    for first in strings + random {
      #expect(try decoded(Key(first), as: String.self) == first, "seed \(seed)")
      for second in strings + random {
        let order = first.utf8.lexicographicallyPrecedes(second.utf8)
        #expect((Key(first) < Key(second)) == order, "\(first.debugDescription)")
        // The order of different strings must not depend on the components that follow them.
        if !first.utf8.elementsEqual(second.utf8) {
          #expect((Key(first, 9) < Key(second, 2)) == order, "\(first.debugDescription)")
          #expect((Key(first, [UInt8]()) < Key(second)) == order, "\(first.debugDescription)")
          #expect((Key(first) < Key(second, Int?.none)) == order, "\(first.debugDescription)")
        }
      }
    }
  }

  @Test(arguments: seeds)
  func `byte strings sort byte by byte`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let alphabet: [UInt8] = [0, 0, 1, 8, 0x40, 0xFE, 0xFF]
    let values = (0..<70).map { _ in
      (0..<generator.below(10)).map { _ in alphabet[generator.below(alphabet.count)] }
    }
    for first in values {
      #expect(try decoded(Key(first), as: [UInt8].self) == first)
      for second in values where first != second {
        let order = first.lexicographicallyPrecedes(second)
        #expect((Key(first) < Key(second)) == order, "\(first) \(second), seed \(seed)")
        #expect((Key(first, true) < Key(second, false)) == order, "\(first) \(second)")
      }
    }
  }

  @Test func `kinds sort in the order of their tags`() {
    let keys = [
      Key(), Key(Int?.none), Key(false), Key(true), Key(Int64.min), Key(Int64.max), Key(UInt64.max),
      Key(-Double.infinity), Key(Double.nan), Key(Moment(seconds: -1e300)),
      Key(Moment(seconds: 1e300)), Key(Identity(high: 0, low: 1)),
      Key(Identity(high: .max, low: 0)), Key(""), Key("\u{10FFFF}"), Key([UInt8]()),
      Key([0xFF] as [UInt8]),
    ]
    for (first, second) in zip(keys, keys.dropFirst()) { #expect(first < second) }
    let tags = KeyTag.allCases.map(\.rawValue)
    #expect(tags == tags.sorted())
    #expect(tags == [0x08, 0x10, 0x11, 0x20, 0x21, 0x28, 0x30, 0x38, 0x40, 0x48])
  }

  @Test func `a key sorts after its start and before a longer string`() {
    for next in [Key("a", Int?.none), Key("a", 1), Key("a", ""), Key("a", [0xFF] as [UInt8])] {
      #expect(Key("a") < next)
      #expect(next < Key("a\0"))
      #expect(next < Key("a\0", 1))
      #expect(next < Key("aa"))
    }
    #expect(Key("a", "b") < Key("a", "b", "c"))
    #expect(Key("a", "b", "c") < Key("a", "bc"))
    #expect(Key("nc", 5) < Key("nc", 73_275_410))
    #expect(Key("nc", 73_275_410) < Key("nd"))
  }

  @Test(arguments: seeds)
  func `lists of components sort component by component and never collide`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let texts = ["", "\0", "a", "a\0", "\0a", "\u{8}", "@"]
    let lists = (0..<70).map { _ in
      (
        texts[generator.below(texts.count)], texts[generator.below(texts.count)],
        Int.random(in: -2...2, using: &generator)
      )
    }
    for first in lists {
      let key = Key(first.0, first.1, first.2)
      #expect(try Key.decode(key.bytes.span.bytes, as: String.self, String.self, Int.self) == first)
      for second in lists {
        let other = Key(second.0, second.1, second.2)
        #expect((key < other) == (first < second), "\(key) \(other), seed \(seed)")
        #expect((key == other) == (first == second), "\(key) \(other), seed \(seed)")
      }
    }
  }

  // MARK: Bytes

  @Test func `bytes have the same encoding in an array and in a span`() {
    let bytes: [UInt8] = [0, 1, 0xFF]
    var encoder = KeyEncoder()
    encoder.append(bytes.span.bytes)
    encoder.append(7)
    #expect(encoder.bytes == Key(bytes, 7).bytes)
  }

  @Test func `no key follows all keys that begin with the highest bytes`() {
    #expect(Key.successor(of: [1, 0xFF]) == Key(unverified: [2]))
    #expect(Key.successor(of: [0xFF, 0xFF]) == nil)
  }

  @Test func `every kind has its documented bytes`() {
    #expect(Key(Int?.none).bytes == [0x08])
    #expect(Key(false, true).bytes == [0x10, 0x11])
    #expect(Key(1).bytes == [0x20, 0x80, 0, 0, 0, 0, 0, 0, 1])
    #expect(Key(-1).bytes == [0x20, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    #expect(Key(UInt64.max).bytes == [0x21] + [UInt8](repeating: 0xFF, count: 8))
    #expect(Key(1.0).bytes == [0x28, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0])
    #expect(Key(-1.0).bytes == [0x28, 0x40, 0x0F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    #expect(Key(Moment(seconds: 1)).bytes == [0x30, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0])
    #expect(
      Key(Identity(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)).bytes
        == [0x38] + (1...16).map { UInt8($0) })
    #expect(Key("a").bytes == [0x40, 0x61])
    #expect(Key("a\0", 1.0).bytes.prefix(6) == [0x40, 0x61, 0, 0xFF, 0, 0x28])
    #expect(Key([0, 0xFF] as [UInt8], true).bytes == [0x48, 0, 0xFF, 0xFF, 0, 0x11])
  }

  @Test func `zeros and NaNs are one key each`() {
    #expect(Key(-0.0) == Key(0.0))
    let patterns: [UInt64] = [
      0x7FF8_0000_0000_0000, 0xFFF8_0000_0000_0000, 0x7FF0_0000_0000_0001, .max,
    ]
    for pattern in patterns { #expect(Key(Double(bitPattern: pattern)) == Key(Double.nan)) }
    #expect(Key(-Float.nan) == Key(Double.nan))
  }

  @Test func `a literal is the key of its one component`() throws {
    let text: Key = "config"
    let number: Key = 42
    #expect(text == Key("config" as String))
    #expect(text.bytes == [0x40] + Array("config".utf8))
    #expect(number == Key(42 as Int))
    #expect(try Key(encoded: text.bytes) == text)
  }

  @Test func `a description shows the components`() {
    #expect("\(Key("nc", 73_275_410))" == "(\"nc\", 73275410)")
    #expect("\(Key())" == "()")
    #expect("\(Key(Int?.none, true, 1.5, UInt64.max))" == "(nil, true, 1.5, 18446744073709551615)")
    #expect("\(Key([1, 0xAB] as [UInt8], Moment(seconds: 2)))" == "(0x01ab, date 2.0)")
    let identity = Identity(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
    #expect("\(Key(identity))" == "(01020304-0506-0708-090A-0B0C0D0E0F10)")
    #expect("\(Key(unverified: [0xEE, 0x01]))" == "0xee01")
  }

  // MARK: Comparison

  private func expectOrder<Value: KeyConvertible & Comparable>(_ values: [Value]) throws {
    for first in values {
      #expect(try decoded(Key(first), as: Value.self) == first)
      for second in values {
        #expect((Key(first) < Key(second)) == (first < second), "\(first) \(second)")
        #expect((Key(first) == Key(second)) == (first == second), "\(first) \(second)")
      }
    }
  }

  private func decoded<Value: KeyConvertible>(_ key: Key, as type: Value.Type) throws -> Value {
    try Key.decode(key.bytes.span.bytes, as: type)
  }
}

/// A point in time, as an example of a program's own type that can be a key component.
struct Moment: KeyConvertible, Equatable {
  var seconds: Double

  func encode(into encoder: inout KeyEncoder) {
    encoder.append(date: seconds)
  }

  static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Moment {
    Moment(seconds: try decoder.decodeDate())
  }
}

/// A UUID, as an example of a program's own type that can be a key component.
struct Identity: KeyConvertible, Equatable {
  var high: UInt64
  var low: UInt64

  func encode(into encoder: inout KeyEncoder) {
    encoder.append(uuid: (high, low))
  }

  static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Identity {
    let uuid = try decoder.decodeUUID()
    return Identity(high: uuid.high, low: uuid.low)
  }
}
