/// A text search that is evaluated in one view of a store.
final class TextRun {
  /// The data needed to search the rows of one entity.
  private struct Part {
    let storage: EntityStorage
    let reader: TextIndexReader
    let leaves: [Leaf]
    let pending: [Pending]
    let pendingRows: Set<Int64>
  }

  /// A row whose changes are not yet in the posting lists.
  private struct Pending {
    let row: Int64
    let before: TextDocument?
    let after: TextDocument?
  }

  /// The index entries found for a leaf of the query.
  private enum Leaf {
    case word(TextIndexTerm)
    case list(TextRowList)

    var count: Int {
      switch self {
      case .word(let entry): entry.count
      case .list(let list): list.count
      }
    }
  }

  /// A match and its relevance.
  typealias Match = (number: ObjectNumber, score: Double)

  let ranking: TextRanking
  private let search: TextSearch
  private let view: StoreView
  private let parts: [Part]
  /// The number of objects that contain each leaf of the query.
  private let leafCounts: [Int]
  private var known: (numbers: [ObjectNumber], scores: [Double])?

  init(_ search: TextSearch, _ view: StoreView) throws {
    self.search = search
    self.view = view
    var parts: [Part] = []
    var statistics = TextStatistics(leafCounts: search.tree.leaves.map { _ in 0 })
    if let keyspace = try view.keyspace(view.model.keyspace(search.index)) {
      for storage in view.model.family(of: search.entity) {
        let reader = TextIndexReader(
          keyspace, entity: storage.number, fieldCount: search.index.slots.count)
        let leaves = try search.tree.leaves.indices.map { try Self.leaf($0, search, reader) }
        let totals = try reader.totals()
        statistics.documentCount += totals.documentCount
        statistics.totalLength += totals.totalLength
        let pending = try Self.pending(search, reader)
        for (position, leaf) in leaves.enumerated() {
          statistics.leafCounts[position] += leaf.count
          for row in pending {
            if row.before?.occurs[position] == true { statistics.leafCounts[position] -= 1 }
            if row.after?.occurs[position] == true { statistics.leafCounts[position] += 1 }
          }
        }
        parts.append(
          Part(
            storage: storage, reader: reader, leaves: leaves, pending: pending,
            pendingRows: Set(pending.map(\.row))))
      }
    }
    self.parts = parts
    leafCounts = statistics.leafCounts
    ranking = TextRanking(statistics, search.tree, weights: search.index.weights)
  }

  private static func pending(
    _ search: TextSearch, _ reader: TextIndexReader
  ) throws -> [Pending] {
    func document(_ words: PendingWords?) throws -> TextDocument? {
      guard let words else { return nil }
      let positions = words.words.lazy.map { word in
        (
          term: word.term,
          positions: { (fields: UInt64) throws -> [UInt32] in
            try TextPostings(word.content, fieldCount: reader.fieldCount).positions(fields)
          }
        )
      }
      return try TextDocument(length: words.length, positions, search.tree)
    }
    return try reader.pending().map { row, change in
      Pending(row: row, before: try document(change.before), after: try document(change.after))
    }
  }

  private static func leaf(
    _ position: Int, _ search: TextSearch, _ reader: TextIndexReader
  ) throws -> Leaf {
    let leaf = search.tree.leaves[position]
    var terms: [(term: [UInt8], entry: TextIndexTerm)] = []
    switch leaf.kind {
    case .word: return .word(try reader.term(leaf.term))
    case .prefix(let stems):
      try reader.forEachTerm(prefix: leaf.term) { term, entry in
        terms.append((term, entry))
        return true
      }
      for stem in stems {
        let entry = try reader.term(stem)
        if entry.count > 0 { terms.append((stem, entry)) }
      }
    case .similar(let distance):
      var test = TextSimilarity(leaf.term, distance: distance)
      try reader.forEachTerm(similarTo: &test) { term, entry in terms.append((term, entry)) }
    }
    return .list(
      try TextRowList(
        terms, reader, weights: search.index.weights, fields: leaf.fields,
        needsPositions: search.tree.needPositions[position]))
  }

  // MARK: Results

  /// Returns whether a stored object matches.
  func contains(_ number: ObjectNumber) throws -> Bool { try position(of: number) != nil }

  /// Returns the relevance of a stored object, or 0 if it does not match.
  func score(of number: ObjectNumber) throws -> Double {
    let results = try results()
    return try position(of: number).map { results.scores[$0] } ?? 0
  }

