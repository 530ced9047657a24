/// A loader that finds and verifies the pages that ``PageView/page(_:)`` cannot return on its fast
/// path.
package final class PageLoader: Sendable {
  let files: StoreFiles
  let segments: SegmentTable
  /// The mapped windows of the page file, for pages without an entry in the index.
  let windows: [PageRegion]
  /// A Boolean value that indicates whether to verify every page again even if its verified bit is
  /// set, as `verify()` requires.
  let alwaysVerifies: Bool

  init(files: StoreFiles, segments: SegmentTable, windows: [PageRegion], alwaysVerifies: Bool) {
    self.files = files
    self.segments = segments
    self.windows = windows
    self.alwaysVerifies = alwaysVerifies
  }

  var cache: PageCache { files.cache }

  /// Returns a page from the log frame `frame`, or from the page file if `frame` is 0.
  func page(_ number: PageNumber, frame: FrameNumber) throws(StorageError) -> PageReference {
    if frame == 0 { return try fromPageFile(number) }
    let geometry = files.geometry
    guard let segment = segments[geometry.segment(of: frame)] else {
      throw .corrupt(
        "The log is corrupt: the segment that contains frame \(frame) is missing. Restore a "
          + "backup.",
        file: geometry.segmentName(geometry.segment(of: frame)), page: number)
    }
    let name = geometry.segmentName(segment.number)
    if let region = segment.region {
      return try mapped(number, region, geometry.slot(of: frame), name, frame)
    }
    return try cached(number, location: frame << 1 | 1, name, frame) {
      target throws(StorageError) in
      let count = try segment.file.read(into: target, at: geometry.offset(of: frame))
      guard count == 0, try !segment.file.exists() else { return count }
      // Read the page from the page file, because a checkpoint has deleted the segment. The page
      // file cannot contain a later version of the page, because no checkpoint advances past a live
      // generation.
      return try files.pageFile.read(number, into: target)
    }
  }

  private func fromPageFile(_ number: PageNumber) throws(StorageError) -> PageReference {
    let window = Int(number) >> files.pageFile.windowShift
    if window < windows.count {
      // Check the length first, because a damaged tree may refer to a free page that was never
      // written to the file.
      guard try files.pageFile.holds(number) else {
        throw .corrupt(
          "The page file is corrupt: it is too short to contain a page of the store. Restore a "
            + "backup.",
          file: "pages",
          page: number)
      }
      let position = Int(number) & ((1 << files.pageFile.windowShift) - 1)
      return try mapped(number, windows[window], position, "pages", nil)
    }
    return try cached(number, location: UInt64(number) << 1, "pages", nil) {
      target throws(StorageError) in
      try files.pageFile.read(number, into: target)
    }
  }

  private func mapped(
    _ number: PageNumber, _ region: PageRegion, _ position: Int, _ name: String,
    _ frame: FrameNumber?
  ) throws(StorageError) -> PageReference {
    let bytes = Bytes(
      region.pages + (position << files.geometry.pageShift), count: files.geometry.pageByteCount)
    try verify(bytes, number, name, frame)
    if !alwaysVerifies { region.setVerified(position) }
    return PageReference(bytes: bytes, entry: nil)
  }

  private func cached(
    _ number: PageNumber, location: PageCache.Location, _ name: String, _ frame: FrameNumber?,
    _ read: (MutableBytes) throws(StorageError) -> Int
  ) throws(StorageError) -> PageReference {
    if alwaysVerifies { cache.forget(location) }
    let entry = try cache.pin(location) { target throws(StorageError) in
      guard try read(target) == target.count else {
        throw .corrupt(
          "The file is corrupt: it is too short to contain a page of the store. Restore a backup.",
          file: name, page: number)
      }
      try verify(target.bytes, number, name, frame)
    }
    return PageReference(bytes: entry.block.bytes.bytes, entry: Unmanaged.passRetained(entry))
  }

  private func verify(
    _ bytes: Bytes, _ number: PageNumber, _ name: String, _ frame: FrameNumber?
  ) throws(StorageError) {
    files.activity.update { $0.verifiedPageCount += 1 }
    try PageChecks.verify(
      bytes, page: number, seed: files.identity.seed, file: name, structure: files.structure)
    let found = bytes.load64(PageLayout.frame.offset)
    if let frame, found != frame {
      throw .corrupt(
        "The page is corrupt: its frame number is \(found) instead of \(frame). Restore a backup.",
        file: name, page: number)
    }
    if frame == nil, found > files.counters.checkpointed {
      throw .corrupt(
        "The page is corrupt: its frame number is \(found), but that frame was never written to "
          + "the page file. Restore a backup.", file: name,
        page: number)
    }
  }
}
