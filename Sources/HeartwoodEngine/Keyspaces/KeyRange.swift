/// A half-open range of keys.
///
/// ```swift
/// let network = KeyRange(prefix: Key("nc"))            // ("nc"), ("nc", 1), ("nc", "x", 2), …
/// let names = KeyRange("nc", stringPrefix: "San")      // ("nc", "San Jose"), …
/// let first = KeyRange(upTo: Key("nc", 1000))
/// ```
public struct KeyRange: Hashable, Sendable {
  /// The inclusive lower bound, or `nil` if the range starts at the first key of the keyspace.
  public let lower: Key?
  /// The exclusive upper bound, or `nil` if the range extends to the end of the keyspace.
  public let upper: Key?

  /// Creates the range of all keys from `lower` up to, but not including, `upper`.
  public init(from lower: Key? = nil, upTo upper: Key? = nil) {
    self.lower = lower
    self.upper = upper
  }

  /// Creates the range of all keys that start with the components of `key`, including `key` itself.
  ///
  /// A string is one component. The range of `Key("a")` therefore contains `Key("a", 1)`, but not
  /// `Key("ab")`.
  public init(prefix key: Key) {
    guard !key.encoded.isEmpty else {
      self.init()
      return
    }
    // Append `FF` as the exclusive end, because no component starts with `FF`. If the prefix ends
    // with a string or byte string, append `00 FF` instead. In keys with further components, the
    // string is followed by its terminator `00` and a byte less than `FF`. A longer string with a
    // zero byte at this position has the escape sequence `00 FF`, and is outside the range.
    var end = key.encoded
    switch try? Key.Component.all(in: key.encoded).last {
    case .string, .bytes: end += [0, .max]
    default: end.append(.max)
    }
    let limit = Limits.maxKeyByteCount
    guard key.encoded.count <= limit, end.count > limit else {
      self.init(from: key, upTo: Key(unverified: end))
      return
    }
    // The bound is too long for a key, so shorten it to `limit` bytes. No key is longer than that,
    // so a key precedes the bound if and only if it precedes or equals the shortened bound.
    self.init(from: key, upTo: Key.successor(of: Array(end.prefix(limit))))
  }

  /// Creates the range of keys that start with `components`, followed by a string with the given
  /// prefix.
  ///
  /// Strings are compared by their UTF-8 bytes. Therefore, a letter followed by a combining accent
  /// starts with that letter, but the equivalent composed character does not.
  public init<each Component: KeyConvertible>(
    _ components: repeat each Component, stringPrefix prefix: String
  ) {
    var encoder = KeyEncoder()
    repeat (each components).encode(into: &encoder)
    prefix.encode(into: &encoder)
    self.init(from: Key(unverified: encoder.bytes), upTo: Key.successor(of: encoder.bytes))
  }

  /// Returns whether a key is in the range.
  public func contains(_ key: Key) -> Bool {
    lower.map { $0 <= key } ?? true && upper.map { key < $0 } ?? true
  }
}

extension Key {
  /// Returns the first key after all keys that start with `bytes`, or `nil` if there is none.
  package static func successor(of bytes: [UInt8]) -> Key? {
    var bytes = bytes
    while let last = bytes.popLast() {
      guard last < .max else { continue }
      bytes.append(last + 1)
      return Key(unverified: bytes)
    }
    return nil
  }
}

extension KeyspaceReader {
  /// Calls `body` for every entry in a range of keys, in key order, until `body` returns `false`.
  ///
  /// This method is equivalent to ``forEach(from:upTo:reversed:_:)`` with the bounds of `range`.
  public func forEach(
    in range: KeyRange, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    try forEach(from: range.lower, upTo: range.upper, reversed: reversed, body)
  }
}
