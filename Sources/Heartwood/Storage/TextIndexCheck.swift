/// Compares text indexes with the rows of a view.
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

  /// Describes the first difference of an index for the rows of one entity, or returns `nil`.
  private func difference(
    _ index: TextIndexDescription, _ storage: EntityStorage
  ) throws -> String? {
    let store = try Store.inMemory()
    defer { try? store.close() }
    try store.write { transaction in
      let writer = try TextIndexWriter(
        transaction.keyspace("texts"), index, entity: storage.number)
      try view.objects(storage)?.forEachRow(of: storage) { _, record in
        try index.slots.map { try storage.value($0, record).string }
      } _: { batch in
        for (number, texts) in batch {
          try writer.change(number.row, fromTexts: nil, toTexts: texts)
        }
      }
      try writer.flush()
      try writer.mergePending()
      guard let stored = try view.keyspace(view.model.keyspace(index)) else { return }
      // Compare a copy without pending rows.
      let copy = try transaction.keyspace("copy")
      try TextIndexReader(stored, entity: storage.number, fieldCount: index.slots.count)
        .copy(to: copy)
      try TextIndexWriter(copy, index, entity: storage.number).mergePending()
    }
    func reader(_ name: String) throws -> TextIndexReader? {
      try store.snapshot().keyspace(name).map {
        TextIndexReader(.snapshot($0), entity: storage.number, fieldCount: index.slots.count)
      }
    }
    return try difference(reader("texts"), reader("copy"), storage)
  }

  private func difference(
    _ wanted: TextIndexReader?, _ stored: TextIndexReader?, _ storage: EntityStorage
  ) throws -> String? {
    let (terms, others) = (try wanted?.terms() ?? [], try stored?.terms() ?? [])
    if let missing = zip(terms, others).first(where: { $0 != $1 }).map({ min($0, $1) })
      ?? (terms.count == others.count ? nil : (terms + others).max())
    {
      let term = String(decoding: missing.bytes, as: UTF8.self)
      return "the term \"\(term)\" is missing, or occurs in no object"
    }
    guard let wanted, let stored else { return nil }
    let (totals, other) = (try wanted.totals(), try stored.totals())
    guard totals == other else {
      return "it counts \(other.documentCount) objects and \(other.totalLength) words instead of "
        + "\(totals.documentCount) and \(totals.totalLength)"
    }
    for term in terms where try wanted.postings(term.bytes) != stored.postings(term.bytes) {
      return "the objects with \"\(String(decoding: term.bytes, as: UTF8.self))\" differ"
    }
    var found: String?
    try view.objects(storage)?.forEach { key, _ in
      let row = try key.lastKeyComponent()
      guard try wanted.length(of: row) == stored.length(of: row) else {
        found = "the length of row \(row) differs"
        return false
      }
      return true
    }
    return found
  }
}

/// A term, which sorts by its bytes.
struct SortedTerm: Comparable {
  let bytes: [UInt8]

  static func < (first: SortedTerm, second: SortedTerm) -> Bool {
    first.bytes.lexicographicallyPrecedes(second.bytes)
  }
}

extension TextIndexReader {
  fileprivate func terms() throws -> [SortedTerm] {
    var terms: [SortedTerm] = []
    try forEachTerm(prefix: []) { term, _ in
      terms.append(SortedTerm(bytes: term))
      return true
    }
    return terms
  }

  /// Returns the rows of a term, each with the content of its posting, after the count.
  fileprivate func postings(_ term: [UInt8]) throws -> [[UInt8]] {
    let entry = try self.term(term)
    var result: [[UInt8]] = [[], Array("\(entry.count)".utf8)]
    func append(_ list: TextPostings) throws {
      var list = list
      while try list.next() {
        try list.skipContent()
        result.append(
          Array("\(list.row) ".utf8) + list.bytes[list.contentStart..<list.offset])
      }
    }
    if entry.hasBlocks {
      let prefix = keys.blockPrefix(term)
      let cursor = cursor()
      var isThere = try cursor.seek(keys.block(term, row: 0))
      while isThere, let row = try cursor.withEntry({ key, _ in try key.blockRow(prefix) }) ?? nil {
        let block = TextPostings(try cursor.value ?? [], fieldCount: fieldCount)
        var first = block
        guard try first.next(), first.row == row else { throw TextPostings.damage }
        try append(block)
        isThere = try cursor.moveToNext()
      }
    } else {
      try append(TextPostings(entry.bytes, from: entry.listOffset, fieldCount: fieldCount))
    }
    guard result.count == entry.count + 2 else { throw TextPostings.damage }
    return result
  }
}
