/// W3: makes appended commits durable, one sync for all that are waiting.
///
/// One of those who wait syncs everything appended until then; the others wake together when it is
/// done, and those whose commit it covered go on at once. Thread-safe.
package final class SyncQueue: @unchecked Sendable {
  // @unchecked because `isSyncing` is guarded by `lock`.
  private let files: StoreFiles
  private let table: GenerationTable
  private let lock = Lock()
  private var isSyncing = false

  package init(files: StoreFiles, table: GenerationTable) {
    self.files = files
    self.table = table
  }

  /// Returns when `generation` is durable and visible.
  ///
  /// - Throws: `failed` after an earlier failure; the sync's own error, after which nobody writes
  ///   any more: a failed sync is never tried again, because the system may have dropped the pages.
  /// - Complexity: At most one sync for each segment appended to since the last.
  package func makeDurable(_ generation: FrameNumber) throws(StorageError) {
    assert(
      LockOrder.enter(LockByte.sync, of: files.locks.file),
      "a sync was requested out of lock order")
    defer { assert(LockOrder.leave(LockByte.sync, of: files.locks.file)) }
    lock.acquire()
    defer { lock.release() }
    // Compared with `durable`, never with `committed`: that one also moves without a sync.
    while files.words.durable < generation {
      guard !files.words.hasFailed else { throw Self.closedForWriting }
      if isSyncing {
        lock.wait()
        continue
      }
      isSyncing = true
      lock.release()
      defer {
        lock.acquire()
        isSyncing = false
        lock.wakeAll()
      }
      try syncOrWait(generation)
    }
  }

  /// W3.1: syncs for all processes, or waits for one that does.
  ///
  /// Those who wait share the byte and go on side by side: were each to have it for itself, the
  /// last would wait for all before him. Whom the other's sync did not cover waits for the byte
  /// alone: to try and share by turns, several would keep each other from it.
  private func syncOrWait(_ generation: FrameNumber) throws(StorageError) {
    let locks = files.locks
    if try !locks.tryLock(.exclusive, byte: LockByte.sync) {
      try waitForByte(.shared)
      try locks.unlock(byte: LockByte.sync)
      guard files.words.durable < generation else { return }
      try waitForByte(.exclusive)
    }
    let result: Result<Void, StorageError>
    do throws(StorageError) {
      // Another process may have synced for all since the caller looked.
      if files.words.durable < generation { try sync() }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    try locks.unlock(byte: LockByte.sync)
    try result.get()
  }

  private func waitForByte(_ kind: LockKind) throws(StorageError) {
    try files.waits.during(LockByte.sync) { () throws(StorageError) in
      try files.locks.waitForLock(kind, byte: LockByte.sync)
    }
  }

  /// W3.1 to W3.5: syncs what is appended now, by whomever, then shows it.
  private func sync() throws(StorageError) {
    guard !files.words.hasFailed else { throw Self.closedForWriting }
    let end = files.words.appended
    let geometry = files.geometry
    let first = geometry.segment(of: geometry.next(after: files.words.durable))
    let segments = try segmentFiles(from: first, through: geometry.segment(of: end))
    do throws(StorageError) {
      // The newest first: their descriptors are open, and once synced can be closed for the others.
      for file in segments.reversed() {
        try file.sync()
        files.counters.update { $0.logSyncs += 1 }
      }
    } catch {
      // Where a file could not be opened, nothing was asked of it yet.
      if !error.changedNothing { files.words.setFailed() }
      throw error
    }
    table.publishSynced(end)
    files.closeDurableSegments()
  }

  /// The files of some segments, those of other processes included; not all numbers are in use.
  private func segmentFiles(
    from first: UInt64, through last: UInt64
  ) throws(StorageError) -> [SegmentFile] {
    guard first <= last else { return [] }
    let known = table.appended.segments
    if last - first <= UInt64(known.segments.count), known[last] != nil {
      return (first...last).compactMap { known[$0]?.file }
    }
    return try files.log.openAll(from: first, through: last, knowing: known, isMapped: false)
      .segments.map(\.file)
  }

  package static let closedForWriting = StorageError(
    .failed,
    "An earlier write or sync of this store failed. It can be read, but takes no writes until it "
      + "has been closed and opened again.")
}
