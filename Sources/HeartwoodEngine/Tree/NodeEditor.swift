/// An editor that changes a node in place.
///
/// A new entry must fit in the node, and its key must start with the node's prefix. Otherwise, the
/// node must be rebuilt or split.
package struct NodeEditor {
  package let page: MutableBytes

  package init(_ page: MutableBytes) { self.page = page }

  package var node: NodeView { NodeView(page.bytes) }

  package func clear() {
    page.clear(NodeLayout.count.offset, NodeLayout.prefixOffset - NodeLayout.count.offset)
    page.store32(UInt32(page.count), NodeLayout.heapStart.offset)
  }

  /// Inserts an entry before the entry at `slot`.
  ///
  /// The method returns `false` and leaves the node unchanged if it has no room for the entry, if
  /// it has no keys yet, or if the key does not start with its prefix.
  package func insert(_ entry: NodeEntry, at slot: Int) -> Bool {
    let node = node
    let isLeaf = node.isLeaf
    guard node.count > (isLeaf ? 0 : 1), NodeSearch.prefixOrder(node, entry.key) == 0 else {
      return false
    }
    let cellByteCount = entry.cellByteCount(prefixCount: node.prefixCount, isLeaf: isLeaf)
    let width = isLeaf ? NodeLayout.leafEntryByteCount : NodeLayout.branchEntryByteCount
    let arraysEnd = node.heads + (node.count + 1) * width
    guard arraysEnd + node.heapUsed + cellByteCount <= page.count else { return false }
    if arraysEnd + cellByteCount > node.heapStart { compact() }
    open(slot, in: node, isLeaf: isLeaf)
    write(entry, at: slot, cellByteCount: cellByteCount)
    return true
  }

  package func remove(at slot: Int) {
    let node = node
    freeCell(at: slot, of: node)
    close(slot, in: node, isLeaf: node.isLeaf)
  }

  /// Replaces the value of the leaf entry at `slot`.
  ///
  /// - Returns: `false` if the node has no room for the new value.
  package func replaceValue(at slot: Int, with value: Bytes, isOverflow: Bool) -> Bool {
    let node = node
    let cell = node.leafSlot(slot)
    let oldByteCount = node.cellByteCount(slot)
    let suffixCount = node.suffixCount(slot)
    let front = NodeLayout.leafCellHeaderByteCount + max(0, suffixCount - 8)
    let byteCount = front + value.count
    let arraysEnd = node.heads + node.count * NodeLayout.leafEntryByteCount
    guard arraysEnd + node.heapUsed - oldByteCount + byteCount <= page.count else { return false }
    let lengths = UInt16(value.count) | (isOverflow ? NodeLayout.overflowFlag : 0)
    if byteCount <= oldByteCount {
      page.store16(lengths, cell + 2)
      page.copy(value, to: cell + front)
      setHeap(start: node.heapStart, used: node.heapUsed - oldByteCount + byteCount)
      return true
    }
    if node.heapStart - byteCount < arraysEnd {
      // Keep the old cell during the compaction, because the cell contains bytes of the key.
      // Truncate the old value first to make room for the new value.
      page.store16(0, cell + 2)
      setHeap(start: node.heapStart, used: node.heapUsed - oldByteCount + front)
      return replaceByRewriting(slot, with: value, lengths: lengths, front: front)
    }
    let target = node.heapStart - byteCount
    page.move(from: cell, to: target, byteCount: front)
    page.store16(lengths, target + 2)
    page.copy(value, to: target + front)
    page.store16(UInt16(target), slotOffset(slot, of: node))
    setHeap(start: target, used: node.heapUsed - oldByteCount + byteCount)
    return true
  }

  package func setChild(_ slot: Int, to child: PageNumber) {
    let node = node
    page.store32(child, node.heads + node.count * NodeLayout.headByteCount + slot * 4)
  }

  /// Sets the root page of the large value that the leaf entry at `slot` refers to.
  package func setOverflowRoot(_ slot: Int, to root: PageNumber) {
    let node = node
    let rest = max(0, node.suffixCount(slot) - 8)
    let reference = node.leafSlot(slot) + NodeLayout.leafCellHeaderByteCount + rest
    page.store32(root, reference + OverflowLayout.root.offset)
  }

  /// Compacts the node, and then replaces a value with a longer value.
  ///
  /// The compaction moves the entry's cell to the lowest offset, so that the cell can grow into the
  /// free bytes before it.
  private func replaceByRewriting(
    _ slot: Int, with value: Bytes, lengths: UInt16, front: Int
  ) -> Bool {
    compact(lowest: slot)
    let node = node
    let cell = node.leafSlot(slot)
    let target = cell - value.count
    page.move(from: cell, to: target, byteCount: front)
    page.store16(lengths, target + 2)
    page.copy(value, to: target + front)
    page.store16(UInt16(target), slotOffset(slot, of: node))
    setHeap(start: target, used: node.heapUsed + value.count)
    return true
  }

  /// Packs the cells at the end of the page, leaving no gaps.
  ///
  /// If `lowest` is given, the cell of the entry at this index is placed at the lowest offset.
  package func compact(lowest: Int? = nil) {
    let node = node
    let start = node.heapStart
    let copy = ByteBlock(count: page.count - start, alignment: 16)
    copy.bytes.copy(page.bytes.slice(start, page.count - start), to: 0)
    var target = page.count
    for index in 0..<node.count where index != lowest {
      move(index, of: node, from: copy.bytes.bytes, copiedFrom: start, below: &target)
    }
    if let lowest {
      move(lowest, of: node, from: copy.bytes.bytes, copiedFrom: start, below: &target)
    }
    // Keep the copy alive until here, because `Bytes` does not retain the memory.
    withExtendedLifetime(copy) {}
    setHeap(start: target, used: page.count - target)
  }

  private func move(
    _ index: Int, of node: NodeView, from copy: Bytes, copiedFrom start: Int,
    below target: inout Int
  ) {
    let slot = node.slot(index)
    guard slot > NodeLayout.maxCelllessSuffix else { return }
    // Read the lengths from the copy, because the cell itself may already have been overwritten.
    let cell = slot - start
    let rest = max(0, Int(copy.load16(cell)) - 8)
    let byteCount =
      node.isLeaf
      ? NodeLayout.leafCellHeaderByteCount + rest
        + Int(copy.load16(cell + 2) & ~NodeLayout.overflowFlag)
      : NodeLayout.branchCellHeaderByteCount + rest
    target -= byteCount
    page.copy(copy.slice(cell, byteCount), to: target)
    page.store16(UInt16(target), slotOffset(index, of: node))
  }

  // MARK: Helpers

  private func slotOffset(_ index: Int, of node: NodeView) -> Int {
    node.heads + node.count * (node.entryByteCount - NodeLayout.slotByteCount) + index * 2
  }

  private func setHeap(start: Int, used: Int) {
    // If no cells are left, the whole heap is free, regardless of `start`.
    page.store32(UInt32(used == 0 ? page.count : start), NodeLayout.heapStart.offset)
    page.store32(UInt32(used), NodeLayout.heapUsed.offset)
  }

  private func freeCell(at slot: Int, of node: NodeView) {
    let byteCount = node.cellByteCount(slot)
    guard byteCount > 0 else { return }
    let start = node.heapStart
    setHeap(
      start: node.slot(slot) == start ? start + byteCount : start, used: node.heapUsed - byteCount)
  }

  /// Writes an entry and its cell into the gap that ``open(_:in:isLeaf:)`` has made at `slot`.
  private func write(_ entry: NodeEntry, at slot: Int, cellByteCount: Int) {
    let node = node
    let suffixCount = entry.key.count - node.prefixCount
    page.store64(entry.key.head(skipping: node.prefixCount), node.heads + slot * 8)
    if !node.isLeaf { page.store32(entry.child, node.heads + node.count * 8 + slot * 4) }
    guard cellByteCount > 0 else {
      page.store16(UInt16(suffixCount), slotOffset(slot, of: node))
      return
    }
    let cell = node.heapStart - cellByteCount
    var end = cell + NodeLayout.branchCellHeaderByteCount
    page.store16(UInt16(suffixCount), cell)
    if node.isLeaf {
      let flag = entry.isOverflow ? NodeLayout.overflowFlag : 0
      page.store16(UInt16(entry.value.count) | flag, end)
      end = cell + NodeLayout.leafCellHeaderByteCount
    }
    if suffixCount > 8 {
      page.copy(entry.key.bytes.slice(node.prefixCount + 8, suffixCount - 8), to: end)
      end += suffixCount - 8
    }
    page.copy(entry.value, to: end)
    page.store16(UInt16(cell), slotOffset(slot, of: node))
    setHeap(start: cell, used: node.heapUsed + cellByteCount)
  }

  /// Makes room for an entry at `slot`.
  ///
  /// The method moves the last bytes first, so that no bytes are overwritten before they are moved.
  private func open(_ slot: Int, in node: NodeView, isLeaf: Bool) {
    let after = node.count - slot
    let children = node.heads + node.count * 8
    let slots = isLeaf ? children : children + node.count * 4
    let shift = isLeaf ? 8 : 12
    if after > 0 {
      page.move(from: slots + slot * 2, to: slots + slot * 2 + shift + 2, byteCount: after * 2)
    }
    page.move(from: slots, to: slots + shift, byteCount: slot * 2)
    if !isLeaf {
      page.move(from: children + slot * 4, to: children + slot * 4 + 12, byteCount: after * 4)
      page.move(from: children, to: children + 8, byteCount: slot * 4)
    }
    if after > 0 {
      let headOffset = node.heads + slot * 8
      page.move(from: headOffset, to: headOffset + 8, byteCount: after * 8)
    }
    page.store16(UInt16(node.count + 1), NodeLayout.count.offset)
  }

  /// Removes the entry at `slot`.
  ///
  /// The method moves the first bytes first, so that no bytes are overwritten before they are
  /// moved.
  private func close(_ slot: Int, in node: NodeView, isLeaf: Bool) {
    let after = node.count - slot - 1
    let children = node.heads + node.count * 8
    let slots = isLeaf ? children : children + node.count * 4
    let shift = isLeaf ? 8 : 12
    let headOffset = node.heads + slot * 8
    page.move(from: headOffset + 8, to: headOffset, byteCount: after * 8)
    if !isLeaf {
      page.move(from: children, to: children - 8, byteCount: slot * 4)
      page.move(from: children + slot * 4 + 4, to: children + slot * 4 - 8, byteCount: after * 4)
    }
    page.move(from: slots, to: slots - shift, byteCount: slot * 2)
    page.move(from: slots + slot * 2 + 2, to: slots + slot * 2 - shift, byteCount: after * 2)
    page.store16(UInt16(node.count - 1), NodeLayout.count.offset)
  }
}
