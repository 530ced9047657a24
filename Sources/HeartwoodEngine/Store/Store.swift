import Synchronization

/// An ordered, transactional key–value store in its own directory.
///
/// Every commit creates a generation. A ``Snapshot`` pins a generation, so the snapshot's readers
/// see unchanged data while other threads and processes write. Writers never wait for readers, and
/// readers never wait for writers. `Docs/Reference/Engine.md` lists the numbered guarantees.
///
/// A store is thread-safe. Any number of processes can have a store open. In a child process
/// created by `fork`, every call on the parent's stores or their snapshots throws `forked`.
public final class Store: Sendable {
  let registryKey: StoreRegistry.Key
  let firstCore: StoreCore
  let sequence: OpenSequence
  private let isClosed = Atomic<Bool>(false)
  private let origin = ProcessOrigin()

  /// The state shared by all `Store` objects in this process that refer to the same store.
  var core: StoreCore {
    firstCore.isPrivate ? StoreRegistry.ofThisProcess.core(at: registryKey) ?? firstCore : firstCore
  }
  package var files: StoreFiles { core.files }
  var table: GenerationTable { core.table }
  var queue: SyncQueue { core.queue }
  var writerLock: WriterLock { core.writerLock }
  var maintenance: Maintenance { core.maintenance }
  var options: StoreOptions { sequence.options }

  /// A report on the recovery that was performed when the store was opened.
  ///
  /// The report states how many commits recovery found, how many frames it discarded, and whether
  /// it started a new lineage.
  public var recovery: RecoveryReport { firstCore.recovery }

  /// Opens the store at `path`, creating it if it does not exist.
  ///
  /// Opening a store recovers it from any earlier crash. Recovery keeps complete commits and
  /// discards an unfinished commit at the end of the log. If data that was synced is now corrupt,
  /// recovery fails with an error.
  ///
  /// Opening a store that is already open attaches to the open store without recovery. If one
  /// process opens a store several times, even through different paths, the `Store` objects share
  /// their state and use the options of the first one.
  ///
  /// - Throws: `notAStore` if the files at the path are not a store, `incompatibleFormat` if this
  ///   version cannot read the store's format, or `corrupt` if the files are damaged. Throws `busy`
  ///   if another process has been opening the store for longer than `busyTimeout`. Throws
  ///   `unsupportedFileSystem` on a network file system, or where open-file-description locks do
  ///   not work. Also throws `io` or `diskFull`.
  /// - Complexity: Reads the footers of the log's segments, or the group headers of segments
  ///   without a footer, and verifies the pages of commits that are not known to be synced. Syncs
  ///   the segments that contain such pages.
  public convenience init(at path: String, options: StoreOptions = StoreOptions()) throws {
    try self.init(at: path, options: options, fileSystem: PosixFileSystem())
  }

  /// Opens a store on the given file system, for tests and in-memory stores.
  package init(
    at path: String, options: StoreOptions, fileSystem: any FileSystem
  ) throws(StorageError) {
    try OpenDescriptors.registerForkHandlers()
    let sequence = try OpenSequence(fileSystem: fileSystem, path: path, options: options)
      .entered()
    let locks = try sequence.prepare()
    self.sequence = sequence
    (firstCore, registryKey) = try StoreRegistry.ofThisProcess.enter(
      StoreRegistry.Key(
        domain: fileSystem.domain, file: try locks.file.identity(),
        isReadOnly: options.isReadOnly)
    ) { () throws(StorageError) in StoreCore(try sequence.run(locks), options) }
  }

  // Skip the final checkpoint: it waits for writes, and this thread may itself be inside a write.
  deinit { try? leave(withCheckpoint: false) }

  /// Creates a store in memory.
  ///
  /// The store exists until its last reference is released.
  public static func inMemory(options: StoreOptions = StoreOptions()) throws -> Store {
    var options = options
    options.access = .buffered
    options.maintenance = .inline
    options.segmentByteCount = max(256 << 10, options.pageByteCount * 16)
    return try Store(at: "/store", options: options, fileSystem: MemoryFileSystem())
  }

  // MARK: Writing

