/// A writer that applies the changes of one transaction to a text index, for one entity's objects.
///
/// Changes are collected and written in term order, so that each changed posting list is written
/// only once. To limit memory use, changes are written early if their total size exceeds
/// ``maxByteCount``.
final class TextIndexWriter {
  /// The maximum amount of memory for collected changes, in bytes.
  static let maxByteCount = 48 << 20
  /// The maximum length, in bytes, of a posting list that is stored in its term's entry.
  private static let maxInlineByteCount = 512

  private let keyspace: KeyspaceWriter
  private let keys: TextIndexKeys
  private let tokenizer: TextTokenizer
  private let slots: [Int]
  private var edits = TextEdits()
  private var tokens = TextTokens()
  private var words: (before: [UInt64], after: [UInt64]) = ([], [])
  private var lengths: [Int64: Int] = [:]
  /// The blocks to write after all terms.
  private var blocks: [(key: Key, bytes: [UInt8])] = []
  private var blocksByteCount = 0
  private var documentDelta = 0
  /// A Boolean value that indicates whether any row has changed since the last flush.
  private var hasChanges = false
  private var lengthDelta = 0
  /// The changed rows, in the order of the changes, or `nil` if there are too many of them to
  /// become pending.
  private var rows: [(row: Int64, change: PendingText)]? = []
  /// The number of words in the changed rows.
  private var wordCount = 0

  /// Creates a writer for one entity's objects in a text index.
  ///
  /// - Throws: `incompatibleSchema` if this program does not contain the index's custom tokenizer.
  init(_ keyspace: KeyspaceWriter, _ index: TextIndexDescription, entity number: Int) throws {
    self.keyspace = keyspace
    keys = TextIndexKeys(entity: number)
    tokenizer = index.tokenizer
    slots = index.slots
    guard tokenizer.isKnown else {
      throw ObjectGraphError(
        .incompatibleSchema,
        "The text index of \(index.entity.name) uses a custom tokenizer that this program does not "
          + "define. Change the objects with the program that defines the tokenizer.")
    }
  }

  /// Records a change to a row.
  ///
  /// - Parameters:
  ///   - before: The values before the change, indexed by slot, or `nil` if the row is new.
  ///   - after: The values after the change, or `nil` if the row is deleted.
  func change(_ row: Int64, from before: [StoredValue]?, to after: [StoredValue]?) throws {
    if let before, let after,
      slots.allSatisfy({ before[$0].isIdentical(to: after[$0]) })
    {
      return
    }
    try change(
      row, fromTexts: before.map { values in slots.map { values[$0].string } },
      toTexts: after.map { values in slots.map { values[$0].string } })
  }

  /// Records a change to a row, given the text of each attribute.
  func change(_ row: Int64, fromTexts before: [String?]?, toTexts after: [String?]?) throws {
    edits.split(before ?? [], tokenizer, &tokens, into: &words.before)
    edits.split(after ?? [], tokenizer, &tokens, into: &words.after)
    edits.add(row, from: words.before, to: words.after, fieldCount: slots.count)
    keep(row, before == nil ? nil : words.before, after == nil ? nil : words.after)
    hasChanges = true
    documentDelta += (after == nil ? 0 : 1) - (before == nil ? 0 : 1)
    lengthDelta += words.after.count - words.before.count
    if words.after.count != words.before.count { lengths[row] = words.after.count }
    if edits.byteCount > Self.maxByteCount {
      rows = nil
      try flush()
    }
  }

  /// Keeps the words of a row in memory, so that the row can become pending.
  ///
  /// If too many rows or words change, the method discards all words that have been kept.
  private func keep(_ row: Int64, _ before: [UInt64]?, _ after: [UInt64]?) {
    guard let count = rows?.count else { return }
    // Limit the number of words by the byte limit too, because each word takes up more than one
    // byte.
    wordCount += (before?.count ?? 0) + (after?.count ?? 0)
    guard count < PendingText.maxAddedCount, wordCount < PendingText.maxAddedByteCount else {
      rows = nil
      return
    }
    let change = PendingText(
      before: before.map { edits.pendingWords($0, fieldCount: slots.count) },
      after: after.map { edits.pendingWords($0, fieldCount: slots.count) })
    rows?.append((row, change))
  }

