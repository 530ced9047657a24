/// An entry to store in a node.
///
/// In a leaf, an entry consists of a key and a value. In a branch, it consists of a key and a
/// child.
package struct NodeEntry {
  package let key: SearchKey
  package let value: Bytes
  package let isOverflow: Bool
  package let child: PageNumber

  /// Creates a leaf entry.
  ///
  /// For an overflow entry, `value` is the reference to a large value.
  package init(key: SearchKey, value: Bytes, isOverflow: Bool) {
    self.key = key
    self.value = value
    self.isOverflow = isOverflow
    child = 0
  }

  package init(key: SearchKey, child: PageNumber) {
    self.key = key
    self.child = child
    value = Bytes.empty
    isOverflow = false
  }

  /// Returns the size of the entry's cell in a node, or 0 if the entry needs no cell there.
  ///
  /// The size depends on the length of the node's prefix.
  package func cellByteCount(prefixCount: Int, isLeaf: Bool) -> Int {
    let suffixCount = key.count - prefixCount
    let rest = max(0, suffixCount - 8)
    if isLeaf { return NodeLayout.leafCellHeaderByteCount + rest + value.count }
    return suffixCount > NodeLayout.maxCelllessSuffix
      ? NodeLayout.branchCellHeaderByteCount + rest : 0
  }
}
