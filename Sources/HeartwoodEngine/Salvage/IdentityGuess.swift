/// A search through damaged headers for the identity of a store.
///
/// A header with a wrong hash may still contain the right numbers, so the search tests each
/// candidate against the store's pages. The identity seeds the hashes of all pages, so a page with
/// the right hash confirms the identity.
struct IdentityGuess {
  /// The names of the log segments, with which the geometry must be consistent.
  private let segments: [String]
  private var identities: [StoreIdentity] = []
  private var framesPerSegment: [Int] = []
  private var segmentByteCount: Int?

  /// The number of pages against which each identity is tested.
  private static let triedPageCount: PageNumber = 64

  init(_ segments: [String]) { self.segments = segments }

  /// Collects the numbers that are stored at the offsets of the identity and size fields in all
  /// headers.
  mutating func collect(
    from directory: String, in files: DamagedFiles
  ) throws(StorageError) {
    typealias Slot = HeaderSlotLayout
    typealias Segment = SegmentLayout
    typealias Atomic = AtomicFileLayout
    let page = directory + "/pages"
    for offset in Slot.offsets {
      try collect(page, files, offset, Slot.storeHigh, Slot.storeLow, Slot.framesPerSegment)
    }
    for name in segments.prefix(100) {
      let path = directory + "/" + name
      try collect(
        path, files, 0, Segment.storeHigh, Segment.storeLow, Segment.framesPerSegment)
      if segmentByteCount == nil, let file = try files.open(path, .read) {
        segmentByteCount = Int(clamping: try file.byteCount())
      }
    }
    for name in ["map", "kept"] {
      try collect(directory + "/" + name, files, 0, Atomic.storeHigh, Atomic.storeLow, nil)
    }
  }

  private mutating func collect(
    _ path: String, _ files: DamagedFiles, _ offset: UInt64, _ high: Field, _ low: Field,
    _ frames: Field?
  ) throws(StorageError) {
    guard let file = try files.open(path, .read) else { return }
    let found = try file.withBytes(HeaderSlotLayout.byteCount, at: offset) {
      bytes throws(StorageError) in
      (
        StoreIdentity(high: bytes.load64(high.offset), low: bytes.load64(low.offset)),
        frames.map { Int(bytes.load32($0.offset)) }
      )
    }
    if !identities.contains(found.0) { identities.append(found.0) }
    if let count = found.1 { framesPerSegment.append(count) }
  }

  /// Returns the identity and geometry that match the hashes of the most pages, or `nil` if no
  /// combination matches any page.
  func best(
    for pages: (any File)?
  ) throws(StorageError) -> (StoreIdentity, Geometry)? {
    guard let pages else { return nil }
    var best: (identity: StoreIdentity, pageByteCount: Int)?
    var bestCount = 0
    for identity in identities {
      var pageByteCount = Limits.minPageByteCount
      while pageByteCount <= Limits.maxPageByteCount {
        let count = try fittingPageCount(pages, pageByteCount, identity)
        if count > bestCount { (best, bestCount) = ((identity, pageByteCount), count) }
        pageByteCount *= 2
      }
    }
    guard let best, let geometry = geometry(pageByteCount: best.pageByteCount) else { return nil }
    return (best.identity, geometry)
  }

  private func fittingPageCount(
    _ pages: any File, _ pageByteCount: Int, _ identity: StoreIdentity
  ) throws(StorageError) -> Int {
    var count = 0
    for page in 0..<Self.triedPageCount {
      let offset = Geometry.firstPageOffset + UInt64(page) * UInt64(pageByteCount)
      let fits = try pages.withBytes(pageByteCount, at: offset) { bytes throws(StorageError) in
        bytes.load32(PageLayout.page.offset) == page
          && PageChecks.hash(bytes, seed: identity.seed) == bytes.load64(PageLayout.hash.offset)
      }
      if fits { count += 1 }
    }
    return count
  }

  /// Returns a geometry with the given page size that is consistent with the names of the log
  /// segments.
  private func geometry(pageByteCount: Int) -> Geometry? {
    var counts = framesPerSegment
    if let segmentByteCount { counts.append(segmentByteCount / pageByteCount) }
    var count = Limits.maxSegmentByteCount / pageByteCount
    while count >= 8 {
      counts.append(count)
      count /= 2
    }
    for count in counts where count <= Limits.maxSegmentByteCount / pageByteCount && count >= 8 {
      guard
        let geometry = Geometry(
          pageByteCount: pageByteCount, segmentByteCount: count * pageByteCount),
        segments.allSatisfy({ geometry.segment(named: $0) != nil })
      else { continue }
      return geometry
    }
    return nil
  }
}
