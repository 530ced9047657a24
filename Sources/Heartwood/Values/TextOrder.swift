import Foundation

/// The order of texts: by their scalars, letters composed.
///
/// That is what `<` means for texts. It is not used where letters are written in different ways: in
/// Swift 6.3, of `"e\u{301}e\u{301}"` and `"\u{E9}\u{E9}\u{E9}"` neither comes first, though they
/// are not equal. Indexes have such texts in order, and so must everything else.
extension String {
  /// The text with its letters composed: texts that are equal are the same bytes then.
  var composed: String {
    // Nothing below U+0300 can be composed with anything, and its bytes are below CC.
    if utf8.allSatisfy({ $0 < Self.firstComposableByte }) { return self }
    guard utf8.count > Self.composedCharacterCount else {
      return precomposedStringWithCanonicalMapping
    }
    // Nothing is composed across characters, and Foundation takes quadratic time for long texts.
    var result = ""
    var rest = self[...]
    while !rest.isEmpty {
      result += rest.prefix(Self.composedCharacterCount).precomposedStringWithCanonicalMapping
      rest = rest.dropFirst(Self.composedCharacterCount)
    }
    return result
  }

  private static var firstComposableByte: UInt8 { 0xCC }
  /// How many characters are composed at a time.
  private static var composedCharacterCount: Int { 256 }

  /// Below 0 if this comes before the other, above if behind it, 0 if they are equal.
  func canonicalOrder(to other: String) -> Int {
    let quick = utf8.withContiguousStorageIfAvailable { first in
      other.utf8.withContiguousStorageIfAvailable { second in Self.order(first, second) }
    }
    if case .some(.some(.some(let order))) = quick { return order }
    let (first, second) = (composed.utf8, other.composed.utf8)
    if first.elementsEqual(second) { return 0 }
    return first.lexicographicallyPrecedes(second) ? -1 : 1
  }

  /// The order of texts where their first difference decides it; `nil` where letters are composed
  /// there, or may be.
  private static func order<Bytes: RandomAccessCollection<UInt8>>(
    _ first: Bytes, _ second: Bytes
  ) -> Int? where Bytes.Index == Int {
    let count = Swift.min(first.count, second.count)
    var position = 0
    while position < count, first[position] == second[position] { position += 1 }
    if position == count, first.count == second.count { return 0 }
    guard isStable(first, at: position), isStable(second, at: position) else { return nil }
    if position == count { return first.count < second.count ? -1 : 1 }
    return first[position] < second[position] ? -1 : 1
  }

  /// Whether the scalar at a position and the one behind it are as they are when composed.
  private static func isStable<Bytes: RandomAccessCollection<UInt8>>(
    _ bytes: Bytes, at position: Int
  ) -> Bool where Bytes.Index == Int {
    var start = position
    while start > 0, start < bytes.count, bytes[start] & 0xC0 == 0x80 { start -= 1 }
    var rest = bytes[start..<Swift.min(start + 8, bytes.count)].makeIterator()
    var decoder = UTF8()
    for _ in 0..<2 {
      switch decoder.decode(&rest) {
      case .scalarValue(let scalar): guard scalar.isStable else { return false }
      case .emptyInput: return true
      case .error: return false
      }
    }
    return true
  }
}

extension Unicode.Scalar {
  /// Whether it is one of those that are composed of nothing, and with nothing before them: Latin
  /// and Cyrillic letters, kana, Chinese characters, Korean syllables, emoji.
  fileprivate var isStable: Bool {
    switch value {
    case 0..<0x300, 0x400..<0x483, 0x3041..<0x3097, 0x30A1..<0x30FB, 0x3400..<0xA000,
      0xAC00..<0xD7A4, 0x1F000..<0x1FB00:
      true
    default: false
    }
  }
}
