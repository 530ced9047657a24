/// A cursor that moves from key to key through a tree in either direction.
///
/// The cursor holds one leaf.
///
/// A cursor for a tree that can change saves its current key, and searches for this key again after
/// a change.
///
/// - Important: The owner of the page view must outlive the cursor. Only one thread at a time may
///   use the cursor.
package final class TreeCursor {
  private let view: PageView
  private let root: TreeRoot
  private let savesKey: Bool
  private let path = TreePath()
  private let block: ByteBlock
  /// The memory for the current key.
  ///
  /// The memory always starts with the prefix of the current leaf.
  private let keyBytes: MutableBytes
  /// The memory for a second key, used to compare keys across leaves and to search for a saved key.
  private let otherBytes: MutableBytes
  private var keyCount = 0
  /// The slot whose key is in `keyBytes`, or -1 if `keyBytes` contains no key.
  private var keySlot = -1
  private var leaf: PageReference?
  private var node: NodeView
  private var slot = 0
  /// A Boolean value that indicates whether the cursor is at an entry, or was at one before the
  /// transaction last changed the tree.
  private var isPositioned = false
  private var changeCount = 0

  /// Creates a cursor without a position.
  ///
  /// - Parameter savesKey: Whether the cursor saves its key. Saving the key is necessary if the
  ///   tree can change.
  package init(view: PageView, root: TreeRoot, savesKey: Bool = false) {
    self.view = view
    self.root = root
    self.savesKey = savesKey
    let byteCount = SearchKey.maxByteCount
    block = ByteBlock(count: byteCount * 2 + NodeLayout.prefixOffset, alignment: 16)
    keyBytes = block.bytes.slice(0, byteCount)
    otherBytes = block.bytes.slice(byteCount, byteCount)
    // Use an empty node as a placeholder until a leaf is entered.
    node = NodeView(block.bytes.bytes.slice(byteCount * 2, NodeLayout.prefixOffset))
  }

  deinit { releaseLeaf() }

  @inline(__always)
  package var isValid: Bool { isPositioned }

  // MARK: Positioning

  /// Moves to the first key at or after `key`, or returns `false` if there is none.
  package func seek(_ key: SearchKey) throws(StorageError) -> Bool {
    begin()
    try enter(path.descend(to: key, view, root))
    slot = NodeSearch.leafSlot(node, key).slot
    if slot < node.count { return finishMove() }
    return try step(forward: true)
  }

  /// Moves to the last key before `key`, or returns `false` if there is none.
  package func seekBefore(_ key: SearchKey) throws(StorageError) -> Bool {
    begin()
    try enter(path.descend(to: key, view, root))
    slot = NodeSearch.leafSlot(node, key).slot &- 1
    if slot >= 0 { return finishMove() }
    return try step(forward: false)
  }

  /// Moves to the first key of the tree, or returns `false` if the tree is empty.
  package func moveToFirst() throws(StorageError) -> Bool {
    begin()
    try enter(path.descend(toLast: false, view, root))
    slot = 0
    if node.count > 0 { return finishMove() }
    return try step(forward: true)
  }

  /// Moves to the last key of the tree, or returns `false` if the tree is empty.
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
  /// If there is no next key, the method clears the position and returns `false`.
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
  /// If there is no previous key, the method clears the position and returns `false`.
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
    // Do not advance the cursor again if the current entry has been removed, because `restore` has
    // already moved the cursor to the next entry.
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

  /// The current key, which is followed by eight zero bytes in memory.
  ///
  /// The bytes are valid until the cursor moves.
  ///
  /// - Precondition: The cursor is at an entry.
  @inline(__always)
  package var key: Bytes {
    precondition(isPositioned, "The cursor is not at an entry. Move the cursor to an entry first.")
    // A cursor that saves its key uses the saved key, because the transaction may have removed the
    // entry from the node since the cursor moved to it.
    if keySlot != slot, !savesKey {
      keyCount = node.copySuffix(slot, to: keyBytes).count
      keySlot = slot
    }
    return keyBytes.bytes.slice(0, keyCount)
  }

  /// Returns the current value, or `nil` if there is no entry.
  ///
  /// If the value is large, the result is a reference to it. The result is valid until the cursor
  /// moves or the transaction makes a change. The cursor holds the value's page, so the caller must
  /// not release the page.
  @inline(__always)
  package func value() throws(StorageError) -> FoundValue? {
    if savesKey, try !refresh() { return nil }
    guard isPositioned, let leaf else { return nil }
    return FoundValue(of: slot, in: node, leaf)
  }

  /// Calls `body` for the current entry and each later entry in the leaf, until `body` returns
  /// `false`.
  ///
  /// Afterwards, the cursor is at the last entry of the leaf. Do not call this method on a cursor
  /// that saves its key.
  ///
  /// - Parameter end: The key before which to stop, or `nil` for no limit.
  /// - Returns: Whether to continue with the next leaf: `true` if `body` has not returned `false`
  ///   and that leaf may contain keys before `end`.
  @inline(__always)
  package func passLeaf(
    before end: SearchKey?, _ body: (_ key: Bytes, _ value: FoundValue) throws -> Bool
  ) throws -> Bool {
    guard isPositioned, let leaf else { return false }
    // Copy the fields to local variables. Otherwise, they would be loaded from the object again for
    // each entry.
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

  /// Skips the current entry and the entries after it in the leaf, up to a key.
  ///
  /// Afterwards, the cursor is at the last entry of the leaf. Do not call this method on a cursor
  /// that saves its key.
  ///
  /// - Parameter end: The key before which to stop, or `nil` to skip all entries of the leaf.
  /// - Returns: The number of skipped entries, and whether the next leaf may contain more entries
  ///   before `end`.
  package func skipLeaf(before end: SearchKey?) -> (count: Int, continues: Bool) {
    guard isPositioned else { return (0, false) }
    let first = slot
    let stop = end.map { NodeSearch.leafSlot(node, $0).slot } ?? node.count
    slot = node.count &- 1
    keySlot = -1
    return (max(stop - first, 0), stop == node.count)
  }

  // MARK: Positions

  /// Clears the position, so that a failed move leaves the cursor without a position.
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

  /// Releases the leaf.
  ///
  /// Afterwards, the cursor must be moved before it is read again.
  func releaseLeaf() {
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

  /// Moves to the next or previous entry, which is in another leaf.
  ///
  /// If there is no such entry, the method clears the position and returns `false`.
  @inline(never)
  private func step(forward: Bool) throws(StorageError) -> Bool {
    let wasPositioned = isPositioned
    isPositioned = false
    // Check that keys are in order from leaf to leaf. Otherwise, corrupt branches could make the
    // cursor loop forever.
    let border = forward ? node.count &- 1 : 0
    let isKnown = wasPositioned && node.count > 0
    let knownCount = isKnown ? node.copyKey(border, to: otherBytes).count : 0
    var emptyLeaves: PageNumber = 0
    while let reference = try path.step(forward: forward, view, root) {
      enter(reference)
      guard node.count > 0 else {
        emptyLeaves &+= 1
        guard emptyLeaves < view.pageCount else {
          throw .corrupt(
            "The store is corrupt: the number of empty leaves in a tree exceeds the page count of "
              + "the store. Restore a backup.",
            page: root.page)
        }
        continue
      }
      slot = forward ? 0 : node.count &- 1
      keyCount = node.copySuffix(slot, to: keyBytes).count
      keySlot = slot
      if isKnown {
        let order = keyBytes.bytes.slice(0, keyCount).compare(otherBytes.bytes.slice(0, knownCount))
        guard forward ? order > 0 : order < 0 else {
          throw .corrupt(
            "The store is corrupt: the keys of two leaves are out of order. Restore a backup.",
            page: node.number)
        }
      }
      return finishMove()
    }
    return false
  }

  /// Searches for the saved key again.
  ///
  /// If the key is gone, the cursor moves to the next key, and the method returns `false`.
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

  /// Finds the current entry again after a change.
  ///
  /// If the entry is gone, the method returns `false` without moving the cursor.
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
