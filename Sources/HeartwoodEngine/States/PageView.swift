/// A reference to one page in memory.
///
/// The reference is valid until it is passed to ``PageView/release(_:)``.
package struct PageReference {
  package let bytes: Bytes
  /// The cache entry to unpin, or `nil` if the page is in a mapping or belongs to the writer.
  let entry: Unmanaged<PageCache.Entry>?
}

/// The data needed to look up pages in one state, kept together in memory.
///
/// A ``GenerationState`` or a ``WorkingPages`` object owns the source. Readers use raw pointers to
/// the source, so a point read does no reference counting. All memory that the source points to
/// remains valid while the owner exists.
package struct PageSource {
  let root: PageIndex.Node?
  let depth: Int
  let firstSegment: UInt64
  let segmentCount: UInt64
  let segmentShift: UInt64
  let slotMask: UInt64
  let segments: UnsafePointer<PageRegion>
  let windowCount: Int
  let windowShift: Int
  let windows: UnsafePointer<PageRegion>
  let pageShift: Int
  var pageCount: PageNumber
  let isMapped: Bool
  /// The writer's own pages, or `nil` for readers.
  let working: UnsafeMutablePointer<WorkingTable>?
  let loader: Unmanaged<PageLoader>
  /// A counter that the writer increments on every change.
  var changeCount: Int
  let origin = ProcessOrigin()
  let suspension: Suspensions.Period
}

/// The pages of a store in one state.
///
/// A writer's view includes the writer's own changes.
///
/// A view consists of one pointer and does not keep the state alive. In a given state, a page
/// number always refers to the same bytes.
package struct PageView {
  let source: UnsafeMutablePointer<PageSource>

  package var pageByteCount: Int {
    @inline(__always) get { 1 &<< source.pointee.pageShift }
  }

  package var changeCount: Int {
    @inline(__always) get { source.pointee.changeCount }
  }

  /// Records a change, which makes cursors in a writer's view look up their positions again.
  @inline(__always)
  package func recordChange() { source.pointee.changeCount &+= 1 }

  package var pageCount: PageNumber {
    @inline(__always) get { source.pointee.pageCount }
  }

  /// A Boolean value that indicates whether this process created the view and the store has not
  /// been suspended since then.
  package var isCurrent: Bool {
    @inline(__always) get {
      !source.pointee.origin.isInherited && !source.pointee.suspension.hasPassed
    }
  }

  /// Throws an error if the view can no longer be used.
  ///
  /// - Throws: `forked` in a child of the process that created the view, or `generationExpired` if
  ///   the store has been suspended since the view was created.
  package func requireCurrent() throws(StorageError) {
    guard !isCurrent else { return }
    try source.pointee.origin.requireOwn("pages")
    throw Suspensions.ended
  }

  /// Returns the verified page with this number.
  ///
  /// - Throws: `corrupt` if the number is out of range or the bytes are damaged, `io` if the bytes
  ///   cannot be read, or any error from ``requireCurrent()``.
  /// - Complexity: With `.mapped` access, a page that is already verified requires no system call
  ///   and no lock.
  @inline(__always)
  package func page(_ number: PageNumber) throws(StorageError) -> PageReference {
    let source = source
    guard isCurrent else { return try slowPage(number) }
    if let working = source.pointee.working, let own = working.pointee.block(of: number) {
      return PageReference(bytes: Bytes(own, count: 1 &<< source.pointee.pageShift), entry: nil)
    }
    if source.pointee.isMapped, number < source.pointee.pageCount {
      let frame = PageIndex.frame(
        of: number, root: source.pointee.root, depth: source.pointee.depth)
      let region: UnsafePointer<PageRegion>
      let position: Int
      if frame != 0 {
        let segment = (frame &>> source.pointee.segmentShift) &- source.pointee.firstSegment
        guard segment < source.pointee.segmentCount else { return try slowPage(number) }
        region = source.pointee.segments + Int(truncatingIfNeeded: segment)
        position = Int(truncatingIfNeeded: frame & source.pointee.slotMask)
      } else {
        let window = Int(number) &>> source.pointee.windowShift
        guard window < source.pointee.windowCount else { return try slowPage(number) }
        region = source.pointee.windows + window
        position = Int(number) & ((1 &<< source.pointee.windowShift) &- 1)
      }
      if region.pointee.isVerified(position) {
        return PageReference(
          bytes: Bytes(
            region.pointee.pages + (position &<< source.pointee.pageShift),
            count: 1 &<< source.pointee.pageShift),
          entry: nil)
      }
    }
    return try slowPage(number)
  }

  @inline(never)
  private func slowPage(_ number: PageNumber) throws(StorageError) -> PageReference {
    try requireCurrent()
    guard number < source.pointee.pageCount else {
      throw .corrupt(
        "The store is corrupt: it refers to a page beyond the end of the page file. Restore a "
          + "backup.",
        page: number)
    }
    let frame = PageIndex.frame(of: number, root: source.pointee.root, depth: source.pointee.depth)
    return try source.pointee.loader.takeUnretainedValue().page(number, frame: frame)
  }

  @inline(__always)
  package func release(_ reference: PageReference) {
    if let entry = reference.entry { unpin(entry) }
  }

  @inline(never)
  private func unpin(_ entry: Unmanaged<PageCache.Entry>) {
    let owner = entry.takeRetainedValue()
    guard !source.pointee.origin.isInherited else { return }
    source.pointee.loader.takeUnretainedValue().cache.unpin(owner)
  }
}
