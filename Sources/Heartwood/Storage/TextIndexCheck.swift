/// A check that compares text indexes with the rows of a view.
///
/// The check adds up the hashes of the postings in an index and, separately, the hashes of the
/// postings that the rows require, and then compares the two sums. It need not sort the postings or
/// keep them in memory.
struct TextIndexCheck {
  let view: StoreView

  func findings() throws -> [String] {
    var findings: [String] = []
    for storage in view.model.entities where !storage.entity.isAbstract {
      guard let index = storage.entity.textIndex, index.tokenizer.isKnown else { continue }
      if let difference = try difference(index, storage) {
        findings.append("The text index of \(storage.entity.name) is wrong: \(difference).")
      }
    }
    return findings
  }

  /// Returns a description of a difference between an index and the rows of one entity, or `nil` if
  /// there is no difference.
  private func difference(
    _ index: TextIndexDescription, _ storage: EntityStorage
  ) throws -> String? {
    let reader = try view.keyspace(view.model.keyspace(index)).map {
      TextIndexReader($0, entity: storage.number, fieldCount: index.slots.count)
    }
    var pending: [Int64: PendingText] = [:]
    for (row, change) in try reader?.pending() ?? [] { pending[row] = change }
    let contents = Contents(
      index: index, reader: reader, pending: pending, rows: try view.objects(storage),
      storage: storage)
    var sums = Array(repeating: UInt64(0), count: Self.groupCount)
    var (documentCount, totalLength) = (0, 0)
    var wrongLength: Int64?
    try contents.forEachRow { row, words in
      documentCount += 1
      totalLength += words.length
      let length =
        try pending[row].map { $0.after?.length ?? -1 } ?? reader?.length(of: row) ?? 0
      if min(length, TextRanking.maxLength) != min(words.length, TextRanking.maxLength) {
        wrongLength = wrongLength ?? row
      }
    } posting: { term, hash in
      sums[Self.group(of: term)] &+= hash
    }
    if let group = sums.firstIndex(where: { $0 != 0 }) {
      var own: [[UInt8]: UInt64] = [:]
      try contents.forEachRow { _, _ in
      } posting: { term, hash in
        if Self.group(of: term) == group { own[term, default: 0] &+= hash }
      }
      let terms = own.filter { $0.value != 0 }.map { String(decoding: $0.key, as: UTF8.self) }
      return "its entries for the term \"\(terms.min() ?? "")\" do not match the objects"
    }
    let totals = try reader?.totals() ?? TextIndexTotals(nil)
    guard totals.documentCount == documentCount, totals.totalLength == totalLength else {
      return "it counts \(totals.documentCount) objects and \(totals.totalLength) words instead "
        + "of \(documentCount) objects and \(totalLength) words"
    }
    return wrongLength.map { "it records the wrong length for row \($0)" }
  }

  /// The number of groups into which terms are divided.
  ///
  /// Each group has its own sum.
  private static let groupCount = 1024

  private static func group(of term: [UInt8]) -> Int {
    Int(UInt(bitPattern: term.hashValue) % UInt(groupCount))
  }
}

/// The postings of one entity in an index, and the postings required by the entity's rows.
private struct Contents {
  let index: TextIndexDescription
  let reader: TextIndexReader?
  let pending: [Int64: PendingText]
  let rows: RowsKeyspace?
  let storage: EntityStorage

  private static let maxByteCount = 8 << 20

  /// Calls `body` with each row and its words.
  ///
  /// The method also calls `posting` with the hash of each posting that the rows require, and with
  /// the negated hash of each posting in the index.
  func forEachRow(
    _ body: (_ row: Int64, _ words: PendingWords) throws -> Void,
    posting: (_ term: [UInt8], _ hash: UInt64) -> Void
  ) throws {
    func add(_ words: PendingWords?, _ row: Int64, _ factor: UInt64) {
      for word in words?.words ?? [] {
        posting(word.term, factor &* Self.hash(word.term, row, word.content[...]))
      }
    }
    var edits = TextEdits()
    var words: [UInt64] = []
    var tokens = TextTokens()
    try rows?.forEachRow(of: storage) { _, record in
      try index.slots.map { try storage.value($0, record).string }
    } _: { batch in
      for (number, texts) in batch {
        edits.split(texts, index.tokenizer, &tokens, into: &words)
        let own = edits.pendingWords(words, fieldCount: index.slots.count)
        add(own, number.row, 1)
        try body(number.row, own)
        if edits.byteCount > Self.maxByteCount { edits = TextEdits() }
      }
    }
    try reader?.forEachPosting { term, row, content in
      posting(term, 0 &- Self.hash(term, row, content))
    }
    // For each pending row, cancel the outdated postings in the lists (`before`), and count the
    // current postings (`after`) as part of the index.
    for (row, change) in pending {
      add(change.before, row, 1)
      add(change.after, row, .max)
    }
  }

  private static func hash(_ term: [UInt8], _ row: Int64, _ content: ArraySlice<UInt8>) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(term)
    hasher.combine(row)
    hasher.combine(content)
    return UInt64(UInt(bitPattern: hasher.finalize()))
  }
}

extension TextIndexReader {
  /// Calls `body` with every posting in the posting lists.
  ///
  /// Pending changes are ignored.
  ///
  /// - Throws: `corrupt` if a list cannot be decoded, or if its number of postings differs from the
  ///   number recorded for its term.
  fileprivate func forEachPosting(
    _ body: (_ term: [UInt8], _ row: Int64, _ content: ArraySlice<UInt8>) throws -> Void
  ) throws {
    let cursor = cursor()
    try forEachTerm(prefix: []) { term, entry in
      var count = 0
      func read(_ list: TextPostings) throws {
        var list = list
        while try list.next() {
          try list.skipContent()
          try body(term, list.row, list.bytes[list.contentStart..<list.offset])
          count += 1
        }
      }
      if entry.hasBlocks {
        let prefix = keys.blockPrefix(term)
        var isThere = try cursor.seek(keys.block(term, row: 0))
        while isThere, let row = try cursor.withEntry({ key, _ in try key.blockRow(prefix) }) ?? nil
        {
          let block = TextPostings(try cursor.value ?? [], fieldCount: fieldCount)
          var first = block
          guard try first.next(), first.row == row else { throw TextPostings.damage }
          try read(block)
          isThere = try cursor.moveToNext()
        }
      } else {
        try read(TextPostings(entry.bytes, from: entry.listOffset, fieldCount: fieldCount))
      }
      guard count == entry.count else { throw TextPostings.damage }
      return true
    }
  }
}