  /// Writes the collected changes.
  func flush() throws {
    guard hasChanges else { return }
    hasChanges = false
    var totals = try TextIndexTotals(keyspace.withValue(keys.totals) { $0.copy })
    totals.documentCount += documentDelta
    totals.totalLength += lengthDelta
    (documentDelta, lengthDelta) = (0, 0)
    if let rows, try addPending(rows, &totals) {
      edits = TextEdits()
      lengths.removeAll()
    } else {
      let (own, ownLengths) = (edits, lengths)
      try mergePending(&totals)
      (edits, lengths) = (own, ownLengths)
      try writeEdits()
    }
    (rows, wordCount) = ([], 0)
    try keyspace.put(keys.totals, totals.bytes)
  }

  private func writeEdits() throws {
    try writeLengths()
    guard !edits.isEmpty else { return }
    let cursor = keyspace.cursor()
    try edits.forEachTerm { term, own, contents in try write(term, own, contents, cursor) }
    edits = TextEdits()
    try writeBlocks()
  }

  // MARK: Pending rows

  /// Makes the given rows pending.
  ///
  /// - Returns: `false` if the rows are too large, in which case none of them become pending;
  ///   otherwise, `true`.
  private func addPending(
    _ rows: [(row: Int64, change: PendingText)], _ totals: inout TextIndexTotals
  ) throws -> Bool {
    let size = rows.reduce(0) { $0 + $1.change.bytes.count }
    guard size <= PendingText.maxAddedByteCount else { return false }
    if totals.pendingCount + rows.count > PendingText.maxCount
      || totals.pendingByteCount + size > PendingText.maxByteCount
    {
      try mergePending(&totals)
    }
    for (row, change) in rows {
      var change = change
      if let known = try keyspace.withValue(keys.pending(row), { $0.copy }) {
        change.before = try PendingText(known).before
        totals.pendingCount -= 1
        totals.pendingByteCount -= known.count
      }
      let bytes = change.bytes
      totals.pendingCount += 1
      totals.pendingByteCount += bytes.count
      try keyspace.put(keys.pending(row), bytes)
    }
    return true
  }

  /// Merges all pending rows into the posting lists.
  private func mergePending(_ totals: inout TextIndexTotals) throws {
    guard totals.pendingCount > 0 else { return }
    (edits, lengths) = (TextEdits(), [:])
    var all: [Key] = []
    let range = keys.allPending
    try keyspace.forEach(from: range.lower, upTo: range.upper) { key, value in
      let row = try key.lastKeyComponent()
      let pending = try PendingText(value.copy)
      guard (1...ObjectNumber.maxRow).contains(row) else { throw TextPostings.damage }
      edits.add(row, from: pending.before, to: pending.after)
      lengths[row] = pending.after?.length ?? 0
      all.append(keys.pending(row))
      return true
    }
    for key in all { try keyspace.delete(key) }
    (totals.pendingCount, totals.pendingByteCount) = (0, 0)
    try writeEdits()
  }

  private func writeLengths() throws {
    for (_, rows) in Dictionary(grouping: lengths, by: { $0.key / TextIndexKeys.rowsPerLengths })
      .sorted(by: { $0.key < $1.key })
    {
      guard let first = rows.first else { continue }
      let key = keys.lengths(of: first.key)
      var bytes = try keyspace.withValue(key) { $0.copy } ?? []
      for (row, length) in rows {
        let offset = 2 * Int(row % TextIndexKeys.rowsPerLengths)
        while bytes.count < offset + 2 { bytes.append(0) }
        let short = UInt16(clamping: length)
        bytes[offset] = UInt8(truncatingIfNeeded: short)
        bytes[offset + 1] = UInt8(truncatingIfNeeded: short >> 8)
      }
      try keyspace.put(key, bytes)
    }
    lengths.removeAll(keepingCapacity: true)
  }

