/// The words of one row, grouped by term.
///
/// A transaction that changes only a few rows stores their words in this form, because updating the
/// posting list of every word in a row would require many page writes. Such rows are called
/// *pending*, and searches read them in addition to the lists. When there are many pending rows,
/// all of them are merged into the lists, so that each list is written only once.
struct PendingWords {
  struct Word {
    let term: [UInt8]
    /// The content of the posting, in the format that ``TextPostings`` describes.
    let content: [UInt8]
  }

  /// The number of words, counting each occurrence.
  var length = 0
  /// The words, sorted by term.
  var words: [Word] = []

  fileprivate func append(to bytes: inout [UInt8]) {
    bytes.append(varint: UInt64(length))
    bytes.append(varint: UInt64(words.count))
    for word in words {
      bytes.append(varint: UInt64(word.term.count))
      bytes.append(contentsOf: word.term)
      bytes.append(varint: UInt64(word.content.count))
      bytes.append(contentsOf: word.content)
    }
  }

  init() {}

  fileprivate init(_ bytes: [UInt8], at offset: inout Int) throws {
    func part() throws -> [UInt8] {
      let count = try bytes.varint(at: &offset)
      guard count <= UInt64(bytes.count - offset) else { throw TextPostings.damage }
      defer { offset += Int(count) }
      return Array(bytes[offset..<offset + Int(count)])
    }
    length = Int(clamping: try bytes.varint(at: &offset))
    let count = try bytes.varint(at: &offset)
    // Check that the remaining bytes can hold this many words, because the count may be corrupt.
    // Each word takes up at least two bytes.
    guard count <= UInt64(bytes.count - offset) / 2, length <= bytes.count else {
      throw TextPostings.damage
    }
    for _ in 0..<count {
      let word = Word(term: try part(), content: try part())
      let isSorted = words.last.map { $0.term.lexicographicallyPrecedes(word.term) } ?? true
      guard isSorted, !word.content.isEmpty else { throw TextPostings.damage }
      words.append(word)
    }
  }
}

/// A row whose changes are not in the posting lists yet.
package struct PendingText {
  /// The row's words in the posting lists, or `nil` if the lists do not contain the row.
  var before: PendingWords?
  /// The row's current words, or `nil` if the row has been deleted.
  var after: PendingWords?

  /// The maximum number of rows that one transaction can make pending.
  static let maxAddedCount = 16
  /// The maximum total length of the entries that one transaction can add for pending rows, in
  /// bytes.
  static let maxAddedByteCount = maxByteCount / 4
  /// The maximum number of pending rows in an index.
  static let maxCount = 128
  /// The maximum total length of an index's entries for pending rows, in bytes.
  static let maxByteCount = 192 << 10

  init(before: PendingWords?, after: PendingWords?) {
    self.before = before
    self.after = after
  }

  package init(_ bytes: [UInt8]) throws {
    var offset = 0
    let flags = try bytes.varint(at: &offset)
    if flags & 1 != 0 { before = try PendingWords(bytes, at: &offset) }
    if flags & 2 != 0 { after = try PendingWords(bytes, at: &offset) }
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [(before == nil ? 0 : 1) | (after == nil ? 0 : 2)]
    before?.append(to: &bytes)
    after?.append(to: &bytes)
    return bytes
  }
}
