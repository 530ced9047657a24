/// A queue for group commits, in which one sync makes the commits of all waiting threads durable.
///
/// One waiting thread syncs all commits appended so far. The other threads wake when the sync is
/// done. This is step W3 of `Docs/Internals/Concurrency.md`.
package final class SyncQueue: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards `isSyncing`.
  private let files: StoreFiles
  private let table: GenerationTable
  private let lock = Lock()
  private var isSyncing = false

  package init(files: StoreFiles, table: GenerationTable) {
    self.files = files
    self.table = table
  }

  /// Makes `generation` durable and visible.
  ///
  /// The calling thread either syncs the log or waits for another thread that is already syncing
  /// it.
  ///
  /// - Parameter deadline: The time at which to stop waiting for another thread or process, in
  ///   milliseconds on the monotonic clock, or `nil` to wait without a limit.
  /// - Throws: `writesDisabled` after an earlier failure, or any error from the sync. A failed sync
  ///   disables writing and is never repeated, because the system may have discarded the bytes that
  ///   it could not write. Throws `busy` if the deadline has passed, or `suspended` if the store
  ///   has been suspended.
  /// - Complexity: At most one sync for each segment that has received frames since the last sync.
  package func makeDurable(
    _ generation: FrameNumber, until deadline: UInt64? = nil
  ) throws(StorageError) {
    assert(
      LockOrder.enter(LockByte.sync, of: files.locks.file),
      "A thread requested the sync lock out of order.")
    defer { assert(LockOrder.leave(LockByte.sync, of: files.locks.file)) }
    lock.acquire()
    defer { lock.release() }
    // Never use `committed` here, because that counter also advances without a sync.
    while files.counters.durable < generation {
      guard !files.counters.hasFailed else { throw Self.writesDisabled }
      if isSyncing {
        guard lock.wait(until: deadline) else { throw Suspensions.busy }
        continue
      }
      // Check again, because the store may have been suspended while this thread waited for
      // another.
      try files.suspensions.requireActive()
      try whileSyncing { () throws(StorageError) in try syncOrWait(generation, until: deadline) }
    }
  }

  /// Runs `body` while no thread of this process is syncing the log or waiting for the sync lock.
  ///
  /// The method does not lock the `sync` byte, so other processes can sync the log in the meantime.
  ///
  /// - Throws: `busy` if the deadline passes before `body` runs, or any error that `body` throws.
  func excludingThreads(
    until deadline: UInt64, _ body: () throws(StorageError) -> Void
  ) throws(StorageError) {
    assert(
      LockOrder.enter(LockByte.sync, of: files.locks.file),
      "A thread requested locks out of order.")
    defer { assert(LockOrder.leave(LockByte.sync, of: files.locks.file)) }
    try lock.withLock { () throws(StorageError) in
      while isSyncing {
        guard lock.wait(until: deadline) else { throw Suspensions.busy }
      }
      try whileSyncing(body)
    }
  }

  /// Runs `body` while other threads of this process wait to sync the log.
  ///
  /// The caller must hold `lock`, which is released while `body` runs.
  private func whileSyncing(_ body: () throws(StorageError) -> Void) throws(StorageError) {
    isSyncing = true
    lock.release()
    defer {
      lock.acquire()
      isSyncing = false
      lock.wakeAll()
    }
    try body()
  }

  /// Syncs the log on behalf of all processes, or waits for another process that is already
  /// syncing.
  ///
  /// Waiting threads take a shared lock on the `sync` byte, so that they continue in parallel. If
  /// the other process's sync did not cover a thread's commit, the thread then waits only for the
  /// exclusive lock. If threads alternated between the two kinds of lock, they would block each
  /// other. This is step W3.1 of `Docs/Internals/Concurrency.md`.
  private func syncOrWait(
    _ generation: FrameNumber, until deadline: UInt64?
  ) throws(StorageError) {
    let locks = files.locks
    if try !locks.tryLock(.exclusive, byte: LockByte.sync) {
      try waitForByte(.shared, until: deadline)
      try locks.unlock(byte: LockByte.sync)
      guard files.counters.durable < generation else { return }
      try waitForByte(.exclusive, until: deadline)
    }
    let result = Result { () throws(StorageError) in
      // Check again, because another process may have synced the commit in the meantime.
      if files.counters.durable < generation { try sync() }
    }
    try locks.unlock(byte: LockByte.sync)
    try result.get()
  }

  private func waitForByte(
    _ kind: LockKind, until deadline: UInt64?
  ) throws(StorageError) {
    if let deadline {
      while try !files.locks.tryLock(kind, byte: LockByte.sync) {
        guard SystemThread.monotonicMilliseconds < deadline else { throw Suspensions.busy }
        SystemThread.sleep(milliseconds: 1)
      }
      return
    }
    try files.waits.during(LockByte.sync) { () throws(StorageError) in
      try files.locks.waitForLock(kind, byte: LockByte.sync)
    }
  }

  /// Syncs and publishes all commits that any process has appended so far.
  ///
  /// These are steps W3.2 to W3.5 of `Docs/Internals/Concurrency.md`.
  private func sync() throws(StorageError) {
    guard !files.counters.hasFailed else { throw Self.writesDisabled }
    let end = files.counters.appended
    let geometry = files.geometry
    let first = geometry.segment(of: geometry.next(after: files.counters.durable))
    let segments = try segmentFiles(from: first, through: geometry.segment(of: end))
    do throws(StorageError) {
      // Sync the newest files first, because their descriptors are open and can be closed after the
      // sync if older files need to be opened.
      for file in segments.reversed() {
        try file.sync()
        files.activity.update { $0.logSyncCount += 1 }
      }
    } catch {
      // If a file could not be opened, let writing continue, because no sync has failed.
      if !error.changedNothing { files.counters.setFailed() }
      throw error.endingSync
    }
    table.publishSynced(end)
    files.closeDurableSegments()
  }

  /// Returns the existing segment files in a range, including files that other processes created.
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

  package static let writesDisabled = StorageError(
    .writesDisabled,
    "An earlier write or sync of this store failed. The store can still be read. To write again, "
      + "close the store in all processes, then reopen it.")
}