  /// Writes all queued blocks.
  private func writeBlocks() throws {
    for block in blocks { try keyspace.put(block.key, block.bytes) }
    blocks = []
    blocksByteCount = 0
  }

  /// Queues a block to be written after all terms.
  ///
  /// Appending keys at the end of a keyspace fills its pages completely. In a new index, all terms
  /// are therefore written before the blocks, which sort after the terms.
  private func put(_ term: ArraySlice<UInt8>, _ block: TextPostingsBuilder.Block) throws {
    blocks.append((keys.block(term, row: block.row), block.bytes))
    blocksByteCount += block.bytes.count
    if blocksByteCount > Self.maxByteCount / 2 { try writeBlocks() }
  }

  // MARK: Posting lists

  private func write(
    _ term: ArraySlice<UInt8>, _ own: [TextEdits.Edit], _ contents: [UInt8], _ cursor: Cursor
  ) throws {
    let key = keys.term(term)
    let entry = try TextIndexTerm(keyspace.withValue(key) { $0.copy })
    var count = entry.count
    var list: [UInt8] = []
    if entry.hasBlocks {
      count += try writeBlocks(term, own, contents, cursor)
    } else {
      let postings = TextPostings(
        entry.bytes, from: entry.listOffset, fieldCount: slots.count)
      let merged = try Self.merged(
        postings, own[...], contents, limit: TextPostingsBuilder.maxByteCount - term.count)
      count = merged.count
      if merged.blocks.count == 1, merged.blocks[0].bytes.count <= Self.maxInlineByteCount {
        list = merged.blocks[0].bytes
      } else {
        for block in merged.blocks { try put(term, block) }
      }
    }
    guard count >= 0 else { throw TextPostings.damage }
    if count == 0 {
      try keyspace.delete(key)
    } else {
      try keyspace.put(key, TextIndexTerm.bytes(count: count, list: list))
    }
  }

  /// Applies edits to a list that consists of blocks.
  ///
  /// - Returns: The change in the list's posting count.
  private func writeBlocks(
    _ term: ArraySlice<UInt8>, _ own: [TextEdits.Edit], _ contents: [UInt8], _ cursor: Cursor
  ) throws -> Int {
    let prefix = keys.blockPrefix(term)
    func row(at cursor: Cursor) throws -> Int64? {
      try cursor.withEntry { key, _ in try key.blockRow(prefix) } ?? nil
    }
    var delta = 0
    var next = 0
    while next < own.count {
      // Find the last block whose first row is not greater than the edit's row. If there is no such
      // block, use the first block.
      var first =
        try cursor.seek(before: keys.block(term, row: own[next].row + 1)) ? row(at: cursor) : nil
      if first == nil {
        first = try cursor.seek(keys.block(term, row: 0)) ? row(at: cursor) : nil
      }
      var end = own.count
      var bytes: [UInt8] = []
      var isLast = true
      if first != nil {
        bytes = try cursor.value ?? []
        if try cursor.moveToNext(), let following = try row(at: cursor) {
          isLast = false
          end = own[next...].firstIndex { $0.row >= following } ?? own.count
        }
      }
      let edits = own[next..<max(end, next + 1)]
      delta += try write(term, edits, contents, to: bytes, first: first, isLast: isLast)
      next = edits.endIndex
    }
    return delta
  }

