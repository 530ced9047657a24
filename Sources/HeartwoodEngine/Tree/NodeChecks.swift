/// Functions that check the structure of a single page of a tree.
///
/// A process checks each page once, when the page is first read.
///
/// If the check succeeds, no accessor of ``NodeView`` reads out of bounds, and every search in the
/// page terminates. A reference to another page is checked whenever a descent follows it.
package enum NodeChecks {
  /// Returns a description of the first problem in the page, or `nil` if the page is intact.
  package static func check(_ page: Bytes) -> String? {
    let level = Int(page.load8(PageLayout.level.offset))
    switch PageKind(rawValue: page.load8(PageLayout.kind.offset)) {
    case .leaf:
      return level == 0 ? checkNode(page, isLeaf: true) : "A leaf has a level above 0."
    case .branch:
      guard level >= 1, level <= Limits.maxTreeLevel else {
        return "A branch has an invalid level."
      }
      return checkNode(page, isLeaf: false)
    case .overflow:
      return checkOverflow(page, level)
    case .overflowIndex:
      return checkOverflowIndex(page, level)
    case .bitmap, nil:
      return "A page of this kind cannot be part of a tree."
    }
  }

  private static func checkOverflow(_ page: Bytes, _ level: Int) -> String? {
    guard level == 0 else { return "An overflow page has a level above 0." }
    let count = Int(page.load32(OverflowLayout.payloadCount.offset))
    guard count > 0, count <= OverflowLayout.payloadCapacity(pageByteCount: page.count) else {
      return "An overflow page has an invalid number of value bytes."
    }
    return nil
  }

  private static func checkOverflowIndex(_ page: Bytes, _ level: Int) -> String? {
    guard level >= 1, level <= OverflowLayout.maxDepth else {
      return "An overflow index has an invalid depth."
    }
    let count = Int(page.load32(OverflowLayout.indexCount.offset))
    guard count > 0, count <= OverflowLayout.indexCapacity(pageByteCount: page.count) else {
      return "An overflow index has an invalid page count."
    }
    return nil
  }

  private static func checkNode(_ page: Bytes, isLeaf: Bool) -> String? {
    let node = NodeView(page)
    let heapStart = node.heapStart
    let width = isLeaf ? NodeLayout.leafEntryByteCount : NodeLayout.branchEntryByteCount
    guard node.prefixCount <= Limits.maxKeyByteCount else {
      return "The prefix of the node is too long."
    }
    guard heapStart <= page.count, node.heads + node.count * width <= heapStart else {
      return "The entries of the node do not fit between its prefix and its cells."
    }
    guard node.heapUsed <= page.count - heapStart else {
      return "The cells of the node take up more space than the node has."
    }
    return MutableBytes.withZeros(count: ByteClaims.mapByteCount(page.count)) { map in
      var cells = ByteClaims(map: map)
      return isLeaf
        ? checkLeaf(node, heapStart, &cells) : checkBranch(node, heapStart, &cells)
    }
  }

  private static func checkLeaf(
    _ node: NodeView, _ heapStart: Int, _ cells: inout ByteClaims
  ) -> String? {
    let page = node.page
    let header = NodeLayout.leafCellHeaderByteCount
    let maxSuffix = Limits.maxKeyByteCount - node.prefixCount
    var previous: UInt64 = 0
    for index in 0..<node.count {
      let cell = node.leafSlot(index)
      guard cell >= heapStart, cell + header <= page.count else {
        return "A slot points outside the cell area."
      }
      let suffix = Int(page.load16(cell))
      let value = page.load16(cell + 2)
      let valueCount = Int(value & ~NodeLayout.overflowFlag)
      let cellByteCount = header + max(0, suffix - 8) + valueCount
      guard suffix <= maxSuffix else { return "A key is too long." }
      guard cell + cellByteCount <= page.count else {
        return "A cell extends past the end of the page."
      }
      if value & NodeLayout.overflowFlag != 0 {
        guard valueCount == OverflowLayout.referenceByteCount else {
          return "An overflow reference has the wrong length."
        }
      } else {
        guard
          NodeLayout.fitsInline(
            keyCount: node.prefixCount + suffix, valueCount: valueCount, pageByteCount: page.count)
        else { return "A leaf contains a value that is too large for a leaf." }
      }
      let head = node.head(index)
      guard isPadded(head, suffix) else {
        return "An abbreviated key is longer than the key that it abbreviates."
      }
      if index > 0, head <= previous, head < previous || !isTieAscending(node, index) {
        return "The keys of the leaf are not in ascending order."
      }
      previous = head
      guard cells.claim(cell, cellByteCount) else { return "Two cells of the leaf overlap." }
    }
    return cells.count == node.heapUsed
      ? nil : "The sizes of the leaf's cells do not add up to the total in the node."
  }

  private static func checkBranch(
    _ node: NodeView, _ heapStart: Int, _ cells: inout ByteClaims
  ) -> String? {
    let page = node.page
    let header = NodeLayout.branchCellHeaderByteCount
    let maxSuffix = Limits.maxKeyByteCount - node.prefixCount
    guard node.count >= 1 else { return "A branch has no children." }
    guard node.head(0) == 0, node.branchSlot(0) == 0 else {
      return "The first entry of a branch has a key, but must not have one."
    }
    var previous: UInt64 = 0
    for index in 1..<max(node.count, 1) {
      let slot = node.branchSlot(index)
      var suffix = slot
      if slot > NodeLayout.maxCelllessSuffix {
        guard slot >= heapStart, slot + header <= page.count else {
          return "A slot points outside the cell area."
        }
        suffix = Int(page.load16(slot))
        guard suffix > NodeLayout.maxCelllessSuffix else {
          return "A branch cell contains a key that is short enough to be stored without a cell."
        }
        let cellByteCount = header + suffix - 8
        guard slot + cellByteCount <= page.count else {
          return "A cell extends past the end of the page."
        }
        guard cells.claim(slot, cellByteCount) else {
          return "Two cells of the branch overlap."
        }
      }
      guard suffix <= maxSuffix else { return "A key is too long." }
      let head = node.head(index)
      guard isPadded(head, suffix) else {
        return "An abbreviated key is longer than the key that it abbreviates."
      }
      if index > 1, head <= previous, head < previous || !isTieAscending(node, index) {
        return "The separators of the branch are not in ascending order."
      }
      previous = head
    }
    return cells.count == node.heapUsed
      ? nil : "The sizes of the branch's cells do not add up to the total in the node."
  }

  /// Returns whether all bytes after the first `count` bytes of a head are zero.
  @inline(__always)
  private static func isPadded(_ head: UInt64, _ count: Int) -> Bool {
    count >= 8 || head << UInt64(count * 8) == 0
  }

  /// Returns whether the entry at `index` sorts after the previous entry, which has the same head.
  private static func isTieAscending(_ node: NodeView, _ index: Int) -> Bool {
    let order = node.rest(index - 1).compare(node.rest(index))
    if order != 0 { return order < 0 }
    return node.suffixCount(index - 1) < node.suffixCount(index)
  }
}
