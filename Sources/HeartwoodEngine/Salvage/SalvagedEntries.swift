/// The entries in the leaves of a ``TreeOutline``, in key order, for copying into another store.
///
/// `report` records the ranges in which entries are missing.
final class SalvagedEntries {
  private(set) var report: SalvageReport.Keyspace
  private(set) var hasEntry = false
  private let outline: TreeOutline
  private let pages: SalvagePages
  private var position = 0
  private var leaf: PageReference?
  private var slot = 0
  private var isDoubtful = false
  /// Memory for the current key, and for the last key that was in order.
  private let block = ByteBlock(count: SearchKey.maxByteCount * 2, alignment: 16)
  private var keyCount = 0
  private var lastKeyCount: Int?
  /// The number of leaves read so far.
  private(set) var leafCount = 0
  /// The start of the missing range at the current position, or `nil` if there is none.
  private var gap: Gap?
  /// The start of a range of lost branches that has not been added to the report yet, or `nil` if
  /// there is none.
  private var branchGap: Gap?
  private var isInLostBranch = false

  private struct Gap {
    let after: [UInt8]?
  }

  /// Creates an object positioned at the first entry.
  init(
    _ outline: TreeOutline, in pages: SalvagePages, _ report: SalvageReport.Keyspace
  ) throws(StorageError) {
    self.outline = outline
    self.pages = pages
    self.report = report
    slot = -1
    try moveToNext()
  }

  deinit { if let leaf { pages.view.release(leaf) } }

  private var keyBytes: MutableBytes { block.bytes.slice(0, SearchKey.maxByteCount) }
  private var lastKeyBytes: MutableBytes {
    block.bytes.slice(SearchKey.maxByteCount, SearchKey.maxByteCount)
  }

  private var lastKey: [UInt8]? {
    defer { block.keep() }
    return lastKeyCount.map { lastKeyBytes.bytes.slice(0, $0).copied() }
  }

  // MARK: Moving

  /// Moves to the next entry whose value is intact.
  private func moveToNext() throws(StorageError) {
    defer { block.keep() }
    hasEntry = false
    while true {
      slot += 1
      while leaf.map({ slot >= NodeView($0.bytes).count }) ?? true {
        guard position < outline.items.count else { return finish() }
        enter(outline.items[position])
        position += 1
      }
      guard let leaf else { continue }
      let node = NodeView(leaf.bytes)
      keyCount = node.copyKey(slot, to: keyBytes).count
      let key = keyBytes.bytes.slice(0, keyCount)
      if let lastKeyCount, key.compare(lastKeyBytes.bytes.slice(0, lastKeyCount)) <= 0 {
        report.misplacedCount += 1
        continue
      }
      closeGaps(before: key.copied)
      lastKeyBytes.copy(key, to: 0)
      lastKeyCount = keyCount
      guard try isIntact(node) else {
        report.appendDamagedValue(key.copied())
        continue
      }
      hasEntry = true
      return
    }
  }

  private func enter(_ item: TreeOutline.Item) {
    if let leaf { pages.view.release(leaf) }
    leaf = nil
    slot = 0
    switch item {
    case .lost: openGap()
    case .lostBranch:
      isInLostBranch = true
      branchGap = branchGap ?? Gap(after: lastKey)
    case .endOfLostBranch: isInLostBranch = false
    case .leaf(let page, let isDoubtful):
      self.isDoubtful = isDoubtful
      leafCount += 1
      // The page was intact when it was scanned, so the medium must be at fault. Count the page as
      // damaged.
      guard let found = try? pages.view.node(page, tree: outline.tree, level: 0) else {
        return openGap()
      }
      leaf = found
    }
  }

  private func openGap() { gap = gap ?? Gap(after: lastKey) }

  private func closeGaps(before key: () -> [UInt8]) {
    if let gap {
      report.append(.init(after: gap.after, before: key(), isPartial: false))
      self.gap = nil
    }
    if let branchGap, !isInLostBranch {
      report.append(.init(after: branchGap.after, before: key(), isPartial: true))
      self.branchGap = nil
    }
  }

  private func finish() {
    if let leaf { pages.view.release(leaf) }
    leaf = nil
    if let gap { report.append(.init(after: gap.after, before: nil, isPartial: false)) }
    if let branchGap {
      report.append(.init(after: branchGap.after, before: nil, isPartial: true))
    }
    (gap, branchGap) = (nil, nil)
  }

  // MARK: Values

  /// Returns whether the value of the current entry can be copied.
  private func isIntact(_ node: NodeView) throws(StorageError) -> Bool {
    guard node.isOverflow(slot) else { return true }
    do throws(StorageError) {
      let reference = try OverflowReference(node.value(slot), in: pages.view)
      try Overflow(view: pages.view, tree: outline.tree).verify(reference)
      return true
    } catch {
      guard error.kind == .corrupt else { throw error }
      return false
    }
  }

  /// Appends the current entry to a tree in another store, and moves to the next entry.
  ///
  /// - Returns: The total size of the key and the value, in bytes.
  func moveEntry(
    to builder: inout TreeBuilder, of tree: TreeID, _ target: WorkingPages
  ) throws(StorageError) -> Int {
    defer { block.keep() }
    guard hasEntry, let leaf else { return 0 }
    let node = NodeView(leaf.bytes)
    let key = SearchKey(keyBytes.bytes.slice(0, keyCount))
    let value = node.value(slot)
    var byteCount = keyCount + value.count
    if node.isOverflow(slot) {
      let source = try OverflowReference(value, in: pages.view)
      var writer = try OverflowWriter(pages: target, tree: tree, length: source.length)
      try Overflow(view: pages.view, tree: outline.tree).forEachChunk(source) {
        chunk throws(StorageError) in try writer.append(chunk)
      }
      try builder.append(key: key, reference: writer.finish())
      byteCount += source.length
    } else {
      try builder.append(key: key, value: value)
    }
    report.entryCount += 1
    if isDoubtful { report.doubtfulCount += 1 }
    try moveToNext()
    return byteCount
  }
}

extension KeyspaceWriter {
  /// Appends salvaged entries until at least `byteCount` bytes have been appended or no entries are
  /// left.
  func append(_ entries: SalvagedEntries, byteCount: Int) throws(StorageError) {
    session.requireOpen()
    let pages = session.pages
    try session.changing { () throws(StorageError) in
      var builder = try TreeBuilder(continuing: keyspace.row.root, pages: pages)
      var appended = 0
      while entries.hasEntry, appended < byteCount {
        appended += try entries.moveEntry(to: &builder, of: keyspace.row.root.tree, pages)
        keyspace.noteInserted()
      }
      if !entries.hasEntry { try builder.finish() }
    }
  }
}
