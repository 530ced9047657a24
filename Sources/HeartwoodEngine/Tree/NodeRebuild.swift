/// The entries of one or two nodes that are being rebuilt, with at most one entry added or
/// replaced.
///
/// Any range of the entries can be written to any page other than the source pages. Each written
/// node has its own prefix.
package struct NodeRebuild {
  let left: NodeView
  let right: NodeView?
  let edit: NodeEntry?
  let editPosition: Int
  let editInserts: Bool
  let isLeaf: Bool
  let workspace: TreeWorkspace

  /// Creates a rebuild of `node` in which `entry` is inserted at `position` or replaces the entry
  /// at that position.
  init(
    _ node: NodeView, _ entry: NodeEntry, at position: Int, inserting: Bool,
    _ workspace: TreeWorkspace
  ) {
    left = node
    right = nil
    edit = entry
    editPosition = position
    editInserts = inserting
    isLeaf = node.isLeaf
    self.workspace = workspace
  }

  /// Creates a rebuild of two neighbouring nodes, without changing their entries.
  ///
  /// In branches, `separator` is the right node's first key.
  init(_ left: NodeView, _ right: NodeView, separator: SearchKey, _ workspace: TreeWorkspace) {
    self.left = left
    self.right = right
    isLeaf = left.isLeaf
    edit = isLeaf ? nil : NodeEntry(key: separator, child: right.child(0))
    editPosition = isLeaf ? -1 : left.count
    editInserts = false
    self.workspace = workspace
  }

  var count: Int { left.count + (right?.count ?? 0) + (editInserts ? 1 : 0) }

  /// Returns the source node of an unedited entry, and the index of the entry in that node.
  @inline(__always)
  private func source(_ position: Int) -> (node: NodeView, index: Int) {
    let index = editInserts && position > editPosition ? position - 1 : position
    guard let right, index >= left.count else { return (left, index) }
    return (right, index - left.count)
  }

  // MARK: Sizes

  private func byteCount(_ position: Int, prefixCount: Int) -> Int {
    if let edit, position == editPosition {
      return (isLeaf ? NodeLayout.leafEntryByteCount : NodeLayout.branchEntryByteCount)
        + edit.cellByteCount(prefixCount: prefixCount, isLeaf: isLeaf)
    }
    let (node, index) = source(position)
    let suffixCount = node.suffixCount(index)
    let rest = max(0, node.prefixCount + suffixCount - prefixCount - 8)
    if isLeaf {
      let value = node.cellByteCount(index) - max(0, suffixCount - 8)
      return NodeLayout.leafEntryByteCount + rest + value
    }
    return NodeLayout.branchEntryByteCount
      + (rest > 0 ? NodeLayout.branchCellHeaderByteCount + rest : 0)
  }

  /// Returns the number of bytes that the entries of `range` and the prefix use in a node.
  func usedByteCount(_ range: Range<Int>, prefixCount: Int) -> Int {
    var total = NodeLayout.headsOffset(prefixLength: prefixCount) - NodeLayout.prefixOffset
    for position in range {
      total +=
        !isLeaf && position == range.lowerBound
        ? NodeLayout.branchEntryByteCount : byteCount(position, prefixCount: prefixCount)
    }
    return total
  }

  /// Returns the length of the prefix that the first and last keys of `range` share.
  ///
  /// If necessary, the prefix is shortened so that at least eight bytes of the first key follow it,
  /// because future keys are more likely to start with a shorter prefix.
  func prefixCount(_ range: Range<Int>) -> Int {
    let first = isLeaf ? range.lowerBound : range.lowerBound + 1
    guard first < range.upperBound else { return 0 }
    let firstKey = key(first, in: workspace.firstKey)
    let lastKey = key(range.upperBound - 1, in: workspace.secondKey)
    return min(firstKey.commonPrefix(with: lastKey), max(0, firstKey.count - 8))
  }

  /// Returns the length of a prefix that lets the entries of `range` fit in a page, or `nil` if
  /// there is none.
  ///
  /// If the entries fit with the prefix from ``prefixCount(_:)``, the method returns the length of
  /// that prefix. Otherwise, the method tries `other` if it is not `nil`.
  ///
  /// - Parameter other: The length of a prefix that all keys in the range are known to share, or
  ///   `nil` if no such prefix is known.
  func fittingPrefixCount(_ range: Range<Int>, or other: Int?, pageByteCount: Int) -> Int? {
    let capacity = NodeLayout.capacity(pageByteCount: pageByteCount)
    let rule = prefixCount(range)
    if usedByteCount(range, prefixCount: rule) <= capacity { return rule }
    guard let other, usedByteCount(range, prefixCount: other) <= capacity else { return nil }
    return other
  }

  /// Returns the first position in `bounds` that is preceded by at least half of all bytes.
  ///
  /// If there is no such position, the method returns the end of `bounds`.
  func middle(prefixCount: Int, within bounds: ClosedRange<Int>) -> Int {
    let total = usedByteCount(0..<count, prefixCount: prefixCount)
    var (before, position) = (0, 0)
    while position < bounds.upperBound, before * 2 < total || position < bounds.lowerBound {
      before += byteCount(position, prefixCount: prefixCount)
      position += 1
    }
    return position
  }

  // MARK: Keys

  /// Writes the complete key of an entry to `target`, and returns the key.
  func key(_ position: Int, in target: MutableBytes) -> Bytes {
    if let edit, position == editPosition {
      target.copy(edit.key.bytes, to: 0)
      target.store64(0, edit.key.count)
      return target.bytes.slice(0, edit.key.count)
    }
    let (node, index) = source(position)
    return node.copyKey(index, to: target)
  }

  /// Returns a key that separates the entries before `position` from the rest.
  ///
  /// The key's bytes are stored in the workspace.
  ///
  /// For leaves, the result is the shortest such key. For branches, the result is the key at
  /// `position`, which moves up to the parent.
  func separator(before position: Int) -> SearchKey {
    let next = key(position, in: workspace.secondKey)
    var byteCount = next.count
    if isLeaf {
      let last = key(position - 1, in: workspace.firstKey)
      byteCount = min(next.count, last.commonPrefix(with: next) + 1)
    }
    let target = workspace.separator
    target.copy(next.slice(0, byteCount), to: 0)
    target.store64(0, byteCount)
    return SearchKey(target.bytes.slice(0, byteCount))
  }

  // MARK: Writing

  /// Writes a node with the entries of `range`.
  ///
  /// The entries must fit in the page and share the prefix.
  func write(_ range: Range<Int>, to page: MutableBytes, prefixCount: Int) {
    let editor = NodeEditor(page)
    editor.clear()
    let first = isLeaf ? range.lowerBound : range.lowerBound + 1
    let heads = NodeLayout.headsOffset(prefixLength: prefixCount)
    page.clear(NodeLayout.prefixOffset, heads - NodeLayout.prefixOffset)
    if first < range.upperBound {
      let key = key(first, in: workspace.firstKey)
      page.copy(key.slice(0, prefixCount), to: NodeLayout.prefixOffset)
    }
    page.store16(UInt16(range.count), NodeLayout.count.offset)
    page.store16(UInt16(prefixCount), NodeLayout.prefixLength.offset)
    var heapStart = page.count
    for position in range {
      let index = position - range.lowerBound
      let suffixCount: Int
      if !isLeaf && index == 0 {
        page.store64(0, heads)
        suffixCount = 0
      } else {
        suffixCount = writeEntry(
          position, index, to: page, prefixCount: prefixCount, heapStart: &heapStart)
      }
      if !isLeaf {
        page.store32(child(position), heads + range.count * 8 + index * 4)
        let slot = suffixCount > NodeLayout.maxCelllessSuffix ? heapStart : suffixCount
        page.store16(UInt16(slot), heads + range.count * 12 + index * 2)
      } else {
        page.store16(UInt16(heapStart), heads + range.count * 8 + index * 2)
      }
    }
    page.store32(UInt32(heapStart), NodeLayout.heapStart.offset)
    page.store32(UInt32(page.count - heapStart), NodeLayout.heapUsed.offset)
  }

  /// Writes the head and the cell of one entry, and returns the length of the entry's suffix.
  private func writeEntry(
    _ position: Int, _ index: Int, to page: MutableBytes, prefixCount: Int, heapStart: inout Int
  ) -> Int {
    let key = SearchKey(key(position, in: workspace.firstKey))
    let suffixCount = key.count - prefixCount
    let heads = NodeLayout.headsOffset(prefixLength: prefixCount)
    page.store64(key.head(skipping: prefixCount), heads + index * 8)
    guard isLeaf || suffixCount > NodeLayout.maxCelllessSuffix else { return suffixCount }
    let rest = max(0, suffixCount - 8)
    var front = NodeLayout.branchCellHeaderByteCount
    if isLeaf {
      front = NodeLayout.leafCellHeaderByteCount
      let (value, isOverflow) = value(position)
      heapStart -= front + rest + value.count
      page.store16(UInt16(value.count) | (isOverflow ? NodeLayout.overflowFlag : 0), heapStart + 2)
      page.copy(value, to: heapStart + front + rest)
    } else {
      heapStart -= front + rest
    }
    page.store16(UInt16(suffixCount), heapStart)
    if rest > 0 { page.copy(key.bytes.slice(prefixCount + 8, rest), to: heapStart + front) }
    return suffixCount
  }

  private func value(_ position: Int) -> (Bytes, isOverflow: Bool) {
    if let edit, position == editPosition { return (edit.value, edit.isOverflow) }
    let (node, index) = source(position)
    return (node.value(index), node.isOverflow(index))
  }

  private func child(_ position: Int) -> PageNumber {
    if let edit, position == editPosition { return edit.child }
    let (node, index) = source(position)
    return node.child(index)
  }
}
