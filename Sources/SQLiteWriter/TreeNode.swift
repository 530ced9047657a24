/// A b-tree page that is being filled.
///
///     ┌────────┬──────────────┬────────┬──────────────────────────┐
///     │ header │ pointers …   │ unused │ … cells                  │
///     └────────┴──────────────┴────────┴──────────────────────────┘
///
/// The cells are at the end of the page, in order and without gaps. SQLite's file format does not
/// prescribe their order (<https://www.sqlite.org/fileformat2.html>, § 1.6). With this order, both
/// the pointers and the cells can be appended.
struct TreeNode {
  let kind: SQLiteFormat.PageKind
  private(set) var cells: [UInt8] = []
  /// The offset of each cell in ``cells``.
  private var offsets: [UInt16] = []

  init(_ kind: SQLiteFormat.PageKind) {
    self.kind = kind
    cells.reserveCapacity(SQLiteFormat.pageByteCount)
    offsets.reserveCapacity(SQLiteFormat.pageByteCount / 8)
  }

  var isEmpty: Bool { offsets.isEmpty }

  /// Returns whether there is room for one more cell of `byteCount` bytes.
  @inline(__always)
  func canHold(byteCount: Int) -> Bool {
    usedByteCount + 2 + byteCount <= SQLiteFormat.pageByteCount
  }

  /// The number of bytes of the page that are in use, including the header.
  @inline(__always)
  var usedByteCount: Int { kind.headerByteCount + 2 * offsets.count + cells.count }

  mutating func removeAll() {
    cells.removeAll(keepingCapacity: true)
    offsets.removeAll(keepingCapacity: true)
  }

  /// Appends a cell by calling `write`, which appends the bytes of the cell.
  @inline(__always)
  mutating func appendCell(_ write: (inout [UInt8]) -> Void) {
    offsets.append(UInt16(truncatingIfNeeded: cells.count))
    write(&cells)
  }

  /// Appends an interior cell, which consists of the number of a child page and a separator.
  ///
  /// The child page contains the keys up to the separator.
  mutating func appendCell(child: UInt32, separator: [UInt8]) {
    appendCell { cells in
      cells.appendBigEndian(UInt64(child), byteCount: 4)
      cells.append(contentsOf: separator)
    }
  }

  /// Appends a cell to an index leaf.
  ///
  /// A cell occupies at least 4 bytes, so that SQLite can put the space on the list of free blocks
  /// when it deletes the cell. Only a record with a single value can have a shorter cell.
  mutating func appendCell(padding cell: [UInt8]) {
    appendCell { cells in
      cells.append(contentsOf: cell)
      cells.appendZeros(max(TreeNode.minimumCellByteCount - cell.count, 0))
    }
  }

  /// Removes the last cell of an index leaf, and returns the cell without padding.
  mutating func removeLastCell() -> [UInt8] {
    var cell = removeLast()
    // Remove any padding. The first byte is the length of the payload that follows.
    if cell.count == Self.minimumCellByteCount, Int(cell[0]) + 1 < cell.count {
      cell.removeSubrange((Int(cell[0]) + 1)...)
    }
    return cell
  }

  /// Removes and returns the last cell of an interior page.
  mutating func removeLastChild() -> (child: UInt32, separator: [UInt8]) {
    let cell = removeLast()
    let child = cell.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    return (child, Array(cell.dropFirst(4)))
  }

  private mutating func removeLast() -> [UInt8] {
    let start = Int(offsets.removeLast())
    let cell = Array(cells[start...])
    cells.removeSubrange(start...)
    return cell
  }

  /// Appends the page to `target`.
  ///
  /// - Parameters:
  ///   - rightChild: For an interior page, the child with the keys after the last cell.
  ///   - start: The number of bytes of the page that `target` already contains: the length of the
  ///     file header for page 1, or 0 for any other page.
  func append(to target: inout [UInt8], rightChild: UInt32, after start: Int = 0) {
    let contentStart = SQLiteFormat.pageByteCount - cells.count
    target.append(kind.rawValue)
    target.appendZeros(2)  // There are no free blocks.
    target.appendBigEndian(UInt64(offsets.count), byteCount: 2)
    target.appendBigEndian(UInt64(contentStart), byteCount: 2)
    target.append(0)  // There are no fragments.
    if kind.isInterior { target.appendBigEndian(UInt64(rightChild), byteCount: 4) }
    for offset in offsets {
      target.appendBigEndian(UInt64(contentStart + Int(offset)), byteCount: 2)
    }
    target.appendZeros(SQLiteFormat.pageByteCount - start - usedByteCount)
    target.append(contentsOf: cells)
  }

  private static let minimumCellByteCount = 4
}
