/// The writer's private pages: allocated, copied on first write, freed; nobody else sees them.
///
/// Pages live in memory until there are too many of them. Then they go to the log, as parts of a
/// transaction without a commit mark, and are read from there; see ``makeRoom()``. While a
/// savepoint is open, what it would put back is kept beside what is there now.
///
/// Used by one thread at a time, the one that holds the writer lock.
package final class WorkingPages {
  /// The version of this transaction's rows: its first frame.
  package let base: FrameNumber
  package let state: GenerationState
  /// Pages in memory, those that savepoints keep included.
  package private(set) var memoryPageCount = 0
  /// Grows when addresses from ``writable(_:)`` are no longer those of their pages.
  package internal(set) var moveCount = 0
  let files: StoreFiles
  /// Pages in memory from which on ``makeRoom()`` writes them to the log.
  let memoryPageLimit: Int
  let table: UnsafeMutablePointer<WorkingTable>
  var freeSpace: FreeSpace
  /// Where pages are that are not in memory.
  var index: PageIndex
  var log: TransactionLog
  /// The open savepoints, the innermost last.
  var savepoints: [SavepointPages] = []
  private let source: UnsafeMutablePointer<PageSource>
  private var loader: PageLoader
  private let pool: PagePool

  /// - Parameter memoryPageLimit: Above it, pages leave memory when ``makeRoom()`` is called.
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
    log = TransactionLog(files: files, state: state, base: base)
    loader = state.loader(for: state.segments)
    table = .allocate(capacity: 1)
    table.initialize(to: WorkingTable())
    source = .allocate(capacity: 1)
    source.initialize(
      to: state.source(
        working: table, index: index, loader: loader, pageCount: state.point.pageCount,
        changeCount: 0))
    freeSpace = FreeSpace(
      pageByteCount: files.geometry.pageByteCount, lowestFree: state.lowestFree)
  }

  /// Returns all blocks to the pool, when the transaction has committed or was abandoned.
  ///
  /// To be called before the writer lock is released: whatever holds this object longer must not
  /// touch the pool, which the next writer uses by then.
  package func end() {
    dropBlocks()
    pool.trim()
  }

  deinit {
    // Without the pool: after a transaction that was ended, there is nothing left to free.
    table.pointee.forEach { _, block in block?.deallocate() }
    for savepoint in savepoints {
      savepoint.replaced.forEach { _, block in block?.deallocate() }
      savepoint.replaced.deallocate()
    }
    table.pointee.deallocate()
    table.deallocate()
    source.deallocate()
  }

  /// Pages as this transaction sees them.
  package var view: PageView { PageView(source: source) }

  package var pageCount: PageNumber { source.pointee.pageCount }
  package var lowestFree: PageNumber { freeSpace.lowestFree }

  /// Whether nothing would be different after a commit.
  package var isUnchanged: Bool {
    // An index that was never written to, or was put back, has the root it was shared with.
    memoryPageCount == 0 && index.root == state.index.root
      && pageCount == state.point.pageCount
  }

  /// The bytes of a page, to be changed; copied on first use, by the transaction and by each
  /// savepoint.
  ///
  /// The address stays the same until the page is freed or ``moveCount`` grows.
  package func writable(_ number: PageNumber) throws(StorageError) -> MutableBytes {
    let byteCount = files.geometry.pageByteCount
    if let own = table.pointee.block(of: number), isOwned(number) {
      return MutableBytes(own, count: byteCount)
    }
    let original = try view.page(number)
    defer { view.release(original) }
    let copy = MutableBytes(takeBlock(), count: byteCount)
    copy.copy(original.bytes, to: 0)
    enter(copy.base, of: number)
    return copy
  }

  /// Takes the lowest free page: zero bytes behind a header that says what it is.
  package func allocate(
    _ kind: PageKind, tree: TreeID, level: UInt8
  ) throws(StorageError) -> PageNumber {
    let number = try freeSpace.take(self)
    makePage(number, kind, tree: tree, level: level)
    return number
  }

  /// Gives a page back; it can be taken again at once, since older states read their own versions
  /// of it from the log or, until then, from the page file.
  package func free(_ number: PageNumber) throws(StorageError) {
    try freeSpace.giveBack(number, self)
    forget(number)
  }

  /// Lets the page count fall to the last page in use; the last step before a commit.
  ///
  /// - Parameter always: Looks even if this transaction has freed nothing.
  package func cutTail(always: Bool = false) throws(StorageError) {
    try freeSpace.cutTail(self, always: always)
  }

  /// Ends the existence of the pages from `count` on, which are free or forgotten.
  func cut(to count: PageNumber) { source.pointee.pageCount = count }

  /// Gives up what this transaction made of a page.
  func forget(_ number: PageNumber) {
    // A page that is not in memory needs no note: nobody asks for a free page.
    if table.pointee.block(of: number) != nil { enter(nil, of: number) }
  }

  /// Makes cursors of this transaction look again for their place.
  package func noteChange() { view.noteChange() }

  /// Makes a page beyond or within the page count, without asking the bitmaps.
  func makePage(_ number: PageNumber, _ kind: PageKind, tree: TreeID, level: UInt8) {
    let bytes = MutableBytes(takeBlock(), count: files.geometry.pageByteCount)
    bytes.clear(0, bytes.count)
    bytes.store32(number, PageLayout.page.offset)
    bytes.store32(tree, PageLayout.tree.offset)
    bytes.store8(kind.rawValue, PageLayout.kind.offset)
    bytes.store8(level, PageLayout.level.offset)
    enter(bytes.base, of: number)
    if number >= source.pointee.pageCount { source.pointee.pageCount = number + 1 }
  }

  // MARK: Blocks

  /// Whether the innermost savepoint, or without one the transaction, has the page to itself.
  @inline(__always)
  private func isOwned(_ number: PageNumber) -> Bool {
    savepoints.isEmpty || savepoints[savepoints.count - 1].replaced.contains(number)
  }

  /// Makes `block` the bytes of a page; those before are kept for the savepoint they belong to.
  private func enter(_ block: UnsafeMutableRawPointer?, of number: PageNumber) {
    let old = table.pointee.block(of: number)
    if isOwned(number) {
      if let old { giveBack(old) }
    } else {
      savepoints[savepoints.count - 1].replaced.set(old, of: number)
    }
    table.pointee.set(block, of: number)
  }

  private func takeBlock() -> UnsafeMutableRawPointer {
    memoryPageCount += 1
    return pool.take()
  }

  func giveBack(_ block: UnsafeMutableRawPointer) {
    memoryPageCount -= 1
    pool.put(block)
  }

  /// Forgets every page in memory, those that savepoints keep included.
  func dropBlocks() {
    for savepoint in savepoints {
      savepoint.replaced.forEach { _, block in if let block { giveBack(block) } }
    }
    table.pointee.forEach { _, block in if let block { giveBack(block) } }
    for position in savepoints.indices { savepoints[position].replaced.removeAll() }
    table.pointee.removeAll()
  }

  /// Lets reading follow what has happened to the index, the segments or the page count.
  func refreshSource(pageCount: PageNumber) {
    if loader.segments !== log.segments { loader = state.loader(for: log.segments) }
    source.pointee = state.source(
      working: table, index: index, loader: loader, pageCount: pageCount,
      changeCount: source.pointee.changeCount)
    moveCount &+= 1
    noteChange()
  }
}

/// Page buffers kept between transactions, so that a small commit allocates nothing large.
///
/// Used under the writer lock only.
package final class PagePool: @unchecked Sendable {
  // @unchecked because only the holder of the writer lock uses it.
  private var free: [UnsafeMutableRawPointer] = []
  private let pageByteCount: Int
  /// Enough for the pages of a common small transaction; more go back to the allocator.
  private static let keptCount = 256

  package init(pageByteCount: Int) { self.pageByteCount = pageByteCount }

  deinit { for block in free { block.deallocate() } }

  func take() -> UnsafeMutableRawPointer {
    free.popLast() ?? .allocate(byteCount: pageByteCount, alignment: 4096)
  }

  func put(_ block: UnsafeMutableRawPointer) { free.append(block) }

  /// Gives back what a transaction has needed beyond the usual; within it, what it has written to
  /// the log makes room for what comes.
  func trim() {
    while free.count > Self.keptCount { free.removeLast().deallocate() }
  }
}