  /// Returns the numbers of all matching objects, in ascending order.
  func numbers() throws -> [ObjectNumber] { try results().numbers }

  private func results() throws -> (numbers: [ObjectNumber], scores: [Double]) {
    if let known { return known }
    var results: (numbers: [ObjectNumber], scores: [Double]) = ([], [])
    var matches: [Match] = []
    try forEachMatch { matches.append(($0, $1)) }
    if parts.contains(where: { !$0.pending.isEmpty }) { matches.sort { $0.number < $1.number } }
    results = (matches.map(\.number), matches.map(\.score))
    known = results
    return results
  }

  private func position(of number: ObjectNumber) throws -> Int? {
    let numbers = try results().numbers
    var (lower, upper) = (0, numbers.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if numbers[middle] < number { lower = middle + 1 } else { upper = middle }
    }
    return lower < numbers.count && numbers[lower] == number ? lower : nil
  }

  /// Returns the number of matching objects.
  func count() throws -> Int {
    if case .leaf(let leaf) = search.tree.root, search.tree.leaves[leaf].kind == .word,
      search.tree.leaves[leaf].fields == search.allFields
    {
      return leafCounts[leaf]
    }
    var count = 0
    for part in parts {
      guard let cursor = try TextEvaluation(self, part).cursor else { continue }
      try cursor.moveToNext()
      while cursor.row != TextCursor.end {
        if !part.pendingRows.contains(cursor.row) { count += 1 }
        try cursor.moveToNext()
      }
      count += part.pending.count { $0.after?.matches(search.tree) == true }
    }
    return count
  }

  /// Returns the most relevant objects, in descending order of relevance.
  ///
  /// Equally relevant objects are returned in creation order.
  func top(_ limit: Int) throws -> [Match] {
    guard limit > 0 else { return [] }
    // Keep the best matches in a heap whose first element is the least relevant match.
    var heap: [Match] = []
    func isLess(_ first: Match, _ second: Match) -> Bool {
      first.score != second.score
        ? first.score < second.score : second.number.isCreated(before: first.number)
    }
    try forEachMatch { number, score in
      if heap.count < limit {
        heap.append((number, score))
        var child = heap.count - 1
        while child > 0, isLess(heap[child], heap[(child - 1) / 2]) {
          heap.swapAt(child, (child - 1) / 2)
          child = (child - 1) / 2
        }
        return
      }
      guard isLess(heap[0], (number, score)) else { return }
      heap[0] = (number, score)
      var parent = 0
      while true {
        var least = parent
        for child in [2 * parent + 1, 2 * parent + 2]
        where child < heap.count && isLess(heap[child], heap[least]) {
          least = child
        }
        if least == parent { break }
        heap.swapAt(parent, least)
        parent = least
      }
    }
    return heap.sorted { isLess($1, $0) }
  }

  private func forEachMatch(_ body: (ObjectNumber, Double) -> Void) throws {
    for part in parts {
      for row in part.pending {
        guard let document = row.after, document.matches(search.tree) else { continue }
        body(
          ObjectNumber(entity: part.storage.number, row: row.row),
          document.score(search.tree, ranking))
      }
      let evaluation = try TextEvaluation(self, part)
      guard let cursor = evaluation.cursor else { continue }
      let (reader, entity) = (part.reader, part.storage.number)
      let scored = evaluation.scored
      try cursor.moveToNext()
      while cursor.row != TextCursor.end {
        let row = cursor.row
        if !part.pendingRows.isEmpty, part.pendingRows.contains(row) {
          try cursor.moveToNext()
          continue
        }
        let length = try reader.length(of: row)
        var score = 0.0
        for (leaf, own) in scored {
          if own.row < row { try own.seek(row) }
          if own.row == row {
            score += ranking.score(leaf, frequency: own.frequency, length: length)
          }
        }
        body(ObjectNumber(entity: entity, row: row), score)
        try cursor.moveToNext()
      }
    }
  }

  // MARK: Cursors

  /// The cursors for the rows of one entity.
  private struct TextEvaluation {
    private let run: TextRun
    private let part: Part
    private(set) var cursor: TextCursor?
    /// The query leaves that contribute to the relevance, in ascending order of their indices.
    ///
    /// Each leaf has a cursor that is at or before the current row.
    private(set) var scored: [(leaf: Int, cursor: TextLeafCursor)] = []
    private var used: [Int: TextLeafCursor] = [:]

