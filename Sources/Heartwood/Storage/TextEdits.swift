/// The changes to the posting lists of a text index, grouped by term.
///
/// The edits for a term are encoded as a stream of bytes, which is stored in *slices*. Each slice
/// is twice as large as the previous one, up to a limit, and ends with the offset of the next
/// slice. The first slice is small, because a posting usually takes up only a few bytes.
struct TextEdits {
  /// A change to one posting.
  struct Edit {
    let row: Int64
    /// The range of the new posting's content in the bytes that are passed along with the edit.
    ///
    /// If the posting is removed, the range is empty.
    let start: Int
    let end: Int
  }

  // Store each term's data in several compact arrays, because most of the run time is spent waiting
  // for memory.

  /// The range of a term's bytes in `termBytes`.
  private struct Name {
    let start: Int32
    let end: Int32
  }

  /// A stream of bytes that encodes a term's edits.
  private struct Stream {
    /// The offset of the first slice, or -1 if the term has no edits.
    var first: Int32 = -1
    /// The offset at which the next byte is written.
    var next: Int32 = -1
    /// The offset at which the data of the last slice must end.
    ///
    /// The link to the next slice is stored there.
    var limit: Int32 = -1
    var sliceByteCount: Int32 = 0
    var lastRow: Int64 = 0
  }

  private var arena: [UInt8] = []
  private var names: [Name] = []
  private var streams: [Stream] = []
  private var termBytes: [UInt8] = []
  /// A hash table with open addressing, in which 0 marks an empty slot.
  ///
  /// The low half of any other slot is a term's number plus 1. The high half is the high half of
  /// the term's hash.
  private var slots: [UInt64] = Array(repeating: 0, count: 1024)
  private var content: [UInt8] = []

  private static let firstSliceByteCount = 16
  private static let maxSliceByteCount = 2048
  private static let linkByteCount = 4

  var isEmpty: Bool { arena.isEmpty }

  /// The approximate memory used by the edits, in bytes.
  var byteCount: Int {
    arena.count + termBytes.count
      + names.count * (MemoryLayout<Name>.stride + MemoryLayout<Stream>.stride + 16)
  }

  // MARK: Terms

  /// Returns the number of a term, adding the term if it is new.
  mutating func number(of tokens: TextTokens, _ token: TextTokens.Token) -> Int {
    let hash = Self.hash(tokens.bytes, token.start..<token.end)
    let tag = hash & ~0xFFFF_FFFF
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots[slot] != 0 {
      if slots[slot] & ~0xFFFF_FFFF == tag {
        let known = Int(slots[slot] & 0xFFFF_FFFF) - 1
        if isEqual(names[known], tokens, token) { return known }
      }
      slot = (slot + 1) & mask
    }
    let start = Int32(termBytes.count)
    termBytes.append(contentsOf: tokens.bytes[token.start..<token.end])
    names.append(Name(start: start, end: Int32(termBytes.count)))
    streams.append(Stream())
    slots[slot] = tag | UInt64(names.count)
    if names.count * 2 > slots.count { grow() }
    return names.count - 1
  }

  private static func hash(_ bytes: [UInt8], _ range: Range<Int>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for position in range { hash = (hash ^ UInt64(bytes[position])) &* 0x100_0000_01B3 }
    // Mix the high half into the hash, because the lower bits of the product depend only on the
    // lower bits of the bytes.
    return hash ^ hash >> 32
  }

  private func isEqual(_ name: Name, _ tokens: TextTokens, _ token: TextTokens.Token) -> Bool {
    let (start, count) = (Int(name.start), token.end - token.start)
    guard Int(name.end) - start == count else { return false }
    for offset in 0..<count
    where termBytes[start + offset] != tokens.bytes[token.start + offset] {
      return false
    }
    return true
  }

  private mutating func grow() {
    slots = Array(repeating: 0, count: 2 * slots.count)
    for (position, name) in names.enumerated() {
      let hash = Self.hash(termBytes, Int(name.start)..<Int(name.end))
      var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
      while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = hash & ~0xFFFF_FFFF | UInt64(position + 1)
    }
  }

