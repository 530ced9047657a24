/// The state shared by all `Store` objects in this process that refer to the same store.
final class StoreCore: Sendable {
  let files: StoreFiles
  let table: GenerationTable
  let queue: SyncQueue
  let writerLock: WriterLock
  let commit: Commit
  let maintenance: Maintenance
  let holder: HolderEntry
  let changes = ChangesInProgress()
  let signal: CommitSignal
  let recovery: RecoveryReport
  /// A Boolean value that indicates whether this process uses private counters instead of shared
  /// ones; see ``OpenSequence/Opened/isPrivate``.
  let isPrivate: Bool
  let isReadOnly: Bool
  /// The lock byte that marks the store as open.
  ///
  /// The byte depends on how the core was opened, because a read-only `Store` may share a writable
  /// core.
  var presence: UInt64 { isReadOnly ? LockByte.presenceReadOnly : LockByte.presenceReadWrite }

  init(_ opened: OpenSequence.Opened, _ options: StoreOptions) {
    files = opened.files
    table = GenerationTable(opened.state, files: files, lingers: options.maintenance == .background)
    queue = SyncQueue(files: files, table: table)
    writerLock = WriterLock(
      locks: files.locks, counters: files.counters,
      holders: HolderFile(log: files.log, locks: files.locks), suspensions: files.suspensions)
    holder = HolderEntry(
      HolderRow(
        process: ProcessIdentity.own, opened: files.fileSystem.wallClockMilliseconds,
        name: options.name ?? ProcessIdentity.ownProgram),
      isReadOnly: options.isReadOnly, locks: files.locks)
    signal = CommitSignal(files)
    commit = Commit(
      files: files, table: table, queue: queue, writerLock: writerLock, signal: signal,
      pool: PagePool(pageByteCount: files.geometry.pageByteCount),
      memoryPageLimit: max(options.transactionMemoryByteCount, 0) / files.geometry.pageByteCount)
    maintenance = Maintenance(
      files: files, table: table, queue: queue, writerLock: writerLock, lineages: opened.lineages,
      holder: holder,
      schedule: MaintenanceSchedule(
        // Disable checkpoints in a read-only process, because they would change the store's files.
        checkpointByteCount: options.isReadOnly ? 0 : options.checkpointLogByteCount,
        reclaimByteCount: options.reclaimLogByteCount,
        pageByteCount: files.geometry.pageByteCount,
        pageCount: table.visible.point.pageCount, from: files.counters.checkpointed),
      isInline: options.maintenance == .inline, busyMilliseconds: options.busyMilliseconds,
      report: options.checkpointDidFail
        ?? { [path = files.directory] error in
          SystemCalls.printError(
            "heartwood: a checkpoint of the store at \(path) failed: \(error.message)")
        })
    recovery = opened.recovery
    isPrivate = opened.isPrivate
    isReadOnly = options.isReadOnly
    maintenance.start()
  }

  /// Shuts down the shared state, and removes it from the registry once it holds no lock.
  ///
  /// If no checkpoint is requested, the files are left as if the process had died.
  func end(withCheckpoint: Bool) throws(StorageError) {
    maintenance.end()
    defer { releaseLocks() }
    guard withCheckpoint, !isReadOnly else { return }
    table.stopLingering()
    // If the run is interrupted because another thread suspends the store, wait for that thread.
    // If the thread fails to suspend the store, run the checkpoint again.
    while !table.isSuspended {
      do throws(StorageError) {
        _ = try maintenance.run(writesWatermark: true)
        return
      } catch {
        guard error.kind == .suspended else { throw error }
        SystemThread.sleep(milliseconds: 1)
      }
    }
  }

  private func releaseLocks() {
    signal.suspend()
    table.end { [files, holder, presence, id = ObjectIdentifier(self)] in
      holder.withdraw()
      // Ignore a failure, because the lock is also released when the descriptor is closed.
      try? files.locks.unlock(byte: presence)
      StoreRegistry.ofThisProcess.forget(id)
    }
  }
}