    init(_ run: TextRun, _ part: Part) throws {
      self.run = run
      self.part = part
      guard let root = run.search.tree.root else { return }
      cursor = try node(root)
      let sharesCursors = TextSearchTree.isFlat(root)
      for leaf in run.search.tree.leaves.indices where run.search.tree.areScored[leaf] {
        // Create another cursor if cursors must not be shared, because a shared cursor could
        // already be past rows that other parts of the query match.
        guard sharesCursors, let own = used[leaf] else {
          scored.append((leaf, self.leaf(leaf)))
          continue
        }
        scored.append((leaf, own))
      }
    }

    private func leaf(_ position: Int) -> TextLeafCursor {
      switch part.leaves[position] {
      case .word(let entry):
        let leaf = run.search.tree.leaves[position]
        return TextWordCursor(
          part.reader, leaf.term, entry, weights: run.search.index.weights, fields: leaf.fields)
      case .list(let list): return TextListCursor(list)
      }
    }

    private mutating func usedLeaf(_ position: Int) -> TextLeafCursor {
      let cursor = leaf(position)
      if used[position] == nil { used[position] = cursor }
      return cursor
    }

    private mutating func node(_ node: TextSearchTree.Node) throws -> TextCursor {
      switch node {
      case .leaf(let position): return usedLeaf(position)
      case .phrase(let words):
        return together(words) { positions in
          try !TextSearchTree.starts(of: words, positions).isEmpty
        }
      case .near(let groups, let distance):
        return together(groups.flatMap { $0 }) { positions in
          try TextSearchTree.areNear(groups, distance: distance, positions)
        }
      case .any(let nodes): return TextUnion(try nodes.map { try self.node($0) })
      case .all(let nodes):
        var required: [(cursor: TextCursor, estimate: Int)] = []
        var excluded: [TextCursor] = []
        for node in nodes {
          if case .not(let operand) = node {
            excluded.append(try self.node(operand))
          } else {
            required.append((try self.node(node), estimate(node)))
          }
        }
        if required.isEmpty { required = [(try everyRow(), 0)] }
        required.sort { $0.estimate < $1.estimate }
        return TextIntersection(required.map(\.cursor), excluding: excluded)
      case .not(let operand):
        return TextIntersection([try everyRow()], excluding: [try self.node(operand)])
      }
    }

    /// Returns a cursor over the rows that contain all of `words` at positions that satisfy
    /// `accepts`.
    private mutating func together(
      _ words: [TextSearchTree.Word],
      _ accepts: @escaping ((Int) throws -> [UInt32]) throws -> Bool
    ) -> TextCursor {
      var cursors: [Int: TextLeafCursor] = [:]
      for word in words where cursors[word.leaf] == nil { cursors[word.leaf] = usedLeaf(word.leaf) }
      let order = cursors.keys.sorted { part.leaves[$0].count < part.leaves[$1].count }
      return TextIntersection(order.compactMap { cursors[$0] }) {
        try accepts { try cursors[$0]?.positions() ?? [] }
      }
    }

    private func everyRow() throws -> TextCursor {
      var rows: [Int64] = []
      try run.view.objects(part.storage)?.forEach { key, _ in
        rows.append(try key.lastKeyComponent())
        return true
      }
      return TextListCursor(TextRowList(rows: rows))
    }

    private func estimate(_ node: TextSearchTree.Node) -> Int {
      switch node {
      case .leaf(let position): part.leaves[position].count
      case .phrase(let words): words.map { part.leaves[$0.leaf].count }.min() ?? 0
      case .near(let groups, _): groups.joined().map { part.leaves[$0.leaf].count }.min() ?? 0
      case .all(let nodes): nodes.map { estimate($0) }.min() ?? 0
      case .any(let nodes): nodes.reduce(0) { min(Int.max / 2, $0 + estimate($1)) }
      case .not: Int.max / 2
      }
    }
  }
}

extension TextSearchTree {
  /// Returns whether matching and scoring can share the leaves' cursors.
  ///
  /// Sharing requires that a leaf's cursor never skips a matching row that contains the leaf. This
  /// is guaranteed only if the operands of every OR and NOT are leaves.
  fileprivate static func isFlat(_ node: Node) -> Bool {
    switch node {
    case .leaf, .phrase, .near: true
    case .not: false
    case .all(let nodes):
      nodes.allSatisfy { node in
        if case .not(let operand) = node { return isLeaf(operand) }
        return isFlat(node)
      }
    case .any(let nodes): nodes.allSatisfy { isLeaf($0) }
    }
  }

  private static func isLeaf(_ node: Node) -> Bool {
    if case .leaf = node { return true }
    return false
  }
}
