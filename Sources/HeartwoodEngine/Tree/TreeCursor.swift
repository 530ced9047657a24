/// A position in a tree that moves from key to key in both directions.
///
/// Holds one page, the current leaf. A cursor in a writer's view saves its key: if the writer has
/// changed the tree since, it searches its position again before it moves or reads.
///
/// - Important: the view's owner must outlive the cursor. For one thread at a time.
package final class TreeCursor {
  private let view: PageView
  private let root: TreeRoot
  private let savesKey: Bool
  private let path = TreePath()
  private let block: ByteBlock
  /// The current key, preceded by its leaf's prefix.
  private let keyBytes: MutableBytes
  /// A second key, for comparisons across leaves and to save the key while its position is searched
  /// again.
  private let otherBytes: MutableBytes
  private var keyCount = 0
  /// The slot whose key is in `keyBytes`; -1 if none is.
  private var keySlot = -1
  private var leaf: PageReference?
  private var node: NodeView
  private var slot = 0
  /// Whether the cursor is at a row; after a change by the writer, whether it was.
  private var isPositioned = false
  private var changeCount = 0

  /// Creates a cursor without a position.
  ///
  /// - Parameter savesKey: required in a writer's view, where the tree changes under the cursor.
  package init(view: PageView, root: TreeRoot, savesKey: Bool = false) {
    self.view = view
    self.root = root
    self.savesKey = savesKey
    let byteCount = SearchKey.maxByteCount
    block = ByteBlock(count: byteCount * 2 + NodeLayout.prefixOffset, alignment: 16)
    keyBytes = block.bytes.slice(0, byteCount)
    otherBytes = block.bytes.slice(byteCount, byteCount)
    // An empty node is the placeholder until there is a leaf.
    node = NodeView(block.bytes.bytes.slice(byteCount * 2, NodeLayout.prefixOffset))
  }

  deinit { releaseLeaf() }

  /// Whether the cursor is at a row.
  @inline(__always)
  package var isValid: Bool { isPositioned }

  // MARK: Positioning

  /// Moves to the first key that is not before `key`.
  ///
  /// - Returns: whether there is one.
  package func seek(_ key: SearchKey) throws(StorageError) -> Bool {
    begin()
    try enter(path.descend(to: key, view, root))
    slot = NodeSearch.leafSlot(node, key).slot
    if slot < node.count { return finishMove() }
    return try step(forward: true)
  }

  /// Moves to the last key that is before `key`.
  ///
  /// - Returns: whether there is one.
  package func seekBefore(_ key: SearchKey) throws(StorageError) -> Bool {
    begin()
    try enter(path.descend(to: key, view, root))
    slot = NodeSearch.leafSlot(node, key).slot &- 1
    if slot >= 0 { return finishMove() }
    return try step(forward: false)
  }

  /// Moves to the first key of the tree, if there is one.
  package func moveToFirst() throws(StorageError) -> Bool {
    begin()
    try enter(path.descend(toLast: false, view, root))
    slot = 0
    if node.count > 0 { return finishMove() }
    return try step(forward: true)
  }

  /// Moves to the last key of the tree, if there is one.
  package func moveToLast() throws(StorageError) -> Bool {
    begin()
    try enter(path.descend(toLast: true, view, root))
    slot = node.count &- 1
    if slot >= 0 { return finishMove() }
    return try step(forward: false)
  }

  // MARK: Moving

  /// Moves to the next key.
  ///
  /// - Returns: whether there is one; if not, the cursor has no position.
  @inline(__always)
  package func moveToNext() throws(StorageError) -> Bool {
    if savesKey { return try moveToNextSaving() }
    guard isPositioned else { return false }
    slot &+= 1
    if slot < node.count { return true }
    return try step(forward: true)
  }

  /// Moves to the previous key.
  ///
  /// - Returns: whether there is one; if not, the cursor has no position.
  @inline(__always)
  package func moveToPrevious() throws(StorageError) -> Bool {
    if savesKey { return try moveToPreviousSaving() }
    guard isPositioned else { return false }
    slot &-= 1
    if slot >= 0 { return true }
    return try step(forward: false)
  }

  @inline(never)
  private func moveToNextSaving() throws(StorageError) -> Bool {
    guard isPositioned else { return false }
    // If its row was removed, the cursor is already at the following one.
    if view.changeCount != changeCount, try !restore() { return isPositioned }
    slot &+= 1
    if slot < node.count { return finishMove() }
    return try step(forward: true)
  }

  @inline(never)
  private func moveToPreviousSaving() throws(StorageError) -> Bool {
    guard isPositioned else { return false }
    if view.changeCount != changeCount {
      return try seekBefore(savedKey())
    }
    slot &-= 1
    if slot >= 0 { return finishMove() }
    return try step(forward: false)
  }

  // MARK: Reading

  /// The current key, followed by eight zero bytes; valid until the cursor moves.
  ///
  /// The cursor must be at a row.
  @inline(__always)
  package var key: Bytes {
    precondition(isPositioned, "the cursor is not at a row")
    // A cursor that saves its key has it already, even if the writer has removed the row since.
    if keySlot != slot, !savesKey {
      keyCount = node.copySuffix(slot, to: keyBytes).count
      keySlot = slot
    }
    return keyBytes.bytes.slice(0, keyCount)
  }

  /// Returns the current value, or the reference to it.
  ///
  /// Valid until the cursor moves or the writer changes something. The cursor keeps the page: the
  /// caller must not release it.
  ///
  /// - Returns: `nil` if the cursor is not at a row, or the writer removed it.
  @inline(__always)
  package func value() throws(StorageError) -> FoundValue? {
    if savesKey, try !refresh() { return nil }
    guard isPositioned, let leaf else { return nil }
    return FoundValue(of: slot, in: node, leaf)
  }

  /// Passes the current row and the following ones in its leaf to `body`, until that returns false.
  ///
  /// Not for a writer's view. Afterwards the cursor is at the last row of the leaf. The position of
  /// `end` in the leaf is searched once for the whole leaf.
  ///
  /// - Parameter end: The first key that is not passed; `nil` for the whole leaf.
  /// - Returns: Whether rows of the next leaf may also be before `end`, and `body` wants them.
  @inline(__always)
  package func passLeaf(
    before end: SearchKey?, _ body: (_ key: Bytes, _ value: FoundValue) throws -> Bool
  ) throws -> Bool {
    guard isPositioned, let leaf else { return false }
    // Fields of an object are loaded again for each row, those of a value are not.
    let (node, keyBytes, first) = (node, keyBytes, slot)
    let stop = end.map { NodeSearch.leafSlot(node, $0).slot } ?? node.count
    slot = node.count &- 1
    keySlot = -1
    guard first < stop else { return false }
    for slot in first..<stop {
      let value = FoundValue(of: slot, in: node, leaf)
      guard try body(node.copySuffix(slot, to: keyBytes), value) else { return false }
    }
    return stop == node.count
  }

  // MARK: Positions

  /// Prepares for a new position: until it is reached, the cursor has none, even after an error.
  private func begin() {
    isPositioned = false
    changeCount = view.changeCount
  }

  @inline(__always)
  private func finishMove() -> Bool {
    isPositioned = true
    if savesKey {
      keyCount = node.copySuffix(slot, to: keyBytes).count
      keySlot = slot
    }
    return true
  }

  private func releaseLeaf() {
    guard let leaf else { return }
    self.leaf = nil
    view.release(leaf)
  }

  private func enter(_ reference: PageReference) {
    releaseLeaf()
    leaf = reference
    node = NodeView(reference.bytes)
    keyBytes.copy(node.prefix, to: 0)
    keySlot = -1
  }

  /// Moves to the nearest row of another leaf.
  @inline(never)
  private func step(forward: Bool) throws(StorageError) -> Bool {
    let wasPositioned = isPositioned
    isPositioned = false
    // Keys must stay in order from leaf to leaf, or corrupt branches could lead in circles.
    let border = forward ? node.count &- 1 : 0
    let isKnown = wasPositioned && node.count > 0
    let knownCount = isKnown ? node.copyKey(border, to: otherBytes).count : 0
    var emptyLeaves: PageNumber = 0
    while let reference = try path.step(forward: forward, view, root) {
      enter(reference)
      guard node.count > 0 else {
        emptyLeaves &+= 1
        guard emptyLeaves < view.pageCount else {
          throw .corrupt("A tree has more empty leaves than there are pages.", page: root.page)
        }
        continue
      }
      slot = forward ? 0 : node.count &- 1
      keyCount = node.copySuffix(slot, to: keyBytes).count
      keySlot = slot
      if isKnown {
        let order = keyBytes.bytes.slice(0, keyCount).compare(otherBytes.bytes.slice(0, knownCount))
        guard forward ? order > 0 : order < 0 else {
          throw .corrupt("The keys of two leaves are out of order.", page: node.number)
        }
      }
      return finishMove()
    }
    return false
  }

  /// Searches the saved key again.
  ///
  /// - Returns: whether it is still there; if not, the cursor is at the following key, if any.
  private func restore() throws(StorageError) -> Bool {
    let saved = savedKey()
    guard try seek(saved) else { return false }
    return keyBytes.bytes.slice(0, keyCount).equals(otherBytes.bytes.slice(0, saved.count))
  }

  private func savedKey() -> SearchKey {
    otherBytes.copy(keyBytes.bytes.slice(0, keyCount), to: 0)
    otherBytes.store64(0, keyCount)
    return SearchKey(otherBytes.bytes.slice(0, keyCount))
  }

  /// Finds the current row again after a change; the position and the saved key stay the same.
  ///
  /// - Returns: whether the row is there.
  @inline(never)
  private func refresh() throws(StorageError) -> Bool {
    guard isPositioned else { return false }
    if view.changeCount == changeCount { return true }
    let saved = savedKey()
    try enter(path.descend(to: saved, view, root))
    keyBytes.copy(saved.bytes, to: 0)
    keyBytes.store64(0, saved.count)
    let (foundSlot, found) = NodeSearch.leafSlot(node, saved)
    guard found else { return false }
    slot = foundSlot
    keySlot = foundSlot
    changeCount = view.changeCount
    return true
  }
}