  /// Returns the number of a term, adding the term if it is new.
  private mutating func number(of term: [UInt8]) -> Int {
    var tokens = TextTokens()
    tokens.bytes = term
    return number(of: tokens, tokens.complete)
  }

  /// Replaces `words` with an encoded list of the words in a row's attributes, in ascending order.
  ///
  /// The high half of each element is a term's number, and the low half is a position.
  mutating func split(
    _ texts: [String?], _ tokenizer: TextTokenizer, _ tokens: inout TextTokens,
    into words: inout [UInt64]
  ) {
    words.removeAll(keepingCapacity: true)
    for (field, text) in texts.enumerated() {
      guard let text else { continue }
      tokenizer.tokenize(text, into: &tokens)
      for token in tokens.tokens {
        let term = UInt64(number(of: tokens, token))
        words.append(term << 32 | UInt64(TextPosition.make(field: field, token.position)))
      }
    }
    words.sort()
  }

  /// Returns the words of a row, grouped by term.
  ///
  /// - Parameter words: The words in ascending order, encoded as for
  ///   ``add(_:from:to:fieldCount:)``.
  func pendingWords(_ words: [UInt64], fieldCount: Int) -> PendingWords {
    var result = PendingWords()
    result.length = words.count
    var start = 0
    while start < words.count {
      var end = start + 1
      while end < words.count, words[end] >> 32 == words[start] >> 32 { end += 1 }
      var content: [UInt8] = []
      TextPostings.appendContent(of: words, start..<end, fieldCount: fieldCount, to: &content)
      result.words.append(
        PendingWords.Word(term: Array(bytes(of: Int(words[start] >> 32))), content: content))
      start = end
    }
    result.words.sort { $0.term.lexicographicallyPrecedes($1.term) }
    return result
  }

  // MARK: Edits

  /// Adds an edit for each term whose posting is affected by a change to a row.
  mutating func add(_ row: Int64, from before: PendingWords?, to after: PendingWords?) {
    let (old, new) = (before?.words ?? [], after?.words ?? [])
    var (oldPosition, newPosition) = (0, 0)
    while oldPosition < old.count || newPosition < new.count {
      let first = oldPosition < old.count ? old[oldPosition] : nil
      let second = newPosition < new.count ? new[newPosition] : nil
      var (isOld, isNew) = (first != nil, second != nil)
      if let first, let second, first.term != second.term {
        isOld = first.term.lexicographicallyPrecedes(second.term)
        isNew = !isOld
      }
      if isOld { oldPosition += 1 }
      if isNew { newPosition += 1 }
      let new = isNew ? second : nil
      if isOld, isNew, first?.content == new?.content { continue }
      content.removeAll(keepingCapacity: true)
      if let new { content += new.content }
      if let term = (new ?? first)?.term { append(row, to: number(of: term)) }
    }
  }

  /// Adds an edit for each term whose posting is affected by a change to a row.
  ///
  /// - Parameters:
  ///   - before: The words before the change, in ascending order. The high half of each element is
  ///     a term's number, and the low half is a position.
  ///   - after: The words after the change.
  mutating func add(
    _ row: Int64, from before: [UInt64], to after: [UInt64], fieldCount: Int
  ) {
    var (old, new) = (0, 0)
    while old < before.count || new < after.count {
      let oldTerm = old < before.count ? before[old] >> 32 : .max
      let newTerm = new < after.count ? after[new] >> 32 : .max
      let term = min(oldTerm, newTerm)
      let (oldStart, newStart) = (old, new)
      while old < before.count, before[old] >> 32 == term { old += 1 }
      while new < after.count, after[new] >> 32 == term { new += 1 }
      if old - oldStart == new - newStart, before[oldStart..<old] == after[newStart..<new] {
        continue
      }
      content.removeAll(keepingCapacity: true)
      if newStart < new {
        TextPostings.appendContent(
          of: after, newStart..<new, fieldCount: fieldCount, to: &content)
      }
      append(row, to: Int(term))
    }
  }

