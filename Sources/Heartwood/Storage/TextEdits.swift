/// The changes to the posting lists of a text index, gathered by term.
///
/// The edits of a term are a stream of bytes in *slices*, whose size doubles and each of which ends
/// with the offset of the next one. This takes a few bytes for each posting.
struct TextEdits {
  /// A change to one posting.
  struct Edit {
    let row: Int64
    /// The content of the new posting as a range of the bytes that are passed with the edit, or an
    /// empty range if the posting is removed.
    let start: Int
    let end: Int
  }

  private struct Term {
    let start: Int
    let end: Int
    let hash: UInt64
    /// The offset of the first slice, or -1 if the term has no edits.
    var first = -1
    /// The offset at which the next byte is written.
    var next = -1
    /// The offset of the end of the last slice's bytes.
    var limit = -1
    var sliceByteCount = 0
    var lastRow: Int64 = 0
  }

  private var arena: [UInt8] = []
  private var terms: [Term] = []
  private var termBytes: [UInt8] = []
  /// An open-addressing hash table of positions in `terms`; -1 is an empty slot.
  private var slots: [Int32] = Array(repeating: -1, count: 1024)
  private var content: [UInt8] = []

  private static let firstSliceByteCount = 16
  private static let maxSliceByteCount = 2048
  private static let linkByteCount = 8

  var isEmpty: Bool { arena.isEmpty }

  /// The approximate memory that the edits use.
  var byteCount: Int {
    arena.count + termBytes.count + terms.count * (MemoryLayout<Term>.stride + 8)
  }

  // MARK: Terms

  /// Returns the number of a term, which is added if it is new.
  mutating func number(of tokens: TextTokens, _ token: TextTokens.Token) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for position in token.start..<token.end {
      hash = (hash ^ UInt64(tokens.bytes[position])) &* 0x100_0000_01B3
    }
    hash ^= hash >> 29
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots[slot] >= 0 {
      let known = Int(slots[slot])
      if terms[known].hash == hash, isEqual(terms[known], tokens, token) { return known }
      slot = (slot + 1) & mask
    }
    slots[slot] = Int32(terms.count)
    let start = termBytes.count
    termBytes.append(contentsOf: tokens.bytes[token.start..<token.end])
    terms.append(Term(start: start, end: termBytes.count, hash: hash))
    if terms.count * 2 > slots.count { grow() }
    return terms.count - 1
  }

  private func isEqual(
    _ term: Term, _ tokens: TextTokens, _ token: TextTokens.Token
  ) -> Bool {
    guard term.end - term.start == token.end - token.start else { return false }
    for offset in 0..<term.end - term.start
    where termBytes[term.start + offset] != tokens.bytes[token.start + offset] {
      return false
    }
    return true
  }

  private mutating func grow() {
    let count = slots.count * 2
    slots = Array(repeating: -1, count: count)
    for (position, term) in terms.enumerated() {
      var slot = Int(truncatingIfNeeded: term.hash) & (count - 1)
      while slots[slot] >= 0 { slot = (slot + 1) & (count - 1) }
      slots[slot] = Int32(position)
    }
  }

  /// Returns the number of a term, which is added if it is new.
  private mutating func number(of term: [UInt8]) -> Int {
    var tokens = TextTokens()
    tokens.bytes = term
    return number(of: tokens, tokens.complete)
  }

  /// Returns the words of a row by term.
  ///
  /// - Parameter words: The words in ascending order, as in ``add(_:from:to:fieldCount:)``.
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

  /// Adds the differences between the words of a row before and after a change.
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
      guard let term = (isNew ? second : first)?.term else { return }
      content = isNew ? second?.content ?? [] : []
      if isOld, isNew, first?.content == content { continue }
      append(row, to: number(of: term))
    }
  }

  /// Adds the differences between the postings of a row before and after a change.
  ///
  /// - Parameters:
  ///   - before: The words before, in ascending order: the number of the term in the high half, and
  ///     the position in the low half.
  ///   - after: The words after.
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

  /// Appends an edit with the bytes of `content`.
  private mutating func append(_ row: Int64, to number: Int) {
    var term = terms[number]
    let difference = row - term.lastRow
    term.lastRow = row
    // Rows usually ascend; the lowest bit marks others.
    append(
      varint: UInt64(difference.magnitude) << 1 | (difference < 0 ? 1 : 0), to: &term)
    append(varint: UInt64(content.count), to: &term)
    for byte in content { append(byte, to: &term) }
    terms[number] = term
  }

  private mutating func append(varint value: UInt64, to term: inout Term) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80, to: &term)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest), to: &term)
  }

  @inline(__always)
  private mutating func append(_ byte: UInt8, to term: inout Term) {
    if term.next == term.limit { addSlice(to: &term) }
    arena[term.next] = byte
    term.next += 1
  }

  private mutating func addSlice(to term: inout Term) {
    let start = arena.count
    var size = Self.firstSliceByteCount
    if term.first < 0 {
      term.first = start
    } else {
      for position in 0..<Self.linkByteCount {
        arena[term.limit + position] = UInt8(truncatingIfNeeded: start >> (8 * position))
      }
      size = min(2 * term.sliceByteCount, Self.maxSliceByteCount)
    }
    arena.append(contentsOf: repeatElement(0, count: size + Self.linkByteCount))
    term.sliceByteCount = size
    term.next = start
    term.limit = start + size
  }

  /// Calls `body` with each term that has edits, in ascending order, and with its edits in
  /// ascending order of their rows.
  ///
  /// - Parameter body: A closure that receives the term, its edits, and the bytes that contain
  ///   their contents.
  func forEachTerm(
    _ body: (_ term: ArraySlice<UInt8>, _ edits: [Edit], _ contents: [UInt8]) throws -> Void
  ) throws {
    let order = terms.indices.filter { terms[$0].first >= 0 }.map { (head(of: terms[$0]), $0) }
      .sorted { first, second in
        if first.0 != second.0 { return first.0 < second.0 }
        return bytes(of: first.1).lexicographicallyPrecedes(bytes(of: second.1))
      }
    var own: [Edit] = []
    var contents: [UInt8] = []
    for (_, term) in order {
      own.removeAll(keepingCapacity: true)
      contents.removeAll(keepingCapacity: true)
      copyStream(of: terms[term], to: &contents)
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

  private func copyStream(of term: Term, to contents: inout [UInt8]) {
    var start = term.first
    var size = Self.firstSliceByteCount
    while true {
      let limit = start + size
      if limit == term.limit {
        contents.append(contentsOf: arena[start..<term.next])
        return
      }
      contents.append(contentsOf: arena[start..<limit])
      start = 0
      for position in 0..<Self.linkByteCount {
        start |= Int(arena[limit + position]) << (8 * position)
      }
      size = min(2 * size, Self.maxSliceByteCount)
    }
  }

  /// Sorts edits by row, and keeps the last edit of each row.
  private static func sorted(_ edits: [Edit]) -> [Edit] {
    var last: [Int64: Edit] = [:]
    for edit in edits { last[edit.row] = edit }
    return last.values.sorted { $0.row < $1.row }
  }

  private func bytes(of term: Int) -> ArraySlice<UInt8> {
    termBytes[terms[term].start..<terms[term].end]
  }

  /// The first eight bytes of a term as a number that sorts like them.
  private func head(of term: Term) -> UInt64 {
    var head: UInt64 = 0
    for offset in 0..<8 {
      head <<= 8
      if term.start + offset < term.end { head |= UInt64(termBytes[term.start + offset]) }
    }
    return head
  }
}
