/// The immutable state of one generation, used to locate and read its pages.
///
/// All readers of the generation share this object. The object owns the index, the segment mappings
/// and the windows that its ``PageView`` points to.
package final class GenerationState: @unchecked Sendable {
  // `@unchecked` is safe because the memory of `windows` and `source` is written only in `init`.
  package let point: CommitPoint
  package let index: PageIndex
  package let segments: SegmentTable
  /// The page number at which a writer starts searching for free pages.
  ///
  /// No page with a lower number is free.
  package let lowestFree: PageNumber
  private let loader: PageLoader
  private let windows: UnsafeMutablePointer<PageRegion>
  private let source: UnsafeMutablePointer<PageSource>

  package init(
    point: CommitPoint, index: PageIndex, segments: SegmentTable, files: StoreFiles,
    lowestFree: PageNumber = 0, alwaysVerifies: Bool = false
  ) throws(StorageError) {
    self.point = point
    self.index = index
    self.segments = segments
    self.lowestFree = lowestFree
    let regions = try files.pageFile.regions(covering: point.pageCount)
    windows = .allocate(capacity: max(regions.count, 1))
    for (position, region) in regions.enumerated() {
      (windows + position).initialize(to: region)
    }
    loader = PageLoader(
      files: files, segments: segments, windows: regions, alwaysVerifies: alwaysVerifies)
    source = .allocate(capacity: 1)
    source.initialize(
      to: PageSource(
        root: index.root, depth: index.depth, firstSegment: segments.first,
        segmentCount: UInt64(segments.regionCount),
        segmentShift: UInt64(files.geometry.segmentShift),
        slotMask: UInt64(files.geometry.framesPerSegment - 1),
        segments: UnsafePointer(segments.regions), windowCount: regions.count,
        windowShift: files.pageFile.windowShift, windows: UnsafePointer(windows),
        pageShift: files.geometry.pageShift, pageCount: point.pageCount,
        isMapped: files.log.isMapped && !alwaysVerifies, working: nil,
        loader: Unmanaged.passUnretained(loader), changeCount: 0,
        suspension: files.suspensions.period))
  }

  deinit {
    source.deallocate()
    windows.deallocate()
  }

  package var generation: FrameNumber { point.frame }
  package var files: StoreFiles { loader.files }

  /// A view of the pages in this state.
  ///
  /// The view is valid while the state exists.
  package var view: PageView { PageView(source: source) }

  func loader(for segments: SegmentTable) -> PageLoader {
    if segments === self.segments { return loader }
    return PageLoader(
      files: loader.files, segments: segments, windows: loader.windows, alwaysVerifies: false)
  }

  /// Returns a page source for a transaction that builds on this state.
  ///
  /// - Parameters:
  ///   - index: The index of this state, plus the pages that the transaction has written to the
  ///     log.
  ///   - loader: A loader from ``loader(for:)``. The caller must keep the loader and the index
  ///     alive.
  func source(
    working: UnsafeMutablePointer<WorkingTable>, index: PageIndex, loader: PageLoader,
    pageCount: PageNumber, changeCount: Int
  ) -> PageSource {
    let old = source.pointee
    return PageSource(
      root: index.root, depth: index.depth, firstSegment: loader.segments.first,
      segmentCount: UInt64(loader.segments.regionCount), segmentShift: old.segmentShift,
      slotMask: old.slotMask, segments: UnsafePointer(loader.segments.regions),
      windowCount: old.windowCount, windowShift: old.windowShift, windows: old.windows,
      pageShift: old.pageShift, pageCount: pageCount, isMapped: old.isMapped, working: working,
      loader: Unmanaged.passUnretained(loader), changeCount: changeCount,
      suspension: old.suspension)
  }

  /// Returns a copy of this state that needs neither the log up to `checkpointed` nor the deleted
  /// segments in `gone`.
  ///
  /// The copy's index has no entries for frames up to `checkpointed`, because the page file
  /// contains those pages.
  package func pruned(
    checkpointed: FrameNumber, gone: Set<UInt64>
  ) throws(StorageError) -> GenerationState {
    var kept = index
    // While generations are held, the page file usually does not advance, so there are no entries
    // to remove. In that case, share the index, because building another index would keep writers
    // waiting.
    if index.hasFrames(upTo: checkpointed) {
      kept = PageIndex()
      index.forEach(newerThan: checkpointed) { page, frame in kept.set(page, to: frame) }
    }
    return try GenerationState(
      point: point, index: kept,
      segments: segments.dropping(below: segment(after: checkpointed), gone), files: files,
      lowestFree: lowestFree)
  }

  /// Returns whether this state refers to any segment that contains only frames up to
  /// `checkpointed`.
  func hasSegments(upTo checkpointed: FrameNumber) -> Bool {
    !segments.segments.isEmpty && segments.first < segment(after: checkpointed)
  }

  /// Returns the number of the first segment that may contain frames after `checkpointed`.
  private func segment(after checkpointed: FrameNumber) -> UInt64 {
    files.geometry.segment(of: files.geometry.next(after: checkpointed))
  }

  /// Returns a copy of this state that can be used to read pages after a suspension.
  package func renewed(alwaysVerifies: Bool = false) throws(StorageError) -> GenerationState {
    try GenerationState(
      point: point, index: index, segments: segments, files: files, lowestFree: lowestFree,
      alwaysVerifies: alwaysVerifies)
  }
}
