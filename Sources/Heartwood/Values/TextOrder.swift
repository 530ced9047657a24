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
    utf8.allSatisfy { $0 < Self.firstComposableByte } ? self : precomposedStringWithCanonicalMapping
  }

  private static var firstComposableByte: UInt8 { 0xCC }

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
  private static func order(
    _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>
  ) -> Int? {
    let count = min(first.count, second.count)
    var position = 0
    while position < count, first[position] == second[position] { position += 1 }
    if position == count, first.count == second.count { return 0 }
    guard isPlain(first, at: position), isPlain(second, at: position) else { return nil }
    if position == count { return first.count < second.count ? -1 : 1 }
    return first[position] < second[position] ? -1 : 1
  }

  /// Whether the scalar at a position, and what follows it, is composed with nothing.
  private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int) -> Bool {
    // Two scalars of two bytes, of the first of which one byte may lie before.
    bytes[position..<min(position + 4, bytes.count)].allSatisfy { $0 < firstComposableByte }
      && (position == 0 || bytes[position - 1] < firstComposableByte)
  }
}