  /// Runs `body` as the store's only writer and commits its changes as one new generation.
  ///
  /// Every snapshot sees either all of these changes or none of them. Only one writer runs at a
  /// time. Starting a write inside another write on the same thread traps.
  ///
  /// ```swift
  /// try store.write { transaction in
  ///   try transaction.keyspace("accounts").put("ada", value)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - durability: The durability of the commit when this method returns, or `nil` to use the
  ///     durability in the store's options.
  ///   - body: A closure that makes the changes. The transaction cannot be used after the closure
  ///     returns. If the closure throws an error, the store is unchanged and the error is rethrown.
  /// - Returns: The new generation or, if nothing was changed, the newest existing generation.
  /// - Throws: Any error that `body` throws, or `busy`, `readOnly`, `closed` or `diskFull`. Throws
  ///   `foreignStore` if files of the store were deleted or replaced while the store was open.
  ///   After these errors, nothing has changed. If the system refuses a resource, such as a
  ///   descriptor, this method throws `io`, and writing can continue (guarantee F8). For any other
  ///   failure, it throws `io` or `writesDisabled`. The commit is then either complete or absent,
  ///   and the store accepts no writes until it is reopened.
  /// - Complexity: One page write for each changed page, and one more for about every 300 changed
  ///   pages. With `.full` durability, also one sync, which is shared by all commits that are
  ///   waiting at the time.
  @discardableResult
  public func write(
    durability: StoreOptions.Durability? = nil, _ body: (inout WriteTransaction) throws -> Void
  ) throws -> Generation {
    try requireWritable()
    maintenance.waitIfStalled()
    try core.changes.enter()
    defer { core.changes.leave() }
    let frame = try core.commit.run(
      isDurable: (durability ?? options.durability) == .full, timeout: options.busyMilliseconds,
      body)
    // Ignore errors from maintenance, because the commit itself has succeeded.
    try? maintenance.scheduleAfterCommit(frame)
    return Generation(frame: frame)
  }

  // MARK: Reading

  /// Pins the newest generation, and returns a snapshot of it.
  ///
  /// - Complexity: No system call if this process holds a pin on the generation, or released its
  ///   last pin less than about 100 ms ago. Otherwise, one system call.
  public func snapshot() throws -> Snapshot {
    try requireOpen()
    guard firstCore.isPrivate else {
      return Snapshot(try firstCore.table.pinNewest(), table: firstCore.table)
    }
    return try pinAlone { table throws(StorageError) in try table.pinNewest() }
  }

  /// Performs procedure P2: pins a generation of a store that was opened for reading only and has
  /// no shared counters.
  ///
  /// After locking the generation, the method checks that the core's state is still the newest. If
  /// not, the method replaces the core and tries again.
  private func pinAlone(
    _ pin: (GenerationTable) throws(StorageError) -> Pin
  ) throws(StorageError) -> Snapshot {
    var attempts = Attempts()
    while true {
      let (core, replaced) = try StoreRegistry.ofThisProcess.renew(registryKey) {
        core throws(StorageError) in
        try core.files.suspensions.requireActive()
        guard core.isPrivate, try !sequence.isCurrent(core) else { return nil }
        // Do not replace a core that is about to be suspended, because the new core would acquire
        // locks that the suspension does not release.
        try core.files.suspensions.requireNoRequest()
        return StoreCore(try sequence.run(try sequence.prepare()), options)
      }
      try replaced?.end(withCheckpoint: false)
      do throws(StorageError) {
        let snapshot = Snapshot(try pin(core.table), table: core.table)
        // With shared counters, the table has already ensured that the pin is valid.
        guard core.isPrivate else { return snapshot }
        if try sequence.isCurrent(core) { return snapshot }
      } catch {
        // If another thread has replaced the core, the old core throws `closed`, so try again.
        guard error.kind == .closed, !isOver else { throw error }
      }
      try attempts.next("pin a generation", sequence.path)
    }
  }

  /// Pins the given generation, and returns a snapshot of it.
  ///
  /// A generation that is no longer live remains readable until a maintenance run releases it.
  ///
  /// - Throws: `generationExpired` if the generation is no longer readable, or was never committed.
  /// - Complexity: The same as ``snapshot()``. If this process holds no snapshot of the generation,
  ///   the method also performs two reads for each segment of the log, and one read for each group
  ///   in segments without a footer.
  public func snapshot(at generation: Generation) throws -> Snapshot {
    try requireOpen()
    guard firstCore.isPrivate else {
      return Snapshot(try firstCore.table.pin(generation.frame), table: firstCore.table)
    }
    return try pinAlone { table throws(StorageError) in try table.pin(generation.frame) }
  }

  /// Runs `body` with a snapshot of the newest generation.
  public func read<R>(_ body: (Snapshot) throws -> R) throws -> R {
    try body(try snapshot())
  }

  // MARK: Maintenance

  /// Writes pages from the log back to the page file, and deletes log segments that are no longer
  /// needed.
  ///
  /// A checkpoint does not overwrite a page's older contents in the page file while they belong to
  /// a live generation.
  ///
  /// Checkpoints run automatically as the log grows. Call this method to run a checkpoint at a
  /// specific moment.
  ///
  /// - Throws: `readOnly`, `closed`, `writesDisabled`, `io` or `diskFull`.
  /// - Complexity: One write for each run of adjacent pages, and at most five syncs.
  @discardableResult
  public func checkpoint() throws -> CheckpointResult {
    try requireWritable()
    precondition(
      !writerLock.isHeldByThisThread,
      "A checkpoint was started inside a write transaction. Start it after the transaction has "
        + "ended.")
    try core.changes.enter()
    defer { core.changes.leave() }
    return try maintenance.run()
  }

