import Synchronization

/// The page file: two header slots, then pages.
///
/// Mapped in windows that are made when first needed and never move, so that a pointer into one
/// stays right while the store is open. Thread-safe; `lock` guards the making of windows.
package final class PageFile: @unchecked Sendable {
  // @unchecked because `windows` is filled under `lock` and read through `window(_:)` only.
  package let file: any File
  package let geometry: Geometry
  private let isMapped: Bool
  private let lock = Lock()
  private var windows: [Window] = []
  /// A length the file has at least.
  private let knownByteCount = Atomic<UInt64>(0)
  /// The state that what is known of the pages belongs to.
  private let state = Atomic<UInt64>(0)

  /// Steps in which space is taken: a step is worth a system call, and not an eighth of the file.
  private static let leastStepByteCount: UInt64 = 256 << 10
  private static let greatestStepByteCount: UInt64 = 16 << 20

  /// One mapped stretch of the page file.
  package struct Window {
    let mapping: Mapping
    let bits: VerifiedBits
    var region: PageRegion {
      PageRegion(pages: mapping.bytes.bytes.base, verified: bits.words)
    }
  }

  /// Bytes in a window: large enough that few are needed, small enough for any address space.
  package static let windowByteCount = 1 << 30

  package init(file: any File, geometry: Geometry, isMapped: Bool) {
    self.file = file
    self.geometry = geometry
    self.isMapped = isMapped
  }

  /// The binary logarithm of the number of pages in a window.
  package var windowShift: Int { Self.windowByteCount.trailingZeroBitCount - geometry.pageShift }

  /// The windows that cover `pageCount` pages, made if they are missing.
  package func regions(covering pageCount: PageNumber) throws(StorageError) -> [PageRegion] {
    guard isMapped else { return [] }
    let needed = (Int(pageCount) + (1 << windowShift) - 1) >> windowShift
    return try lock.withLock { () throws(StorageError) in
      while windows.count < needed {
        let offset = Geometry.firstPageOffset + UInt64(windows.count * Self.windowByteCount)
        guard let mapping = try file.map(offset, byteCount: Self.windowByteCount) else { break }
        windows.append(
          Window(mapping: mapping, bits: VerifiedBits(pageCount: 1 << windowShift)))
      }
      return windows.map(\.region)
    }
  }

  /// Notes which state the file holds; if another process brought it there, nothing that was
  /// verified or measured counts any more.
  ///
  /// Before anybody reads through an index that begins at that state. Who still reads an older one
  /// is led to the log for all that has changed.
  package func noteState(_ backfilled: FrameNumber, _ cache: PageCache) {
    lock.withLock {
      guard state.load(ordering: .acquiring) != backfilled else { return }
      cache.forgetPages()
      knownByteCount.store(0, ordering: .releasing)
      for window in windows { window.bits.clear(from: 0) }
      // Last: a thread that finds the state noted reads through an index that begins at it.
      state.store(backfilled, ordering: .releasing)
    }
  }

  /// The state that what is known of the pages belongs to.
  package var knownState: FrameNumber { state.load(ordering: .acquiring) }

  /// Notes the state this process has brought the file to itself, page by page.
  package func noteOwnState(_ backfilled: FrameNumber) {
    state.store(backfilled, ordering: .releasing)
  }

  /// Forgets that a page was verified: its bytes are about to change.
  package func clearVerified(_ page: PageNumber) {
    lock.withLock {
      let window = Int(page) >> windowShift
      guard window < windows.count else { return }
      windows[window].region.clearVerified(Int(page) & ((1 << windowShift) - 1))
    }
  }

  // MARK: Length

  /// Whether the file holds the whole page: touching a mapping past the end is fatal.
  ///
  /// - Complexity: A system call when the file was never known to be that long.
  package func holds(_ page: PageNumber) throws(StorageError) -> Bool {
    let end = geometry.offset(ofPage: page) + UInt64(geometry.pageByteCount)
    if end <= knownByteCount.load(ordering: .acquiring) { return true }
    return try lock.withLock { () throws(StorageError) in try end <= measure() }
  }

  /// Takes the space for so many pages before they are needed, and for some more.
  ///
  /// - Parameter mayHaveBeenCut: Whether another process may have given back what was there.
  /// - Throws: `full` if the file system does not have it; the file is as it was then.
  /// - Complexity: One system call for most page counts, as space is taken in steps; none if it was
  ///   there and cannot have been cut.
  package func reserve(
    _ pageCount: PageNumber, mayHaveBeenCut: Bool
  ) throws(StorageError) {
    let needed = geometry.offset(ofPage: pageCount)
    guard mayHaveBeenCut || knownByteCount.load(ordering: .acquiring) < needed else { return }
    try lock.withLock { () throws(StorageError) in
      // Measured each time: another process may have cut what was there a moment ago.
      guard try measure() < needed else { return }
      do throws(StorageError) {
        try file.reserve(byteCount: reservedByteCount(pageCount))
      } catch {
        guard error.kind == .full else { throw error }
        // The last room there is goes to pages that are there, not to those that may come.
        try file.reserve(byteCount: needed)
      }
      _ = try measure()
    }
  }

  /// Gives back the space behind so many pages, apart from what would be taken again soon.
  ///
  /// Nobody reserves at the same time, and no state that is read has more pages.
  package func cut(_ pageCount: PageNumber) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      let kept = reservedByteCount(pageCount)
      guard try kept < measure() else { return }
      knownByteCount.store(kept, ordering: .releasing)
      // What was verified there is gone.
      for (number, window) in windows.enumerated() where (number + 1) << windowShift > pageCount {
        window.bits.clear(from: max(0, Int(pageCount) - number << windowShift))
      }
      try file.setByteCount(kept)
    }
  }

  /// The length that is kept for so many pages: rounded up to a step that grows with the file, so
  /// that small commits rarely take space.
  package func reservedByteCount(_ pageCount: PageNumber) -> UInt64 {
    let needed = geometry.offset(ofPage: pageCount)
    let greatestPower = UInt64(1) << UInt64(63 - (needed / 8).leadingZeroBitCount)
    let step = min(max(greatestPower, Self.leastStepByteCount), Self.greatestStepByteCount)
    return (needed + step - 1) / step * step
  }

  /// Asks for the length; under the lock, so that no cut is overlooked.
  private func measure() throws(StorageError) -> UInt64 {
    let found = try file.byteCount()
    knownByteCount.store(found, ordering: .releasing)
    return found
  }

  /// Reads a page's bytes; pages past the end of the file read short.
  package func read(_ page: PageNumber, into target: MutableBytes) throws(StorageError) -> Int {
    try file.read(into: target, at: geometry.offset(ofPage: page))
  }
}
