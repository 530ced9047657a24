import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A key on the stack")
struct KeyBufferTests {
  @Test(arguments: [.min, -1, 0, 1, 73_275_410, .max] as [Int64])
  func `an integer has the bytes of its key`(value: Int64) throws {
    #expect(try withSearchBytes(value) { padded($0) } == Key(value).bytes)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `strings and bytes have the bytes of their keys`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for count in 0...200 {
      var bytes = generator.bytes(count).map { $0 & 0x7F | 1 }
      try expectSame(bytes)
      for _ in 0..<min(count, 3) {
        bytes[generator.below(count)] = 0
        try expectSame(bytes)
      }
    }
  }

  @Test func `a zero byte at any position is found`() throws {
    for count in 1...40 {
      for index in 0..<count {
        var bytes = [UInt8](repeating: 1, count: count)
        bytes[index] = 0
        try expectSame(bytes)
      }
    }
  }

  @Test func `a key of the greatest length passes, and one byte more throws`() throws {
    let longest = Limits.maxKeyByteCount - 1
    try expectSame([UInt8](repeating: 0x61, count: longest))
    try expectTooLarge([UInt8](repeating: 0x61, count: longest + 1), encodedCount: longest + 2)
    try expectTooLarge([UInt8](repeating: 0x61, count: 5000), encodedCount: 5001)
    // A zero byte is escaped, so it takes two bytes in the key.
    try expectSame([UInt8](repeating: 0x61, count: longest - 2) + [0])
    try expectTooLarge(
      [UInt8](repeating: 0x61, count: longest - 1) + [0], encodedCount: longest + 2)
    try expectTooLarge([UInt8](repeating: 0, count: longest), encodedCount: 1 + 2 * longest)
  }

  @Test func `an error of the body is rethrown`() {
    let failure = StorageError(.closed, "The store is closed.")
    #expect(throws: failure) {
      try withSearchBytes(Int64(1)) { _ throws(StorageError) in throw failure }
    }
    #expect(throws: failure) {
      try withSearchBytes("a") { _ throws(StorageError) in throw failure }
    }
  }

  /// Returns a copy of a key, and expects that it is followed by eight zero bytes.
  private func padded(_ key: Bytes) -> [UInt8] {
    #expect(
      Bytes(key.base, count: key.count + 8).slice(key.count, 8).copied()
        == .init(repeating: 0, count: 8))
    return key.copied()
  }

  /// Expects that the given ASCII bytes are encoded like the string that they spell.
  private func expectSame(_ bytes: [UInt8]) throws {
    let string = String(decoding: bytes, as: UTF8.self)
    #expect(try withSearchBytes(string) { padded($0) } == Key(string).bytes)
    #expect(try withSearchBytes(bytes) { padded($0) } == Key(bytes).bytes)
    #expect(try withSearchBytes(bytes.span.bytes) { padded($0) } == Key(bytes).bytes)
    #expect(try withSearchBytes(Key(string)) { padded($0) } == Key(string).bytes)
  }

  private func expectTooLarge(_ bytes: [UInt8], encodedCount: Int) throws {
    let error = StorageError(
      .tooLarge,
      "The encoded key is \(encodedCount) bytes long, but the limit is \(Limits.maxKeyByteCount) "
        + "bytes. Use a shorter key.")
    let string = String(decoding: bytes, as: UTF8.self)
    #expect(throws: error) { try withSearchBytes(string) { padded($0) } }
    #expect(throws: error) { try withSearchBytes(bytes) { padded($0) } }
    #expect(throws: error) { try withSearchBytes(bytes.span.bytes) { padded($0) } }
    #expect(throws: error) { try withSearchBytes(Key(string)) { padded($0) } }
  }
}