  /// Checks the complete store: every page, every tree, every count, the free space, and the log.
  ///
  /// The method checks the trees of the newest generation. For pages that belong only to older live
  /// generations, the method checks the hash and the structure of each page, but not the trees.
  ///
  /// - Precondition: The calling thread is not in the middle of a write. Otherwise, a checkpoint in
  ///   progress could wait for the write to end while this method waits for the checkpoint.
  /// - Throws: `closed`, or any error that prevents the newest generation from being read.
  ///   Corruption causes no error, because the report lists it. Also throws `busy` if a maintenance
  ///   run takes longer than `busyTimeout` to decide which generations remain readable, and
  ///   `suspended` or `generationExpired` if the store is suspended during the call.
  /// - Complexity: Reads every page of the page file, and every page image in use in the log, once.
  public func verify() throws -> VerificationReport {
    try requireOpen()
    precondition(
      !writerLock.isHeldByThisThread,
      "A verification was started inside a write transaction. Start it after the transaction has "
        + "ended.")
    let snapshot = try snapshot()
    defer { withExtendedLifetime(snapshot) {} }
    let report = try Verification(files: files, state: snapshot.state).run { try oldestSnapshot() }
    // If the store was suspended during the check, other processes may have overwritten pages.
    try snapshot.requireCurrent()
    return report
  }

  private func oldestSnapshot() throws -> Snapshot {
    for frame in try HeldGenerations(files: files, table: table, own: core.holder).frames() {
      do { return try snapshot(at: Generation(frame: frame)) } catch let error as StorageError
        where error.kind == .generationExpired
      {
        // Skip this generation, because it has been released since the list was read.
        continue
      }
    }
    return try snapshot()
  }

  /// The store's sizes, and its activity since it was opened.
  ///
  /// In a child process created by `fork`, only ``StoreStatistics/pageByteCount`` is meaningful.
  public var statistics: StoreStatistics {
    files.origin.isInherited
      ? StoreStatistics(inherited: files)
      : StoreStatistics(
        files: files, table: table, own: core.holder, lastCheckpointError: maintenance.error)
  }

  /// Closes the store.
  ///
  /// When a process closes its last `Store` object for a store, it runs a final checkpoint, records
  /// the durable watermark, and releases the store's locks. Later operations on a closed object
  /// throw `closed`. Snapshots that are still held remain readable, and keep the store locked until
  /// the last of them has been released. If the store is suspended, there is no final checkpoint.
  /// Closing an object that is already closed has no effect.
  ///
  /// The call that closes the last object waits for calls in other threads that are changing the
  /// store, such as writes.
  ///
  /// - Throws: Any error from the final checkpoint, or `writesDisabled` after an earlier failure.
  ///   The store is closed in any case. Durable commits remain durable. If an error is thrown,
  ///   commits that were not yet durable may still be lost in a power cut.
  public func close() throws {
    try files.origin.requireOwn(files.directory)
    precondition(
      !writerLock.isHeldByThisThread,
      "A store was closed inside a write transaction. Close it after the transaction has ended.")
    try leave(withCheckpoint: true)
  }

  var isOver: Bool { isClosed.load(ordering: .acquiring) }

  @inline(__always)
  func requireOpen() throws(StorageError) {
    guard origin.isInherited || isOver else { return }
    try refuse()
  }

  @inline(never)
  private func refuse() throws(StorageError) {
    try origin.requireOwn(files.directory)
    guard !isOver else { throw .closed(files.directory) }
  }

  /// Throws `foreignStore` unless the snapshot was taken from this store since the store was
  /// opened.
  func require(_ snapshot: Snapshot) throws(StorageError) {
    guard !snapshot.belongs(to: table) else { return }
    throw StorageError(
      .foreignStore,
      "The snapshot was taken from another store, or from this store before it was reopened. Take "
        + "a new snapshot of this store.",
      file: files.directory)
  }

  func requireWritable() throws(StorageError) {
    try requireOpen()
    guard !options.isReadOnly else {
      throw StorageError(
        .readOnly,
        "The store was opened for reading only. To change the store, open it for writing.",
        file: files.directory)
    }
  }

  /// Detaches this `Store` from its core.
  ///
  /// The method shuts down the core if no other `Store` uses it.
  private func leave(withCheckpoint: Bool) throws(StorageError) {
    guard !firstCore.files.origin.isInherited else { return }
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    core.signal.end(ObjectIdentifier(self))
    // Another `Store` can replace a private core until this object has left the registry. The
    // returned core may therefore differ from `core`, so end its signal too.
    guard let last = StoreRegistry.ofThisProcess.leave(registryKey) else { return }
    last.signal.end(ObjectIdentifier(self))
    try last.close(withCheckpoint: withCheckpoint)
  }
}
