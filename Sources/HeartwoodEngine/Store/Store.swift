import Synchronization

/// An ordered, transactional key–value store in a directory of its own.
///
/// Every commit is a generation. A ``Snapshot`` pins one and reads it undisturbed while others
/// write; writers never wait for readers, nor readers for writers. `Docs/Reference/Engine.md` lists
/// the numbered guarantees.
///
/// Thread-safe. Any number of processes can have a store open; several openings in one process
/// share their state. In a child after `fork`, every call on a store of the parent, and on its
/// snapshots, throws `forked`.
public final class Store: Sendable {
  let registryKey: StoreRegistry.Key
  let firstCore: StoreCore
  let sequence: OpenSequence
  private let isClosed = Atomic<Bool>(false)
  private let origin = ProcessOrigin()

  /// The state that this store shares with other openings of it in this process.
  var core: StoreCore {
    firstCore.isPrivate ? StoreRegistry.ofThisProcess.core(at: registryKey) ?? firstCore : firstCore
  }
  package var files: StoreFiles { core.files }
  var table: GenerationTable { core.table }
  var queue: SyncQueue { core.queue }
  var writerLock: WriterLock { core.writerLock }
  var maintenance: Maintenance { core.maintenance }
  var options: StoreOptions { sequence.options }

  /// The result of recovery: commits, discarded frames, and whether a new lineage began.
  public var recovery: RecoveryReport { firstCore.recovery }

  /// Opens the store at `path`, and creates it if there is none.
  ///
  /// Opening recovers from any earlier crash: complete commits are kept, an unfinished tail is
  /// discarded, and corruption of anything that was synced is an error.
  ///
  /// Any number of processes can have a store open; opening a store that is already open attaches
  /// to it without recovery. Several openings of one store in one process, by whatever path, share
  /// their state, with the options of the first.
  ///
  /// - Throws: `busy` if another process has been opening it for longer than `busyTimeout`;
  ///   `notAStore`, `incompatibleFormat` or `corrupt` for the contents of the path;
  ///   `unsupportedFileSystem` on a network, or where locks of open files do not work; `io` and
  ///   `diskFull`.
  /// - Complexity: Reads the footers of the log's segments, group headers where there are none, and
  ///   verifies the pages of commits that were never synced. Syncs the segments that contain such
  ///   pages.
  public convenience init(at path: String, options: StoreOptions = StoreOptions()) throws {
    try self.init(at: path, options: options, fileSystem: PosixFileSystem())
  }

