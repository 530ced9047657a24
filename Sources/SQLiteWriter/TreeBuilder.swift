/// A builder that creates a b-tree bottom-up from keys in ascending order.
///
/// A page is written when it is full and the next key has arrived. Only one page per level is kept
/// in memory. See <https://www.sqlite.org/fileformat2.html>, § 1.6.
///
/// In the tree of a table, rows are only in leaves, and interior pages contain rowids. In the tree
/// of an index, each key is in exactly one page: a key between two leaves is in the interior page
/// above them.
struct TreeBuilder: ~Copyable {
  /// An interior page that is being filled.
  private struct Level {
    var node: TreeNode
    /// The right child if the page is full, or 0 otherwise.
    ///
    /// A full page is kept until another child is added to the level. If that child turns out to be
    /// the level's last child, the new page takes over a cell from the full page, because every
    /// interior page must contain at least one cell.
    var right: UInt32 = 0
    /// The separator between this page and the next page.
    var rightSeparator: [UInt8] = []
  }

  private let output: PageOutput
  private let interiorKind: SQLiteFormat.PageKind
  private var leaf: TreeNode
  private var levels: [Level] = []
  private var lastRowid: Int64 = 0
  /// The cell of the key that follows a full index leaf, or an empty array if there is none.
  private var heldCell: [UInt8] = []
  private var cell: [UInt8] = []

  /// Creates a builder for a table.
  init(tableIn output: PageOutput) {
    self.output = output
    interiorKind = .tableInterior
    leaf = TreeNode(.tableLeaf)
  }

  /// Creates a builder for an index, or for a table without rowids.
  init(indexIn output: PageOutput) {
    self.output = output
    interiorKind = .indexInterior
    leaf = TreeNode(.indexLeaf)
  }

  // MARK: Tables

  /// Appends a row to a table.
  ///
  /// - Precondition: `rowid` is greater than the rowid of the previous row, and the row is
  ///   complete.
  mutating func append(
    _ row: borrowing SQLiteRow, rowid: Int64
  ) throws(SQLiteWriterError) {
    let rowidBits = UInt64(bitPattern: rowid)
    let recordByteCount = row.recordByteCount
    let localByteCount = SQLiteFormat.localByteCount(of: recordByteCount, .tableLeaf)
    let isComplete = localByteCount == recordByteCount
    let cellByteCount =
      SQLiteFormat.varintByteCount(UInt64(recordByteCount))
      + SQLiteFormat.varintByteCount(rowidBits) + localByteCount + (isComplete ? 0 : 4)
    if !leaf.canHold(byteCount: cellByteCount) {
      let page = try output.append(leaf)
      var separator: [UInt8] = []
      separator.appendVarint(UInt64(bitPattern: lastRowid))
      try add(page, separator, level: 0)
      leaf.removeAll()
    }
    lastRowid = rowid
    guard isComplete else {
      try appendLarge(row, rowidBits, localByteCount)
      return
    }
    leaf.appendCell { cells in
      cells.appendVarint(UInt64(recordByteCount))
      cells.appendVarint(rowidBits)
      row.appendHeader(to: &cells)
      cells.append(contentsOf: row.body)
    }
  }

  private mutating func appendLarge(
    _ row: borrowing SQLiteRow, _ rowidBits: UInt64, _ localByteCount: Int
  ) throws(SQLiteWriterError) {
    var payload: [UInt8] = []
    payload.reserveCapacity(row.recordByteCount)
    row.appendHeader(to: &payload)
    payload.append(contentsOf: row.body)
    let overflow = try output.appendOverflow(payload, from: localByteCount)
    leaf.appendCell { cells in
      cells.appendVarint(UInt64(payload.count))
      cells.appendVarint(rowidBits)
      cells.append(contentsOf: payload[..<localByteCount])
      cells.appendBigEndian(UInt64(overflow), byteCount: 4)
    }
  }

  // MARK: Indexes

  /// Appends a record to an index.
  ///
  /// - Precondition: `record` sorts after the previous record.
  mutating func append(_ record: [UInt8]) throws(SQLiteWriterError) {
    try encodeCell(record)
    if !heldCell.isEmpty {
      let page = try output.append(leaf)
      try add(page, heldCell, level: 0)
      leaf.removeAll()
      heldCell.removeAll(keepingCapacity: true)
    } else if !leaf.canHold(byteCount: max(cell.count, 4)) {
      heldCell.append(contentsOf: cell)
      return
    }
    leaf.appendCell(padding: cell)
  }

  private mutating func encodeCell(_ record: [UInt8]) throws(SQLiteWriterError) {
    let localByteCount = SQLiteFormat.localByteCount(of: record.count, .indexLeaf)
    cell.removeAll(keepingCapacity: true)
    cell.appendVarint(UInt64(record.count))
    cell.append(contentsOf: record[..<localByteCount])
    if localByteCount < record.count {
      let overflow = try output.appendOverflow(record, from: localByteCount)
      cell.appendBigEndian(UInt64(overflow), byteCount: 4)
    }
  }

  // MARK: Interior pages

  /// Adds to a level a child page and the separator after it.
  ///
  /// Creates the level if needed.
  private mutating func add(
    _ child: UInt32, _ separator: [UInt8], level: Int
  ) throws(SQLiteWriterError) {
    if level == levels.count { levels.append(Level(node: TreeNode(interiorKind))) }
    if levels[level].right != 0 {
      let page = try output.append(levels[level].node, rightChild: levels[level].right)
      let upperSeparator = levels[level].rightSeparator
      levels[level] = Level(node: TreeNode(interiorKind))
      levels[level].node.appendCell(child: child, separator: separator)
      try add(page, upperSeparator, level: level + 1)
    } else if levels[level].node.canHold(byteCount: 4 + separator.count) {
      levels[level].node.appendCell(child: child, separator: separator)
    } else {
      levels[level].right = child
      levels[level].rightSeparator = separator
    }
  }

  /// Completes the tree, and returns the number of its root page.
  consuming func finish() throws(SQLiteWriterError) -> UInt32 {
    let (root, rightChild) = try finishBelowRoot()
    return try output.append(root, rightChild: rightChild)
  }

  /// Writes all pages except the root.
  mutating func finishBelowRoot() throws(SQLiteWriterError) -> (root: TreeNode, right: UInt32) {
    if !heldCell.isEmpty {
      // The last key cannot be a separator, because the leaf after it would be empty, and only the
      // root may be empty. Put this key in a new leaf, and make the preceding key the separator.
      let separator = leaf.removeLastCell()
      let page = try output.append(leaf)
      leaf.removeAll()
      leaf.appendCell(padding: heldCell)
      try add(page, separator, level: 0)
    }
    var (root, rightChild) = (leaf, UInt32(0))
    var level = 0
    while level < levels.count {
      let lastChild = try output.append(root, rightChild: rightChild)
      if levels[level].right != 0 {
        let (child, separator) = levels[level].node.removeLastChild()
        let page = try output.append(levels[level].node, rightChild: child)
        let (right, rightSeparator) = (levels[level].right, levels[level].rightSeparator)
        levels[level] = Level(node: TreeNode(interiorKind))
        levels[level].node.appendCell(child: right, separator: rightSeparator)
        try add(page, separator, level: level + 1)
      }
      (root, rightChild) = (levels[level].node, lastChild)
      level += 1
    }
    return (root, rightChild)
  }
}
