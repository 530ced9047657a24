/// A batch of keys that are looked up in parallel in one tree, in one state of the store.
///
/// All keys descend one level at a time, so that the memory system fetches the nodes of many keys
/// in parallel. Consecutive keys that reach the same node share its page.
package struct TreeBatch: ~Copyable {
  /// The progress of the search for one key.
  private struct Lane {
    var key = SearchKey(Bytes.empty)
    var page = PageReference(bytes: Bytes.empty, entry: nil)
    /// A Boolean value that indicates whether this lane must release the page.
    ///
    /// The value is `false` if the lane shares the page of the previous lane.
    var ownsPage = false
    /// The next step.
    ///
    /// In a branch, this is the page number of the child to visit. In a leaf, it is the slot of the
    /// key, or -1 if the key does not exist.
    var target = -1
  }

  /// The maximum number of keys.
  ///
  /// The number is high enough to keep the memory system busy, but low enough that the data fetched
  /// for all keys stays in the nearest cache.
  package static let capacity = 64
  /// The size of the memory for the keys.
  ///
  /// The memory is large enough for a full batch of keys of typical length.
  private static let keysByteCount = 8192

  private let view: PageView
  private let root: TreeRoot
  private var lanes = [Lane](repeating: Lane(), count: Self.capacity)
  private let keys = ByteBlock(count: Self.keysByteCount, alignment: 16)
  private var keysEnd = 0
  package private(set) var count = 0

  package init(view: PageView, root: TreeRoot) {
    self.view = view
    self.root = root
  }

  deinit { releasePages() }

  /// Returns `byteCount` bytes of memory for a key and its padding, or `nil` if the batch is full.
  @inline(__always)
  package func room(byteCount: Int) -> MutableBytes? {
    guard count < Self.capacity, keysEnd &+ byteCount <= Self.keysByteCount else { return nil }
    return keys.bytes.slice(keysEnd, byteCount)
  }

  /// Adds a key, which must be at the start of the memory returned by ``room(byteCount:)``.
  @inline(__always)
  package mutating func append(_ key: Bytes) {
    lanes[count].key = SearchKey(key)
    count &+= 1
    // Leave eight bytes of padding, because the search loads words that extend past the key's end.
    // Align the next key to eight bytes.
    keysEnd = (keysEnd &+ key.count &+ 8 &+ 7) & ~7
  }

  /// Looks up all keys.
  ///
  /// Afterwards, ``found(_:)`` returns their values.
  package mutating func find() throws(StorageError) {
    guard count > 0 else { return }
    let (view, root, count) = (view, root, count)
    var lanes = self.lanes.mutableSpan
    let top = try view.root(root)
    for lane in 0..<count {
      lanes[lane].page = top
      lanes[lane].ownsPage = lane == 0
    }
    var level = NodeView(top.bytes).level
    while level > 0 {
      for lane in 0..<count {
        let node = NodeView(lanes[lane].page.bytes)
        let slot = NodeSearch.childSlot(node, lanes[lane].key)
        lanes[lane].target = Int(node.child(slot))
      }
      level &-= 1
      try Self.descend(&lanes, count, to: level, of: root.tree, view)
    }
    Self.searchLeaves(&lanes, count)
  }

  /// Returns the value of the key at `index`, or `nil` if the key does not exist.
  ///
  /// The batch releases the value's page.
  @inline(__always)
  package func found(_ index: Int) -> FoundValue? {
    let lane = lanes[index]
    guard lane.target >= 0 else { return nil }
    return FoundValue(of: lane.target, in: NodeView(lane.page.bytes), lane.page)
  }

  /// Empties the batch and releases its pages.
  package mutating func clear() {
    releasePages()
    for lane in 0..<count { lanes[lane].ownsPage = false }
    count = 0
    keysEnd = 0
  }

  /// Moves every lane from its branch to the child that was chosen for the lane.
  @inline(__always)
  private static func descend(
    _ lanes: inout MutableSpan<Lane>, _ count: Int, to level: Int, of tree: TreeID,
    _ view: PageView
  ) throws(StorageError) {
    var last = -1
    for lane in 0..<count {
      let number = lanes[lane].target
      // Clear `ownsPage` before reading the next page. Otherwise, if the read failed,
      // `releasePages` would release the old page a second time.
      if lanes[lane].ownsPage { view.release(lanes[lane].page) }
      lanes[lane].ownsPage = false
      if number == last {
        lanes[lane].page = lanes[lane &- 1].page
      } else {
        lanes[lane].page = try view.node(
          PageNumber(truncatingIfNeeded: number), tree: tree, level: level)
        lanes[lane].ownsPage = true
        last = number
      }
    }
  }

  /// Finds the slot of each key in its leaf.
  ///
  /// Each loop makes one kind of memory access, so that the loads of many lanes overlap.
  @inline(__always)
  private static func searchLeaves(_ lanes: inout MutableSpan<Lane>, _ count: Int) {
    var lines: UInt64 = 0
    for lane in 0..<count { lines ^= lanes[lane].page.bytes.touchedLines }
    for lane in 0..<count {
      let node = NodeView(lanes[lane].page.bytes)
      lanes[lane].target = NodeSearch.candidate(node, lanes[lane].key) ?? -1
    }
    for lane in 0..<count where lanes[lane].target >= 0 {
      let node = NodeView(lanes[lane].page.bytes)
      lines ^= node.page.touchedLines(at: node.leafSlot(lanes[lane].target))
    }
    for lane in 0..<count where lanes[lane].target >= 0 {
      let node = NodeView(lanes[lane].page.bytes)
      let slot = NodeSearch.leafSlot(node, lanes[lane].key, from: lanes[lane].target, lines)
      lanes[lane].target = slot ?? -1
    }
  }

  private func releasePages() {
    for lane in 0..<count where lanes[lane].ownsPage { view.release(lanes[lane].page) }
  }
}
