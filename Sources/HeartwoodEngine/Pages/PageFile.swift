import Synchronization

/// The page file, which contains two header slots followed by the pages.
///
/// The file is mapped in windows that never move, so that a pointer into a window stays valid while
/// the store is open. This class is thread-safe: `lock` guards the creation of windows.
package final class PageFile: @unchecked Sendable {
  // `@unchecked` is safe because `windows` is accessed only under `lock`.
  package let file: any File
  package let geometry: Geometry
  private let isMapped: Bool
  private let lock = Lock()
  private var windows: [Window] = []
  /// A lower bound on the length of the file, in bytes.
  private let knownByteCount = Atomic<UInt64>(0)
  /// The state for which the verified bits, the known length and the cache are valid.
  private let state = Atomic<UInt64>(0)

  /// The smallest step by which the file grows.
  ///
  /// As the file grows, the step increases to at most an eighth of the file's length, but never
  /// exceeds the largest step.
  private static let leastStepByteCount: UInt64 = 256 << 10
  private static let greatestStepByteCount: UInt64 = 16 << 20

  package struct Window {
    let mapping: Mapping
    let bits: VerifiedBits
    var region: PageRegion {
      PageRegion(pages: mapping.bytes.bytes.base, verified: bits.words)
    }
  }

  /// The number of bytes in a window.
  ///
  /// Windows are large enough that a file needs few of them, and small enough to fit in any address
  /// space.
  package static let windowByteCount = 1 << 30

  package init(file: any File, geometry: Geometry, isMapped: Bool) {
    self.file = file
    self.geometry = geometry
    self.isMapped = isMapped
  }

  package var windowShift: Int { Self.windowByteCount.trailingZeroBitCount - geometry.pageShift }

  /// Returns all windows, after creating those that are needed to cover `pageCount` pages.
  ///
  /// The method returns fewer windows if the file system does not support mappings, and none if
  /// files are not mapped.
  package func regions(covering pageCount: PageNumber) throws(StorageError) -> [PageRegion] {
    guard isMapped else { return [] }
    let needed = (Int(pageCount) + (1 << windowShift) - 1) >> windowShift
    return try lock.withLock { () throws(StorageError) in
      while windows.count < needed {
        let offset = Geometry.firstPageOffset + UInt64(windows.count * Self.windowByteCount)
        guard let mapping = try file.map(offset, byteCount: Self.windowByteCount) else { break }
        windows.append(Window(mapping: mapping, bits: VerifiedBits(pageCount: 1 << windowShift)))
      }
      return windows.map(\.region)
    }
  }

  /// Records that the file contains the state of the generation `checkpointed`.
  ///
  /// If another process wrote that state, the method also discards the cached information about the
  /// file. Call this method before you read pages through an index that was built from this state.
  /// Readers of an older state are not affected, because the log contains every page that has
  /// changed since that state.
  package func adoptState(_ checkpointed: FrameNumber, _ cache: PageCache) {
    lock.withLock {
      guard state.load(ordering: .acquiring) != checkpointed else { return }
      cache.forgetPages()
      knownByteCount.store(0, ordering: .releasing)
      for window in windows { window.bits.clear(from: 0) }
      // Store the state last, because a thread that reads the new state assumes that all outdated
      // information has been discarded.
      state.store(checkpointed, ordering: .releasing)
    }
  }

  package var knownState: FrameNumber { state.load(ordering: .acquiring) }

  /// Records that this process itself has written the state of the generation `checkpointed` to the
  /// file.
  package func setOwnState(_ checkpointed: FrameNumber) {
    state.store(checkpointed, ordering: .releasing)
  }

  /// Clears the verified bit of a page whose bytes are about to change.
  package func clearVerified(_ page: PageNumber) {
    lock.withLock {
      let window = Int(page) >> windowShift
      guard window < windows.count else { return }
      windows[window].region.clearVerified(Int(page) & ((1 << windowShift) - 1))
    }
  }

  /// Makes all earlier writes to the file durable.
  ///
  /// If the sync fails, the method throws `io` even if the disk is full.
  package func sync() throws(StorageError) {
    do throws(StorageError) { try file.sync() } catch { throw error.endingSync }
  }

  // MARK: Length

  /// Returns whether the file contains the complete page.
  ///
  /// The method makes at most one system call.
  ///
  /// Call this method before reading a page through a mapping, because access past the end of the
  /// file is fatal.
  package func holds(_ page: PageNumber) throws(StorageError) -> Bool {
    let end = geometry.offset(ofPage: page) + UInt64(geometry.pageByteCount)
    if end <= knownByteCount.load(ordering: .acquiring) { return true }
    return try lock.withLock { () throws(StorageError) in try end <= measure() }
  }

  /// Allocates disk space for at least `pageCount` pages, and usually for more.
  ///
  /// - Parameter mayHaveBeenCut: Whether another process may have truncated the file.
  /// - Throws: `diskFull` if the file system has no space. In that case, the file is unchanged.
  /// - Complexity: No system call if the space is known to exist and cannot have been truncated.
  package func reserve(_ pageCount: PageNumber, mayHaveBeenCut: Bool) throws(StorageError) {
    let needed = geometry.offset(ofPage: pageCount)
    guard mayHaveBeenCut || knownByteCount.load(ordering: .acquiring) < needed else { return }
    try lock.withLock { () throws(StorageError) in
      // Measure the file instead of relying on `knownByteCount`, because another process may have
      // changed the length.
      guard try measure() < needed else { return }
      do throws(StorageError) {
        try file.reserve(byteCount: reservedByteCount(pageCount))
      } catch {
        guard error.kind == .diskFull else { throw error }
        try file.reserve(byteCount: needed)
      }
      _ = try measure()
    }
  }

  /// Truncates the file to the length reserved for `pageCount` pages.
  ///
  /// - Precondition: No other thread or process reserves space at the same time, and no state that
  ///   has readers contains more than `pageCount` pages.
  package func cut(_ pageCount: PageNumber) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      let kept = reservedByteCount(pageCount)
      guard try kept < measure() else { return }
      knownByteCount.store(kept, ordering: .releasing)
      // Clear the verified bits of pages beyond the new end, because these pages will contain
      // different bytes if the file grows again.
      for (number, window) in windows.enumerated() where (number + 1) << windowShift > pageCount {
        window.bits.clear(from: max(0, Int(pageCount) - number << windowShift))
      }
      try file.setByteCount(kept)
    }
  }

  /// Returns the file length in bytes for `pageCount` pages, rounded up to a multiple of a step.
  ///
  /// The step grows with the file, so that small commits rarely allocate space.
  package func reservedByteCount(_ pageCount: PageNumber) -> UInt64 {
    let needed = geometry.offset(ofPage: pageCount)
    let greatestPower = UInt64(1) << UInt64(63 - (needed / 8).leadingZeroBitCount)
    let step = min(max(greatestPower, Self.leastStepByteCount), Self.greatestStepByteCount)
    return (needed + step - 1) / step * step
  }

  /// Records and returns the file's length.
  ///
  /// The caller must hold the lock, so that no truncation is missed.
  private func measure() throws(StorageError) -> UInt64 {
    let found = try file.byteCount()
    knownByteCount.store(found, ordering: .releasing)
    return found
  }

  /// Reads a page, and returns the number of bytes read.
  ///
  /// The number is less than the page size if the file ends within the page.
  package func read(_ page: PageNumber, into target: MutableBytes) throws(StorageError) -> Int {
    try file.read(into: target, at: geometry.offset(ofPage: page))
  }
}
