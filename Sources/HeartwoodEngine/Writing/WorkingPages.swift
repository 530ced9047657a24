/// The pages that a transaction has created or changed.
///
/// These pages are used only while the writer lock is held.
///
/// The first change to an existing page copies the page. When too many pages are in memory, the
/// transaction spills them to the log and reads them from there; see ``makeRoom(above:)``. While a
/// savepoint is open, the pages that a rollback would restore are kept alongside the current pages.
package final class WorkingPages {
  /// The transaction's first frame, which is also the version of the rows that the transaction
  /// writes.
  package let base: FrameNumber
  package let state: GenerationState
  /// The number of pages in memory, including those kept for the rollback of savepoints.
  package private(set) var memoryPageCount = 0
  /// A counter that is incremented whenever addresses from ``writable(_:)`` become invalid.
  package internal(set) var moveCount = 0
  let files: StoreFiles
  /// The maximum number of pages in memory.
  ///
  /// If there are more pages, ``makeRoom(above:)`` spills them to the log.
  let memoryPageLimit: Int
  let table: UnsafeMutablePointer<WorkingTable>
  var freeSpace: FreeSpace
  /// The locations of pages that are not in memory.
  var index: PageIndex
  var writer: LogWriter?
  /// The frames that contain spilled pages of savepoints that were rolled back.
  ///
  /// The commit lists these frames as void.
  var voids: [VoidRange] = []
  /// The open savepoints, with the innermost savepoint last.
  var savepoints: [SavepointPages] = []
  private let source: UnsafeMutablePointer<PageSource>
  private var loader: PageLoader
  private let pool: PagePool

  package init(
    on state: GenerationState, files: StoreFiles, pool: PagePool, base: FrameNumber,
    memoryPageLimit: Int = .max
  ) {
    self.state = state
    self.files = files
    self.pool = pool
    self.base = base
    self.memoryPageLimit = memoryPageLimit
    index = PageIndex(sharing: state.index)
    loader = state.loader(for: state.segments)
    table = .allocate(capacity: 1)
    table.initialize(to: WorkingTable())
    source = .allocate(capacity: 1)
    source.initialize(
      to: state.source(
        working: table, index: index, loader: loader, pageCount: state.point.pageCount,
        changeCount: 0))
    freeSpace = FreeSpace(pageByteCount: files.geometry.pageByteCount, lowestFree: state.lowestFree)
  }

  /// Returns all buffers to the pool after the transaction has committed or aborted.
  ///
  /// Call this method before the writer lock is released, because the next writer uses the pool.
  package func end() {
    dropBlocks()
    pool.trim()
  }

  deinit {
    // Free the remaining buffers directly, because the next writer may be using the pool.
    table.pointee.forEach { _, block in block?.deallocate() }
    table.pointee.deallocate()
    table.deallocate()
    source.deallocate()
  }

  /// A view of the pages that includes the changes of this transaction.
  package var view: PageView { PageView(source: source) }
  package var pageCount: PageNumber { source.pointee.pageCount }
  package var lowestFree: PageNumber { freeSpace.lowestFree }
  /// The segments of the state, and the segments that this transaction has written to.
  var segments: SegmentTable { writer?.table ?? state.segments }

  package var isUnchanged: Bool {
    // Compare the roots, because an index that was never changed or was rolled back has the same
    // root as the state's index.
    memoryPageCount == 0 && index.root == state.index.root
      && pageCount == state.point.pageCount
  }

  /// Returns a page's bytes for writing.
  ///
  /// If this transaction or savepoint does not have its own copy of the page yet, the method first
  /// copies the page.
  ///
  /// The address remains the same until the page is freed or ``moveCount`` grows.
  package func writable(_ number: PageNumber) throws(StorageError) -> MutableBytes {
    let byteCount = files.geometry.pageByteCount
    if let own = table.pointee.block(of: number), isOwned(number) {
      return MutableBytes(own, count: byteCount)
    }
    let original = try view.page(number)
    defer { view.release(original) }
    let copy = MutableBytes(allocateBlock(), count: byteCount)
    copy.copy(original.bytes, to: 0)
    enter(copy.base, of: number)
    return copy
  }

  /// Allocates the lowest free page, writes a header that identifies the page, and fills the rest
  /// with zeros.
  package func allocate(
    _ kind: PageKind, tree: TreeID, level: UInt8
  ) throws(StorageError) -> PageNumber {
    let number = try freeSpace.allocate(self)
    makePage(number, kind, tree: tree, level: level)
    return number
  }

  /// Frees a page, so that it can be reallocated immediately.
  ///
  /// Older states keep their own versions of the page.
  package func free(_ number: PageNumber) throws(StorageError) {
    try freeSpace.free(number, self)
    forget(number)
  }

  /// Removes the pages after the last page in use, as the last step before a commit.
  ///
  /// - Parameter always: Whether to check for free pages even if this transaction has freed
  ///   nothing.
  package func cutTail(always: Bool = false) throws(StorageError) {
    try freeSpace.cutTail(self, always: always)
  }

  /// Removes the page with the number `count` and all later pages.
  ///
  /// These pages must be free or discarded.
  func cut(to count: PageNumber) { source.pointee.pageCount = count }

  func forget(_ number: PageNumber) {
    // Free pages are never read, so the index may still refer to an image in the log.
    if table.pointee.block(of: number) != nil { enter(nil, of: number) }
  }

  package func recordChange() { view.recordChange() }

  /// Creates a page with an empty body, without consulting the bitmaps.
  func makePage(_ number: PageNumber, _ kind: PageKind, tree: TreeID, level: UInt8) {
    let bytes = MutableBytes(allocateBlock(), count: files.geometry.pageByteCount)
    bytes.clear(0, bytes.count)
    bytes.store32(number, PageLayout.page.offset)
    bytes.store32(tree, PageLayout.tree.offset)
    bytes.store8(kind.rawValue, PageLayout.kind.offset)
    bytes.store8(level, PageLayout.level.offset)
    enter(bytes.base, of: number)
    if number >= source.pointee.pageCount { source.pointee.pageCount = number + 1 }
  }

  // MARK: Blocks

  /// Returns whether a page's current bytes may be overwritten, which is the case if no rollback
  /// needs them.
  @inline(__always)
  private func isOwned(_ number: PageNumber) -> Bool {
    savepoints.isEmpty || savepoints[savepoints.count - 1].replaced.contains(number)
  }

  /// Sets the bytes of a page.
  ///
  /// The method keeps the previous bytes if the innermost savepoint needs them for a rollback.
  private func enter(_ block: UnsafeMutableRawPointer?, of number: PageNumber) {
    let old = table.pointee.block(of: number)
    if isOwned(number) {
      if let old { recycle(old) }
    } else {
      savepoints[savepoints.count - 1].replaced.set(old, of: number)
    }
    table.pointee.set(block, of: number)
  }

  private func allocateBlock() -> UnsafeMutableRawPointer {
    memoryPageCount += 1
    return pool.allocate()
  }

  func recycle(_ block: UnsafeMutableRawPointer) {
    memoryPageCount -= 1
    pool.recycle(block)
  }

  func dropBlocks() {
    for savepoint in savepoints {
      savepoint.replaced.forEach { _, block in if let block { recycle(block) } }
    }
    table.pointee.forEach { _, block in if let block { recycle(block) } }
    for position in savepoints.indices { savepoints[position].replaced.removeAll() }
    table.pointee.removeAll()
  }

  /// Updates the page source after a change to the index, the segments or the page count.
  func refreshSource(pageCount: PageNumber) {
    if loader.segments !== segments { loader = state.loader(for: segments) }
    source.pointee = state.source(
      working: table, index: index, loader: loader, pageCount: pageCount,
      changeCount: source.pointee.changeCount)
    moveCount &+= 1
    recordChange()
  }
}

/// A pool of page buffers that are kept between transactions to save allocations in small commits.
package final class PagePool: @unchecked Sendable {
  // `@unchecked` is safe because only the holder of the writer lock uses the pool.
  private var free: [UnsafeMutableRawPointer] = []
  private let pageByteCount: Int
  /// The number of buffers to keep.
  private static let keptCount = 256

  package init(pageByteCount: Int) { self.pageByteCount = pageByteCount }

  deinit { for block in free { block.deallocate() } }

  func allocate() -> UnsafeMutableRawPointer {
    free.popLast()
      ?? .allocate(byteCount: pageByteCount, alignment: ByteBlock.cacheLineByteCount)
  }

  func recycle(_ block: UnsafeMutableRawPointer) { free.append(block) }

  /// Frees all buffers in excess of `keptCount`.
  ///
  /// This method is not called during a transaction, because the buffers of spilled pages are
  /// reused for the transaction's later pages.
  func trim() {
    while free.count > Self.keptCount { free.removeLast().deallocate() }
  }
}
