import Foundation

/// An ordering of strings by the Unicode scalars of their composed form (NFC).
///
/// Swift specifies the same order for `<`. However, the result of `<` is wrong for some strings in
/// which canonically equivalent letters are composed differently. In Swift 6.3,
/// `"e\u{301}e\u{301}"` and `"\u{E9}\u{E9}\u{E9}"` are not equal, yet neither precedes the other.
/// Indexes need a correct order for such strings, and all other comparisons must use the order of
/// the indexes.
extension String {
  /// The string in composed form (NFC), in which equal strings have equal bytes.
  var composed: String {
    // Return a string unchanged if all its scalars are below U+0300, because such scalars never
    // combine with each other. Their UTF-8 bytes are below 0xCC.
    let cannotCombine = utf8.withContiguousStorageIfAvailable { bytes in
      bytes.allSatisfy { $0 < Self.firstComposableByte }
    }
    if cannotCombine == true { return self }
    guard utf8.count > Self.composedCharacterCount else {
      return precomposedStringWithCanonicalMapping
    }
    // Compose long strings in parts, because Foundation takes quadratic time for them. The parts
    // are independent, because composition never crosses a character boundary.
    var result = ""
    var rest = self[...]
    while !rest.isEmpty {
      result += rest.prefix(Self.composedCharacterCount).precomposedStringWithCanonicalMapping
      rest = rest.dropFirst(Self.composedCharacterCount)
    }
    return result
  }

  private static var firstComposableByte: UInt8 { 0xCC }
  /// The number of characters that are composed at a time.
  private static var composedCharacterCount: Int { 256 }

  /// Returns whether both strings have the same UTF-8 bytes.
  ///
  /// If both strings are stored as contiguous UTF-8, this method compares their storage directly.
  /// Iterating over the UTF-8 views would take several times as long, or many times as long in a
  /// debug build.
  func hasSameBytes(as other: String) -> Bool {
    let quick = utf8.withContiguousStorageIfAvailable { first in
      other.utf8.withContiguousStorageIfAvailable { second in
        guard first.count == second.count, let start = first.baseAddress,
          let otherStart = second.baseAddress
        else { return first.count == second.count }
        return memcmp(start, otherStart, first.count) == 0
      }
    }
    if case .some(.some(let isSame)) = quick { return isSame }
    return utf8.elementsEqual(other.utf8)
  }

  /// Compares the composed forms of two strings.
  ///
  /// Returns a negative number if this string sorts before `other`, a positive number if it sorts
  /// after `other`, and 0 if the strings are equal.
  func canonicalOrder(to other: String) -> Int {
    let quick = utf8.withContiguousStorageIfAvailable { first in
      other.utf8.withContiguousStorageIfAvailable { second in Self.order(first, second) }
    }
    if case .some(.some(.some(let order))) = quick { return order }
    let (first, second) = (composed.utf8, other.composed.utf8)
    if first.elementsEqual(second) { return 0 }
    return first.lexicographicallyPrecedes(second) ? -1 : 1
  }

  /// Compares two strings without composing them, if possible.
  ///
  /// - Returns: A number as described for ``canonicalOrder(to:)``, or `nil` if the strings must be
  ///   composed first, because composition might change the scalars at the first difference.
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

  /// Returns whether composition is known to leave the scalar at `position` unchanged.
  ///
  /// The result is `true` if neither this scalar nor the next one can combine with a preceding
  /// scalar.
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
  /// A Boolean value that indicates whether the scalar is known to be stable.
  ///
  /// A stable scalar never combines with a preceding scalar, and never changes on its own.
  ///
  /// Most Latin and Cyrillic letters, kana, Chinese characters, Korean syllables and emoji are
  /// stable.
  fileprivate var isStable: Bool {
    switch value {
    case 0..<0x300, 0x400..<0x483, 0x3041..<0x3097, 0x30A1..<0x30FB, 0x3400..<0xA000,
      0xAC00..<0xD7A4, 0x1F000..<0x1FB00:
      true
    default: false
    }
  }
}