  /// Opens a store on any file system; for tests and for stores in memory.
  package init(
    at path: String, options: StoreOptions, fileSystem: any FileSystem
  ) throws(StorageError) {
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

  // Without a last checkpoint, as if the process had died.
  deinit { try? leave(withCheckpoint: false) }

  /// Creates a store in memory, which ends with the last reference to it.
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
  /// Either all of the changes become visible to snapshots taken after this method returns, or none
  /// does. Writers wait their turn; starting one inside another on the same thread traps.
  ///
  /// ```swift
  /// try store.write { transaction in
  ///   try transaction.keyspace("accounts").put("ada", value)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - durability: The durability of the commit when this method returns; `nil` uses that of the
  ///     store's options.
  ///   - body: The changes. The transaction cannot be used after it returns. If it throws, the
  ///     store is unchanged and the error is rethrown unchanged.
  /// - Returns: The new generation, or the newest one if nothing was changed.
  /// - Throws: Any error of `body`; `busy`; `readOnly`; `closed`; `diskFull`, after which nothing
  ///   has changed; `foreignStore` if files of the store were deleted or replaced while it was
  ///   open, after which nothing has changed either; `io` if the system refused a resource, such as
  ///   a descriptor, after which writing can continue (guarantee F8); `io` or `writesDisabled`,
  ///   after which the store accepts no writes until it is reopened, and the commit is then either
  ///   complete or absent.
  /// - Complexity: One page write for each changed page and one for each 300 or so of them; for
  ///   `.full`, one sync shared by all commits that wait at the time.
  @discardableResult
  public func write(
    durability: StoreOptions.Durability? = nil, _ body: (inout WriteTransaction) throws -> Void
  ) throws -> Generation {
    try requireWritable()
    let frame = try core.commit.run(
      isDurable: (durability ?? options.durability) == .full, timeout: options.busyMilliseconds,
      body)
    // The commit is done and acknowledged, even if the checkpoint fails.
    try? maintenance.scheduleAfterCommit(frame)
    return Generation(frame: frame)
  }

  // MARK: Reading

  /// Pins the newest generation.
  ///
  /// - Complexity: No system call while this process has that generation pinned, or had a moment
  ///   ago; else one.
  public func snapshot() throws -> Snapshot {
    try requireOpen()
    guard firstCore.isPrivate else {
      return Snapshot(try firstCore.table.pinNewest(), table: firstCore.table)
    }
    return try pinAlone { table throws(StorageError) in try table.pinNewest() }
  }

  /// P2: no shared counters existed when this store was opened.
  ///
  /// While that is so, the state found must still be the newest once the lock is held.
  private func pinAlone(
    _ pin: (GenerationTable) throws(StorageError) -> Pin
  ) throws(StorageError) -> Snapshot {
    var attempts = Attempts()
    while true {
      let core = try StoreRegistry.ofThisProcess.renew(registryKey) { core throws(StorageError) in
        // A new core would acquire locks again.
        try core.table.requireActive()
        guard core.isPrivate, try !sequence.isCurrent(core) else { return nil }
        let new = StoreCore(try sequence.run(try sequence.prepare()), options)
        try core.end(withCheckpoint: false)
        return new
      }
      let snapshot = Snapshot(try pin(core.table), table: core.table)
      // If the store is shared, the table itself ensures this.
      guard core.isPrivate else { return snapshot }
      if try sequence.isCurrent(core) { return snapshot }
      try attempts.next("pin a generation", sequence.path)
    }
  }

  /// Pins a given generation, which is possible while it is live or nothing was reclaimed since.
  ///
  /// - Throws: `generationExpired` if a checkpoint has passed it, or if it was never a commit.
  /// - Complexity: As ``snapshot()``, and if no snapshot of that generation is held in this
  ///   process, two reads for each segment of the log and one for each group of those without a
  ///   footer.
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

  /// Moves pages that no live generation holds back from the log to the page file, and deletes the
  /// log segments that are then unnecessary.
  ///
  /// It runs automatically as the log grows; call it to choose the time.
  ///
  /// - Throws: `readOnly`, `closed`, `writesDisabled`, `io` or `diskFull`.
  /// - Complexity: One write for each run of adjacent pages, and five syncs at most.
  @discardableResult
  public func checkpoint() throws -> CheckpointResult {
    try requireWritable()
    precondition(!writerLock.isHeldByThisThread, "a checkpoint was started inside a write")
    return try maintenance.run()
  }

  /// Checks the complete store: every page, every tree, every count, the free space and the log.
  ///
  /// - Precondition: The thread is not in a write: a running checkpoint waits for that, and this
  ///   method for the checkpoint.
  /// - Throws: `closed`, or an error that keeps the newest generation from being read at all.
  ///   Corruption is no error here: the findings list it.
  /// - Complexity: Every page is read once.
  public func verify() throws -> VerificationReport {
    try requireOpen()
    precondition(!writerLock.isHeldByThisThread, "a verification was started inside a write")
    let snapshot = try snapshot()
    defer { withExtendedLifetime(snapshot) {} }
    return try Verification(files: files, state: snapshot.state).run()
  }

  /// The sizes of the store, and its activity since it was opened; zeros in a child after `fork`.
  public var statistics: StoreStatistics {
    files.origin.isInherited
      ? StoreStatistics(inherited: files)
      : StoreStatistics(
        files: files, table: table, own: core.holder, lastCheckpointError: maintenance.error)
  }

  /// Closes the store: runs a last checkpoint, records the durable watermark, and releases its
  /// locks.
  ///
  /// Later operations throw `closed`. Snapshots that are still held stay readable, and keep the
  /// store's lock until the last of them is gone. Closing twice is no error.
  ///
  /// - Throws: The error of the last checkpoint, or `writesDisabled` after an earlier failure. The
  ///   store is closed all the same. Durable commits stay durable; `.normal` commits since then
  ///   have the same durability as before closing.
  public func close() throws {
    try files.origin.requireOwn(files.directory)
    precondition(!writerLock.isHeldByThisThread, "a store was closed inside a write")
    try leave(withCheckpoint: true)
  }

  /// Whether the store was closed.
  var isOver: Bool { isClosed.load(ordering: .acquiring) }

  @inline(__always)
  func requireOpen() throws(StorageError) {
    guard origin.isInherited || isOver else { return }
    try refuse()
  }

  /// Throws the reason why the store cannot be used.
  @inline(never)
  private func refuse() throws(StorageError) {
    try origin.requireOwn(files.directory)
    guard !isOver else {
      throw StorageError(.closed, "The store has been closed.", file: files.directory)
    }
  }

  /// Checks that a snapshot was taken from this opening of the store.
  ///
  /// - Throws: `foreignStore` if it was not.
  func require(_ snapshot: Snapshot) throws(StorageError) {
    guard !snapshot.belongs(to: table) else { return }
    throw StorageError(
      .foreignStore,
      "The snapshot belongs to another store, or to an earlier opening of this one.",
      file: files.directory)
  }

  func requireWritable() throws(StorageError) {
    try requireOpen()
    guard !options.isReadOnly else {
      throw StorageError(.readOnly, "The store was opened for reading only.", file: files.directory)
    }
  }

  /// Ends this opening; the last one ends the shared state.
  private func leave(withCheckpoint: Bool) throws(StorageError) {
    guard !firstCore.files.origin.isInherited else { return }
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    let core = core
    core.signal.end(ObjectIdentifier(self))
    guard StoreRegistry.ofThisProcess.leave(registryKey) else { return }
    try core.end(withCheckpoint: withCheckpoint)
  }
}
