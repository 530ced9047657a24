/// The changes to the posting lists of a text index, gathered by term.
struct TextEdits {
  /// A change to one posting.
  struct Edit {
    let row: Int64
    /// The content of the new posting as a range of ``TextEdits/contents``, or an empty range if
    /// the posting is removed.
    let start: Int
    let end: Int
    /// The next edit of the same term, or -1.
    var next = -1
  }

  private struct Term {
    let start: Int
    let end: Int
    let hash: UInt64
    var first = -1
    var last = -1
  }

  private(set) var contents: [UInt8] = []
  private var edits: [Edit] = []
  private var terms: [Term] = []
  private var termBytes: [UInt8] = []
  /// An open-addressing hash table of positions in `terms`; -1 is an empty slot.
  private var slots: [Int32] = Array(repeating: -1, count: 1024)

  var isEmpty: Bool { edits.isEmpty }

  /// The approximate memory that the edits use.
  var byteCount: Int {
    contents.count + termBytes.count + edits.count * MemoryLayout<Edit>.stride
      + terms.count * (MemoryLayout<Term>.stride + 8)
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

  // MARK: Edits

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
      if before[oldStart..<old] == after[newStart..<new] { continue }
      let start = contents.count
      if newStart < new {
        TextPostings.appendContent(
          of: after[newStart..<new], fieldCount: fieldCount, to: &contents)
      }
      append(Edit(row: row, start: start, end: contents.count), to: Int(term))
    }
  }

  private mutating func append(_ edit: Edit, to term: Int) {
    edits.append(edit)
    if terms[term].last >= 0 {
      edits[terms[term].last].next = edits.count - 1
    } else {
      terms[term].first = edits.count - 1
    }
    terms[term].last = edits.count - 1
  }

  /// Calls `body` with each term that has edits, in ascending order, and with its edits in
  /// ascending order of their rows.
  func forEachTerm(_ body: (_ term: ArraySlice<UInt8>, _ edits: [Edit]) throws -> Void) throws {
    let order = terms.indices.filter { terms[$0].first >= 0 }.map { (head(of: terms[$0]), $0) }
      .sorted { first, second in
        if first.0 != second.0 { return first.0 < second.0 }
        return bytes(of: first.1).lexicographicallyPrecedes(bytes(of: second.1))
      }
    var own: [Edit] = []
    for (_, term) in order {
      own.removeAll(keepingCapacity: true)
      var isSorted = true
      var next = terms[term].first
      while next >= 0 {
        if let last = own.last, last.row >= edits[next].row { isSorted = false }
        own.append(edits[next])
        next = edits[next].next
      }
      try body(bytes(of: term), isSorted ? own : Self.sorted(own))
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
