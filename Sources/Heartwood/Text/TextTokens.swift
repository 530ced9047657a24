/// The tokens of a string: its terms, with their positions.
package struct TextTokens {
  /// An occurrence of a term in a string.
  ///
  /// A token uses 32-bit numbers, because a long string can have millions of tokens.
  package struct Token {
    private let bytes: (start: UInt32, end: UInt32)
    private let source: (start: UInt32, end: UInt32)
    private let positionAndTail: UInt32

    init(_ bytes: Range<Int>, position: Int, isTail: Bool, source: Range<Int>) {
      self.bytes = (UInt32(bytes.lowerBound), UInt32(bytes.upperBound))
      self.source = (UInt32(source.lowerBound), UInt32(source.upperBound))
      positionAndTail = UInt32(position) << 1 | (isTail ? 1 : 0)
    }

    /// The start of the term in ``TextTokens/bytes``.
    var start: Int { Int(bytes.start) }
    var end: Int { Int(bytes.end) }
    /// The number of words that precede this word.
    package var position: Int { Int(positionAndTail >> 1) }
    /// A Boolean value that indicates whether the token is the last character of a run.
    ///
    /// All other tokens of the run are pairs of adjacent characters. Only a query for a single
    /// character needs this token.
    var isTail: Bool { positionAndTail & 1 != 0 }
    /// The start of the word in the text, as an offset in UTF-8 bytes.
    package var sourceStart: Int { Int(source.start) }
    package var sourceEnd: Int { Int(source.end) }
  }

  /// The UTF-8 bytes of all terms.
  var bytes: [UInt8] = []
  package private(set) var tokens: [Token] = []
  /// The position of the next token.
  private(set) var nextPosition = 0

  /// The maximum length of a term in UTF-8 bytes.
  ///
  /// Longer terms are truncated.
  static let maxTermByteCount = 128
  /// The maximum number of words in a string.
  ///
  /// Further words are ignored.
  static let maxPosition = 1 << 24

  package init() {}

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    tokens.removeAll(keepingCapacity: true)
    nextPosition = 0
  }

  /// Ends the term whose bytes begin at `start`.
  ///
  /// An empty term is dropped, and a term that is too long is truncated at a character boundary.
  ///
  /// - Returns: `true` if more terms may be added.
  mutating func end(_ start: Int, _ source: Range<Int>, isTail: Bool = false) -> Bool {
    if bytes.count - start > Self.maxTermByteCount {
      var end = start + Self.maxTermByteCount
      while bytes[end] & 0xC0 == 0x80 { end -= 1 }
      bytes.removeSubrange(end...)
    }
    guard bytes.count > start else { return true }
    guard source.upperBound <= UInt32.max else { return false }
    tokens.append(
      Token(start..<bytes.count, position: nextPosition, isTail: isTail, source: source))
    nextPosition += 1
    return nextPosition < Self.maxPosition
  }

  /// A token whose term consists of all ``bytes``.
  var complete: Token {
    Token(0..<bytes.count, position: 0, isTail: false, source: 0..<0)
  }

  /// Returns the bytes of a token's term.
  package func term(_ token: Token) -> ArraySlice<UInt8> { bytes[token.start..<token.end] }
}
