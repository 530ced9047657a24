/// A posting list, or a block of a posting list.
///
/// A posting list contains the rows in which a term occurs, and the term's positions in each row.
///
/// Each posting consists of the difference between its row and the previous row, followed by its
/// *content*. If the index has several attributes, the content begins with a bit mask of the
/// attributes that contain the term. For each attribute that contains the term, the content then
/// lists the number of positions and the differences between successive positions. All numbers are
/// variable-length integers.
package struct TextPostings {
  let bytes: [UInt8]
  let fieldCount: Int
  /// The row of the current posting.
  package private(set) var row: Int64 = 0
  /// The offset at which reading continues.
  ///
  /// If the content of the current posting has not been read, this is the offset of that content.
  /// Otherwise, it is the offset of the next posting.
  package private(set) var offset: Int
  /// The offset of the current posting's content.
  package private(set) var contentStart = 0

  static var damage: StorageError {
    StorageError(
      .corrupt,
      "A text index of the store is corrupt. To rebuild the index, open the store with a model "
        + "that does not declare the index, and then with a model that declares it.")
  }

  package init(_ bytes: [UInt8], from offset: Int = 0, fieldCount: Int) {
    self.bytes = bytes
    self.offset = offset
    self.fieldCount = fieldCount
  }

  /// Moves to the next posting, whose content must then be read or skipped.
  ///
  /// - Returns: `false` if there is no next posting.
  @inline(__always)
  package mutating func next() throws -> Bool {
    guard offset < bytes.count else { return false }
    let difference = try bytes.varint(at: &offset)
    let (sum, overflows) = row.addingReportingOverflow(Int64(truncatingIfNeeded: difference))
    guard !overflows, sum > row, sum <= ObjectNumber.maxRow else { throw Self.damage }
    row = sum
    contentStart = offset
    return true
  }

  /// Reads the content of the current posting.
  ///
  /// Returns the total weight of the posting's positions in the given attributes, or `nil` if there
  /// are no such positions.
  @inline(__always)
  package mutating func frequency(_ weights: [Int], _ fields: UInt64) throws -> Int? {
    var mask: UInt64 = fieldCount == 1 ? 1 : try bytes.varint(at: &offset)
    let isFound = mask & fields != 0
    var sum = 0
    while mask != 0 {
      let field = mask.trailingZeroBitCount
      mask &= mask - 1
      guard field < fieldCount else { throw Self.damage }
      let count = try bytes.varint(at: &offset)
      guard count > 0, count <= UInt64(bytes.count - offset) else { throw Self.damage }
      if fields & 1 << UInt64(field) != 0 { sum &+= Int(count) &* weights[field] }
      try skip(count)
    }
    return isFound ? sum : nil
  }

  @inline(__always)
  private mutating func skip(_ count: UInt64) throws {
    var rest = count
    while rest > 0 {
      guard offset < bytes.count else { throw Self.damage }
      if bytes[offset] < 0x80 { rest -= 1 }
      offset += 1
    }
  }

  /// Skips the content of the current posting.
  package mutating func skipContent() throws {
    var mask: UInt64 = fieldCount == 1 ? 1 : try bytes.varint(at: &offset)
    guard mask != 0 else { throw Self.damage }
    while mask != 0 {
      guard mask.trailingZeroBitCount < fieldCount else { throw Self.damage }
      mask &= mask - 1
      let count = try bytes.varint(at: &offset)
      guard count > 0, count <= UInt64(bytes.count - offset) else { throw Self.damage }
      try skip(count)
    }
  }

  /// Returns the current posting's positions in the given attributes.
  ///
  /// The content of the posting must already have been read.
  package func positions(_ fields: UInt64) throws -> [UInt32] {
    var offset = contentStart
    var mask: UInt64 = fieldCount == 1 ? 1 : try bytes.varint(at: &offset)
    var result: [UInt32] = []
    while mask != 0 {
      let field = mask.trailingZeroBitCount
      mask &= mask - 1
      guard field < fieldCount else { throw Self.damage }
      let isWanted = fields & 1 << UInt64(field) != 0
      let count = try bytes.varint(at: &offset)
      guard count <= UInt64(bytes.count - offset) else { throw Self.damage }
      var position: UInt64 = 0
      for _ in 0..<count {
        position += try bytes.varint(at: &offset)
        guard position < UInt64(TextTokens.maxPosition) else { throw Self.damage }
        if isWanted { result.append(TextPosition.make(field: field, Int(position))) }
      }
    }
    return result
  }

  /// Appends the content of a posting.
  ///
  /// - Parameters:
  ///   - words: A sorted array whose elements each contain a position in the low half.
  ///   - range: The range of the elements that contain the posting's positions.
  static func appendContent(
    of words: [UInt64], _ range: Range<Int>, fieldCount: Int, to bytes: inout [UInt8]
  ) {
    func field(_ index: Int) -> Int {
      TextPosition.field(UInt32(truncatingIfNeeded: words[index]))
    }
    if fieldCount > 1 {
      var mask: UInt64 = 0
      for index in range { mask |= 1 << UInt64(field(index)) }
      bytes.append(varint: mask)
    }
    var start = range.lowerBound
    while start < range.upperBound {
      var end = start + 1
      while end < range.upperBound, field(end) == field(start) { end += 1 }
      bytes.append(varint: UInt64(end - start))
      var last = 0
      for index in start..<end {
        let offset = TextPosition.offset(UInt32(truncatingIfNeeded: words[index]))
        bytes.append(varint: UInt64(offset - last))
        last = offset
      }
      start = end
    }
  }
}

/// A builder that divides a list of postings into blocks.
package struct TextPostingsBuilder {
  package struct Block {
    let row: Int64
    package let bytes: [UInt8]
  }

  /// The maximum combined length, in bytes, of a term and a block that contains several of its
  /// postings.
  ///
  /// With this limit, four blocks and their keys fit in a page of the minimum size, so blocks need
  /// no separate pages.
  static let maxByteCount = 980

  package private(set) var blocks: [Block] = []
  /// The number of postings in all blocks.
  private(set) var count = 0
  private let limit: Int
  private var bytes: [UInt8] = []
  private var firstRow: Int64 = 0
  private var lastRow: Int64 = 0

  package init(limit: Int) { self.limit = limit }

  /// Appends a posting, whose row must be greater than the row of the previous posting.
  package mutating func append(_ row: Int64, _ content: ArraySlice<UInt8>) {
    if !bytes.isEmpty, bytes.count + content.count + 4 > limit { endBlock() }
    if bytes.isEmpty { (firstRow, lastRow) = (row, 0) }
    bytes.append(varint: UInt64(row - lastRow))
    bytes.append(contentsOf: content)
    lastRow = row
    count += 1
  }

  /// Ends the last block.
  package mutating func endBlock() {
    guard !bytes.isEmpty else { return }
    blocks.append(Block(row: firstRow, bytes: bytes))
    bytes = []
  }
}
