/// A view for reading the entries of a leaf or a branch that has passed ``NodeChecks``.
package struct NodeView {
  package let page: Bytes
  package let count: Int
  package let prefixCount: Int
  /// The offset of the heads.
  package let heads: Int

  @inline(__always)
  package init(_ page: Bytes) {
    self.page = page
    let counts = page.load32(NodeLayout.count.offset)
    count = Int(counts & 0xFFFF)
    prefixCount = Int(counts &>> 16)
    heads = NodeLayout.headsOffset(prefixLength: prefixCount)
  }

  @inline(__always)
  package var level: Int { Int(page.load8(PageLayout.level.offset)) }

  @inline(__always)
  package var isLeaf: Bool { page.load8(PageLayout.kind.offset) == PageKind.leaf.rawValue }

  @inline(__always)
  package var number: PageNumber { page.load32(PageLayout.page.offset) }

  package var prefix: Bytes { page.slice(NodeLayout.prefixOffset, prefixCount) }
  package var heapStart: Int { Int(page.load32(NodeLayout.heapStart.offset)) }
  package var heapUsed: Int { Int(page.load32(NodeLayout.heapUsed.offset)) }

  @inline(__always)
  package var entryByteCount: Int {
    isLeaf ? NodeLayout.leafEntryByteCount : NodeLayout.branchEntryByteCount
  }

  /// The number of bytes that the node uses for its prefix, its arrays and its live cells.
  package var usedByteCount: Int {
    heads - NodeLayout.prefixOffset + count * entryByteCount + heapUsed
  }

  @inline(__always)
  package func head(_ index: Int) -> UInt64 { page.load64(heads &+ index &* 8) }

  @inline(__always)
  package func child(_ index: Int) -> PageNumber {
    page.load32(heads &+ count &* 8 &+ index &* 4)
  }

  /// Returns the offset of a leaf entry's cell.
  @inline(__always)
  package func leafSlot(_ index: Int) -> Int {
    Int(page.load16(heads &+ count &* 8 &+ index &* 2))
  }

  /// Returns the offset of a branch entry's cell, or the length of the entry's suffix if the entry
  /// has no cell.
  @inline(__always)
  package func branchSlot(_ index: Int) -> Int {
    Int(page.load16(heads &+ count &* 12 &+ index &* 2))
  }

  @inline(__always)
  package func slot(_ index: Int) -> Int { isLeaf ? leafSlot(index) : branchSlot(index) }

  @inline(__always)
  package func suffixCount(_ index: Int) -> Int {
    if isLeaf { return Int(page.load16(leafSlot(index))) }
    let slot = branchSlot(index)
    return slot <= NodeLayout.maxCelllessSuffix ? slot : Int(page.load16(slot))
  }

  /// Returns the bytes of an entry's key that follow the node's prefix and the eight bytes of the
  /// head.
  @inline(__always)
  package func rest(_ index: Int) -> Bytes {
    if isLeaf {
      let slot = leafSlot(index)
      return page.slice(
        slot &+ NodeLayout.leafCellHeaderByteCount, max(0, Int(page.load16(slot)) &- 8))
    }
    let slot = branchSlot(index)
    guard slot > NodeLayout.maxCelllessSuffix else { return Bytes.empty }
    return page.slice(
      slot &+ NodeLayout.branchCellHeaderByteCount, max(0, Int(page.load16(slot)) &- 8))
  }

  /// Returns the value of a leaf entry, or a reference to the value if it is large.
  @inline(__always)
  package func value(_ index: Int) -> Bytes { value(inCell: leafSlot(index)) }

  @inline(__always)
  package func value(inCell cell: Int) -> Bytes {
    let lengths = page.load32(cell)
    let rest = max(0, Int(lengths & 0xFFFF) &- 8)
    let count = Int((lengths &>> 16) & 0x7FFF)
    return page.slice(cell &+ NodeLayout.leafCellHeaderByteCount &+ rest, count)
  }

  /// Returns whether the cell of a leaf entry contains an overflow reference.
  @inline(__always)
  package func isOverflow(_ index: Int) -> Bool {
    page.load16(leafSlot(index) &+ 2) & NodeLayout.overflowFlag != 0
  }

  /// Returns whether an entry of a leaf has the same head and cell as an entry of another leaf.
  @inline(__always)
  package func hasSameEntry(_ index: Int, as other: NodeView, _ otherIndex: Int) -> Bool {
    guard head(index) == other.head(otherIndex) else { return false }
    let (cell, otherCell) = (leafSlot(index), other.leafSlot(otherIndex))
    let count = cellByteCount(index)
    return page.load32(cell) == other.page.load32(otherCell)
      && page.slice(cell, count).equals(other.page.slice(otherCell, count))
  }

  /// Returns the size of an entry's cell, or 0 if the entry has no cell.
  package func cellByteCount(_ index: Int) -> Int {
    let slot = slot(index)
    guard slot > NodeLayout.maxCelllessSuffix else { return 0 }
    let rest = max(0, Int(page.load16(slot)) - 8)
    guard isLeaf else { return NodeLayout.branchCellHeaderByteCount + rest }
    let value = Int(page.load16(slot + 2) & ~NodeLayout.overflowFlag)
    return NodeLayout.leafCellHeaderByteCount + rest + value
  }

  /// Writes an entry's complete key and eight zero bytes to `target`, and returns the key.
  package func copyKey(_ index: Int, to target: MutableBytes) -> Bytes {
    target.copy(prefix, to: 0)
    return copySuffix(index, to: target)
  }

  /// Completes an entry's key in `target`, adds eight zero bytes, and returns the key.
  ///
  /// The prefix must already be at the start of `target`.
  @inline(__always)
  package func copySuffix(_ index: Int, to target: MutableBytes) -> Bytes {
    let suffixCount = suffixCount(index)
    target.storeBigEndian64(head(index), prefixCount)
    if suffixCount > 8 { target.copy(rest(index), to: prefixCount &+ 8) }
    let keyCount = prefixCount &+ suffixCount
    target.store64(0, keyCount)
    return target.bytes.slice(0, keyCount)
  }
}
