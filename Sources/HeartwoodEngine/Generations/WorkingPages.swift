/// The writer's private pages: allocated, copied on first write, freed; nobody else sees them.
///
/// Used by one thread at a time, the one that holds the writer lock.
package final class WorkingPages {
  /// The version of this transaction's rows: its first frame.
  package let base: FrameNumber
  package let state: GenerationState
  private let files: StoreFiles
  private let table: UnsafeMutablePointer<WorkingTable>
  private let source: UnsafeMutablePointer<PageSource>
  private var freeSpace: FreeSpace
  private let pool: PagePool

  package init(on state: GenerationState, files: StoreFiles, pool: PagePool, base: FrameNumber) {
    self.state = state
    self.files = files
    self.pool = pool
    self.base = base
    table = .allocate(capacity: 1)
    table.initialize(to: WorkingTable())
    source = .allocate(capacity: 1)
    source.initialize(to: state.source(working: table))
    freeSpace = FreeSpace(
      pageByteCount: files.geometry.pageByteCount, lowestFree: state.lowestFree)
  }

  deinit {
    table.pointee.forEach { _, block in pool.put(block) }
    table.pointee.deallocate()
    table.deallocate()
    source.deallocate()
  }

  /// Pages as this transaction sees them.
  package var view: PageView { PageView(source: source) }

  package var pageCount: PageNumber { source.pointee.pageCount }
  package var lowestFree: PageNumber { freeSpace.lowestFree }
  package var isUnchanged: Bool { table.pointee.count == 0 }

  /// The bytes of a page, to be changed; copied from the state on first use.
  ///
  /// The address stays the same until the transaction ends or the page is freed.
  package func writable(_ number: PageNumber) throws(StorageError) -> MutableBytes {
    let byteCount = files.geometry.pageByteCount
    if let own = table.pointee.block(of: number) { return MutableBytes(own, count: byteCount) }
    let original = try view.page(number)
    defer { view.release(original) }
    let copy = MutableBytes(pool.take(), count: byteCount)
    copy.copy(original.bytes, to: 0)
    table.pointee.set(copy.base, of: number)
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
    if let own = table.pointee.block(of: number) { pool.put(own) }
    table.pointee.set(nil, of: number)
  }

  /// Makes cursors of this transaction look again for their place.
  package func noteChange() { source.pointee.changeCount &+= 1 }

  /// Makes a page beyond or within the page count, without asking the bitmaps.
  func makePage(_ number: PageNumber, _ kind: PageKind, tree: TreeID, level: UInt8) {
    let block = table.pointee.block(of: number) ?? pool.take()
    let bytes = MutableBytes(block, count: files.geometry.pageByteCount)
    bytes.clear(0, bytes.count)
    bytes.store32(number, PageLayout.page.offset)
    bytes.store32(tree, PageLayout.tree.offset)
    bytes.store8(kind.rawValue, PageLayout.kind.offset)
    bytes.store8(level, PageLayout.level.offset)
    table.pointee.set(block, of: number)
    if number >= source.pointee.pageCount { source.pointee.pageCount = number + 1 }
  }

  /// The changed pages in page order, ready for the log.
  package func images() -> [LogWriter.Image] {
    var images: [LogWriter.Image] = []
    images.reserveCapacity(table.pointee.count)
    table.pointee.forEach { number, block in
      images.append(
        LogWriter.Image(
          page: number, bytes: MutableBytes(block, count: files.geometry.pageByteCount)))
    }
    images.sort { $0.page < $1.page }
    return images
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

  func put(_ block: UnsafeMutableRawPointer) {
    if free.count < Self.keptCount { free.append(block) } else { block.deallocate() }
  }
}
