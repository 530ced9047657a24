/// A generator that turns entry numbers into the keys and values of the workloads with byte keys.
///
/// Nothing is stored, so there can be more entries than fit in memory. The bytes are random, so no
/// engine can compress them.
struct EntryMaker: Sendable {
  static let keyByteCount = 24

  /// The key of the entry that was created last.
  private(set) var key = [UInt8](repeating: 0, count: keyByteCount)
  /// The value of the entry that was created last.
  private(set) var value: [UInt8]

  init(valueByteCount: Int) { value = [UInt8](repeating: 0, count: valueByteCount) }

  mutating func makeKey(of number: Int) {
    Self.fill(&key, UInt64(truncatingIfNeeded: number) &* 0xD6E8_FEB8_6659_FD93)
  }

  /// Creates the key and a value of an entry.
  ///
  /// All values of an entry begin with the same eight bytes, but differ in the remaining bytes.
  mutating func make(_ number: Int, version: UInt64 = 0) {
    makeKey(of: number)
    Self.fill(&value, UInt64(truncatingIfNeeded: number) &+ version << 32)
    Self.store(Self.mark(of: number), in: &value, at: 0)
  }

  /// Folds the beginning of a value into a hash.
  ///
  /// - Throws: ``BenchFailure`` if the value does not belong to the entry.
  @inline(__always)
  func fold(_ value: RawSpan, of number: Int, into hash: UInt64) throws -> UInt64 {
    guard value.byteCount == self.value.count, value.word(at: 0) == Self.mark(of: number) else {
      throw BenchFailure("A read of entry \(number) returned another entry's value.")
    }
    return heartwood_bench.fold(hash, value.word(at: 0))
  }

  private static func mark(of number: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
  }

  private static func fill(_ bytes: inout [UInt8], _ seed: UInt64) {
    var random = RandomNumbers(seed: seed)
    var offset = 0
    while offset + 8 <= bytes.count {
      store(random.next(), in: &bytes, at: offset)
      offset += 8
    }
    while offset < bytes.count {
      bytes[offset] = UInt8(truncatingIfNeeded: random.next())
      offset += 1
    }
  }

  @inline(__always)
  private static func store(_ word: UInt64, in bytes: inout [UInt8], at offset: Int) {
    var span = bytes.mutableSpan
    var words = span.mutableBytes
    words.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
  }
}
