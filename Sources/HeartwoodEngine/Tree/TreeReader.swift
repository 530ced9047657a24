/// A value in a leaf, or a reference to the value if it is large.
///
/// The page that contains the value stays in memory until the caller releases the page.
package struct FoundValue {
  package let value: Bytes
  package let isOverflow: Bool
  package let reference: PageReference

  /// Creates the value of the entry at `slot` in `leaf`.
  ///
  /// - Parameter reference: The page that contains the leaf.
  @inline(__always)
  init(of slot: Int, in leaf: NodeView, _ reference: PageReference) {
    let cell = leaf.leafSlot(slot)
    value = leaf.value(inCell: cell)
    isOverflow = leaf.page.load16(cell &+ 2) & NodeLayout.overflowFlag != 0
    self.reference = reference
  }

  init(value: Bytes, isOverflow: Bool, reference: PageReference) {
    self.value = value
    self.isOverflow = isOverflow
    self.reference = reference
  }
}

/// A reader that looks up single keys in one tree, in one state of the store.
package struct TreeReader {
  package let view: PageView
  package let root: TreeRoot

  @inline(__always)
  package init(view: PageView, root: TreeRoot) {
    self.view = view
    self.root = root
  }

  /// Returns the value of a key, or `nil` if the key does not exist.
  ///
  /// The caller must release the value's page.
  @inline(__always)
  package func find(_ key: SearchKey) throws(StorageError) -> FoundValue? {
    var reference = try view.root(root)
    var node = NodeView(reference.bytes)
    var level = node.level
    var lines: UInt64 = 0
    while level > 0 {
      let number = node.child(NodeSearch.childSlot(node, key))
      view.release(reference)
      level &-= 1
      reference = try view.node(number, tree: root.tree, level: level)
      if level == 0 { lines = reference.bytes.touchedLines }
      node = NodeView(reference.bytes)
    }
    let (slot, found) = NodeSearch.leafSlot(node, key, lines)
    guard found else {
      view.release(reference)
      return nil
    }
    return FoundValue(of: slot, in: node, reference)
  }
}