  /// Appends an edit that replaces a row's posting with `content`.
  private mutating func append(_ row: Int64, to number: Int) {
    var stream = streams[number]
    let difference = row - stream.lastRow
    stream.lastRow = row
    // Use the lowest bit as the sign, because a row can be less than the previous one, although
    // rows are usually added in ascending order.
    append(varint: UInt64(difference.magnitude) << 1 | (difference < 0 ? 1 : 0), to: &stream)
    append(varint: UInt64(content.count), to: &stream)
    for position in content.indices { append(content[position], to: &stream) }
    streams[number] = stream
  }

  private mutating func append(varint value: UInt64, to stream: inout Stream) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80, to: &stream)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest), to: &stream)
  }

  @inline(__always)
  private mutating func append(_ byte: UInt8, to stream: inout Stream) {
    if stream.next == stream.limit { addSlice(to: &stream) }
    arena[Int(stream.next)] = byte
    stream.next += 1
  }

  private mutating func addSlice(to stream: inout Stream) {
    let start = Int32(arena.count)
    var size = Self.firstSliceByteCount
    if stream.first < 0 {
      stream.first = start
    } else {
      for position in 0..<Self.linkByteCount {
        arena[Int(stream.limit) + position] = UInt8(truncatingIfNeeded: start >> (8 * position))
      }
      size = min(2 * Int(stream.sliceByteCount), Self.maxSliceByteCount)
    }
    arena.append(contentsOf: repeatElement(0, count: size + Self.linkByteCount))
    stream.sliceByteCount = Int32(size)
    stream.next = start
    stream.limit = start + Int32(size)
  }

  /// Calls `body` with each term that has edits, in ascending order.
  ///
  /// The edits of a term are sorted by row.
  ///
  /// - Parameter body: A closure that receives the term, its edits, and the bytes that contain the
  ///   edits' contents.
  func forEachTerm(
    _ body: (_ term: ArraySlice<UInt8>, _ edits: [Edit], _ contents: [UInt8]) throws -> Void
  ) throws {
    let order = streams.indices.filter { streams[$0].first >= 0 }.map { (head(of: $0), $0) }
      .sorted { first, second in
        if first.0 != second.0 { return first.0 < second.0 }
        return bytes(of: first.1).lexicographicallyPrecedes(bytes(of: second.1))
      }
    var own: [Edit] = []
    var contents: [UInt8] = []
    for (_, term) in order {
      own.removeAll(keepingCapacity: true)
      contents.removeAll(keepingCapacity: true)
      copy(streams[term], to: &contents)
      var (offset, row, isSorted) = (0, Int64(0), true)
      while offset < contents.count {
        let difference = try contents.varint(at: &offset)
        let distance = Int64(difference >> 1)
        row += difference & 1 == 0 ? distance : -distance
        let count = Int(try contents.varint(at: &offset))
        if let last = own.last, last.row >= row { isSorted = false }
        own.append(Edit(row: row, start: offset, end: offset + count))
        offset += count
      }
      try body(bytes(of: term), isSorted ? own : Self.sorted(own), contents)
    }
  }

  private func copy(_ stream: Stream, to contents: inout [UInt8]) {
    var start = Int(stream.first)
    var size = Self.firstSliceByteCount
    while start + size != Int(stream.limit) {
      let limit = start + size
      contents.append(contentsOf: arena[start..<limit])
      start = 0
      for position in 0..<Self.linkByteCount {
        start |= Int(arena[limit + position]) << (8 * position)
      }
      size = min(2 * size, Self.maxSliceByteCount)
    }
    contents.append(contentsOf: arena[start..<Int(stream.next)])
  }

  /// Sorts edits by row, and keeps only the last edit of each row.
  private static func sorted(_ edits: [Edit]) -> [Edit] {
    var last: [Int64: Edit] = [:]
    for edit in edits { last[edit.row] = edit }
    return last.values.sorted { $0.row < $1.row }
  }

  private func bytes(of term: Int) -> ArraySlice<UInt8> {
    termBytes[Int(names[term].start)..<Int(names[term].end)]
  }

  /// Returns the first eight bytes of a term as a number that sorts in the same order as the bytes.
  private func head(of term: Int) -> UInt64 {
    var head: UInt64 = 0
    for position in Int(names[term].start)..<Int(names[term].start) + 8 {
      head <<= 8
      if position < Int(names[term].end) { head |= UInt64(termBytes[position]) }
    }
    return head
  }
}
