/// The state that all `Store` objects for one store in this process share: the files, the live
/// generations, the writer lock and the maintenance thread.
final class StoreCore: Sendable {
  let files: StoreFiles
  let table: GenerationTable
  let queue: SyncQueue
  let writerLock: WriterLock
  let commit: Commit
  let maintenance: Maintenance
  /// The information that this process publishes about itself, for display to users.
  let holder: HolderEntry
  let signal: CommitSignal
  let recovery: RecoveryReport
  /// Whether the files are read without shared counters, because no process has opened the store
  /// for writing since the machine booted.
  let isPrivate: Bool
  let isReadOnly: Bool
  /// The lock byte that marks the store as open.
  ///
  /// The byte depends on how the core was opened, not on the options of each `Store` object: a
  /// read-only `Store` object may share a core that is open for writing.
  var presence: UInt64 { isReadOnly ? LockByte.presenceReadOnly : LockByte.presenceReadWrite }

  init(_ opened: OpenSequence.Opened, _ options: StoreOptions) {
    files = opened.files
    table = GenerationTable(opened.state, files: files, lingers: options.maintenance == .background)
    queue = SyncQueue(files: files, table: table)
    writerLock = WriterLock(
      locks: files.locks, counters: files.counters,
      holders: HolderFile(log: files.log, locks: files.locks))
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
        // A read-only process leaves maintenance to processes that write.
        checkpointByteCount: options.isReadOnly ? 0 : options.checkpointLogByteCount,
        reclaimByteCount: options.reclaimLogByteCount,
        pageByteCount: files.geometry.pageByteCount, from: files.counters.checkpointed),
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

  /// Shuts down the shared state.
  ///
  /// - Parameter withCheckpoint: Whether to run a last checkpoint first. Without it, the files are
  ///   left as if the process had died.
  func end(withCheckpoint: Bool) throws(StorageError) {
    maintenance.stop()
    defer { releaseLocks() }
    guard withCheckpoint, !isReadOnly, !table.isSuspended else { return }
    table.dropLingeringPin()
    _ = try maintenance.run(writesWatermark: true)
  }

  private func releaseLocks() {
    signal.suspend()
    table.dropLingeringPin()
    guard table.liveReferences.isEmpty else { return }
    holder.withdraw()
    // Ignore a failure, because the lock is also released when the descriptor is closed.
    try? files.locks.unlock(byte: presence)
  }
}