  /// Applies edits to one block.
  ///
  /// - Returns: The change in the block's posting count.
  private func write(
    _ term: ArraySlice<UInt8>, _ edits: ArraySlice<TextEdits.Edit>, _ contents: [UInt8],
    to bytes: [UInt8], first: Int64?, isLast: Bool
  ) throws -> Int {
    let postings = TextPostings(bytes, fieldCount: slots.count)
    // Fill the last block completely, because new rows are usually appended. Divide other blocks
    // evenly, to leave room for later changes.
    let size = bytes.count + edits.reduce(0) { $0 + $1.end - $1.start + 4 }
    let maximum = TextPostingsBuilder.maxByteCount - term.count
    let parts = (size - 1) / maximum + 1
    let limit = isLast ? maximum : min(maximum, size / parts + size / parts / 4)
    let merged = try Self.merged(postings, edits, contents, limit: limit)
    if let first, first != merged.blocks.first?.row {
      try keyspace.delete(keys.block(term, row: first))
    }
    for block in merged.blocks { try put(term, block) }
    return merged.count - merged.oldCount
  }

  private static func merged(
    _ old: TextPostings, _ edits: ArraySlice<TextEdits.Edit>, _ contents: [UInt8], limit: Int
  ) throws -> (blocks: [TextPostingsBuilder.Block], count: Int, oldCount: Int) {
    var postings = old
    var builder = TextPostingsBuilder(limit: limit)
    var oldCount = 0
    var next = edits.startIndex
    func append(_ edit: TextEdits.Edit, to builder: inout TextPostingsBuilder) {
      guard edit.end > edit.start else { return }
      builder.append(edit.row, contents[edit.start..<edit.end])
    }
    while try postings.next() {
      try postings.skipContent()
      oldCount += 1
      while next < edits.endIndex, edits[next].row < postings.row {
        append(edits[next], to: &builder)
        next += 1
      }
      if next < edits.endIndex, edits[next].row == postings.row {
        append(edits[next], to: &builder)
        next += 1
      } else {
        builder.append(postings.row, postings.bytes[postings.contentStart..<postings.offset])
      }
    }
    while next < edits.endIndex {
      append(edits[next], to: &builder)
      next += 1
    }
    builder.endBlock()
    return (builder.blocks, builder.count, oldCount)
  }
}

/// The number of an entity's objects in a text index, and the total number of words in them.
package struct TextIndexTotals: Equatable {
  var documentCount = 0
  var totalLength = 0
  var pendingCount = 0
  /// The total length of the entries for pending rows, in bytes.
  var pendingByteCount = 0

  package init(_ bytes: [UInt8]?) throws {
    guard let bytes else { return }
    var offset = 0
    documentCount = Int(truncatingIfNeeded: try bytes.varint(at: &offset))
    totalLength = Int(truncatingIfNeeded: try bytes.varint(at: &offset))
    pendingCount = Int(truncatingIfNeeded: try bytes.varint(at: &offset))
    pendingByteCount = Int(truncatingIfNeeded: try bytes.varint(at: &offset))
    let all = [documentCount, totalLength, pendingCount, pendingByteCount]
    guard all.allSatisfy({ (0...Int(ObjectNumber.maxRow)).contains($0) }) else {
      throw TextPostings.damage
    }
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(max(0, documentCount)))
    bytes.append(varint: UInt64(max(0, totalLength)))
    bytes.append(varint: UInt64(max(0, pendingCount)))
    bytes.append(varint: UInt64(max(0, pendingByteCount)))
    return bytes
  }
}

/// A term's entry in a text index.
package struct TextIndexTerm {
  /// The number of objects that contain the term.
  package var count = 0
  package let bytes: [UInt8]
  /// The offset of the posting list in `bytes`.
  package private(set) var listOffset = 0

  package init(_ bytes: [UInt8]?) throws {
    self.bytes = bytes ?? []
    guard bytes != nil else { return }
    count = Int(truncatingIfNeeded: try self.bytes.varint(at: &listOffset))
    guard count > 0, count <= ObjectNumber.maxRow else { throw TextPostings.damage }
  }

  /// A Boolean value that indicates whether the posting list consists of blocks with separate keys.
  package var hasBlocks: Bool { count > 0 && listOffset == bytes.count }

  static func bytes(count: Int, list: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(count))
    return bytes + list
  }
}
