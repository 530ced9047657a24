import Synchronization

/// An ordered, transactional key–value store in a folder of its own.
///
/// Every commit is a generation. A ``Snapshot`` pins one and reads it undisturbed while others
/// write; a writer never waits for readers, nor readers for a writer. `Docs/Durability.md` has the
/// promises, clause by clause.
///
/// Thread-safe. One process at a time can have a store open.
public final class Store: Sendable {
  package let files: StoreFiles
  let table: GenerationTable
  let queue: SyncQueue
  let gate: WriterGate
  let commit: Commit
  let maintenance: Maintenance
  let options: StoreOptions
  private let isClosed = Atomic<Bool>(false)
  /// What opening found: commits, discarded frames, and whether a new lineage began.
  public let recovery: RecoveryReport

  /// Opens the store at `path`, and makes it if there is none.
  ///
  /// Opening recovers from whatever ended the last use: whole commits are kept, an unfinished end
  /// is dropped, damage to anything that was synced is an error.
  ///
  /// - Throws: `busy` if it is open elsewhere; `notAStore`, `incompatibleFormat` or `corrupt` for
  ///   what lies at the path; `unsupportedFileSystem`; `io` and `full`.
  /// - Complexity: Reads the footers of the log's segments, group headers where there are none, and
  ///   verifies the pages of what was never synced. Syncs the segments that hold such pages.
  public convenience init(at path: String, options: StoreOptions = StoreOptions()) throws {
    try self.init(at: path, options: options, fileSystem: PosixFileSystem())
  }

  /// Opens a store on any file system; for tests and for stores in memory.
  package init(
    at path: String, options: StoreOptions, fileSystem: any FileSystem
  ) throws(StorageError) {
    let opened = try OpenSequence(fileSystem: fileSystem, path: path, options: options).run()
    let files = opened.files
    let table = GenerationTable(
      opened.state, files: files, lingers: options.upkeep == .background)
    let queue = SyncQueue(files: files, table: table)
    let gate = WriterGate(locks: files.locks)
    let pool = PagePool(pageByteCount: files.geometry.pageByteCount)
    self.files = files
    self.table = table
    self.queue = queue
    self.gate = gate
    self.options = options
    commit = Commit(
      files: files, table: table, queue: queue, gate: gate, pool: pool,
      memoryByteLimit: options.transactionMemoryByteCount)
    maintenance = Maintenance(
      files: files, table: table, queue: queue, gate: gate, lineages: opened.lineages,
      options: options)
    recovery = opened.recovery
    maintenance.start()
  }

  deinit { shutDown() }

  /// Makes a store that lives in memory and ends with the last reference to it.
  public static func inMemory(options: StoreOptions = StoreOptions()) throws -> Store {
    var options = options
    options.access = .buffered
    options.upkeep = .inline
    options.segmentByteCount = max(256 << 10, options.pageSize * 16)
    return try Store(at: "/store", options: options, fileSystem: MemoryFileSystem())
  }

  // MARK: Writing

  /// Runs `body` as the store's only writer and makes its changes one new generation.
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
  ///   - durability: What the commit promises when this method returns; as the store's options say,
  ///     if `nil`.
  ///   - body: The changes. The transaction cannot be used after it returns. If it throws, the
  ///     store is as it was and the error is thrown on unchanged.
  /// - Returns: The new generation, or the newest one if nothing was changed.
  /// - Throws: What `body` throws; `busy`; `readOnly`; `closed`; `full`, after which nothing has
  ///   changed; `io` or `failed`, after which the store takes no more writes until it is opened
  ///   again, and the commit is there then either whole or not at all.
  /// - Complexity: One page write for each changed page and one for each 300 or so of them; for
  ///   `.full`, one sync shared by all who wait at the time.
  @discardableResult
  public func write(
    durability: StoreOptions.Durability? = nil, _ body: (inout WriteTransaction) throws -> Void
  ) throws -> Generation {
    try requireWritable()
    let frame = try commit.run(
      isDurable: (durability ?? options.durability) == .full, timeout: options.busyMilliseconds,
      body)
    // The commit is done and acknowledged, whatever becomes of the checkpoint.
    try? maintenance.noteCommit(frame)
    return Generation(frame: frame)
  }

  // MARK: Reading

  /// Pins the newest generation.
  ///
  /// - Complexity: No system call while this process has that generation pinned, or had a moment
  ///   ago; else one.
  public func snapshot() throws -> Snapshot {
    try requireOpen()
    return Snapshot(try table.pinNewest(), table: table)
  }

  /// Pins a given generation, which is possible as long as it is live or nothing was given up
  /// since.
  ///
  /// - Throws: `generationExpired` if a checkpoint has passed it, or if it never was a commit.
  /// - Complexity: As ``snapshot()``, and if no snapshot of that generation is held in this
  ///   process, two reads for each segment of the log and one for each group of those without a
  ///   footer.
  public func snapshot(at generation: Generation) throws -> Snapshot {
    try requireOpen()
    return Snapshot(try table.pin(generation.frame), table: table)
  }

  /// Runs `body` with a snapshot of the newest generation.
  public func read<R>(_ body: (Snapshot) throws -> R) throws -> R {
    try body(try snapshot())
  }

  // MARK: Upkeep

  /// Moves what no live generation holds back from the log to the page file, and deletes the log
  /// segments this makes superfluous.
  ///
  /// Runs by itself as the log grows; call it to choose the moment.
  ///
  /// - Throws: `readOnly`, `closed`, `failed`, `io` or `full`.
  /// - Complexity: One write for each run of adjacent pages, and five syncs at most.
  @discardableResult
  public func checkpoint() throws -> CheckpointResult {
    try requireWritable()
    precondition(!gate.isHeldByThisThread, "a checkpoint was asked for inside a write")
    return try maintenance.runPass()
  }

  /// Checks the whole store: every page, every tree, every count, the free space and the log.
  ///
  /// - Throws: `closed`, or an error that keeps the newest generation from being read at all.
  ///   Damage is no error here: it is in the findings.
  /// - Complexity: Every page is read once.
  public func verify() throws -> VerificationReport {
    try requireOpen()
    let snapshot = try snapshot()
    defer { withExtendedLifetime(snapshot) {} }
    return try Verification(files: files, state: snapshot.state).run()
  }

  /// Sizes, and what the store has done since it was opened.
  public var statistics: StoreStatistics {
    StoreStatistics(files: files, table: table)
  }

  /// Closes the store: runs a last checkpoint, notes what is durable, and gives up its locks.
  ///
  /// Operations after this throw `closed`. Snapshots that are still held stay readable, and keep
  /// the store's lock until the last of them is gone. Closing twice is no error.
  ///
  /// - Throws: What kept the last checkpoint from succeeding, `failed` after an earlier failure.
  ///   The store is closed all the same. What was durable stays so; `.normal` commits since then
  ///   are as they were before closing.
  public func close() throws {
    precondition(!gate.isHeldByThisThread, "a store was closed inside a write")
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    maintenance.stop()
    defer { releaseLocks() }
    if !options.readOnly {
      table.dropLingeringPin()
      _ = try maintenance.runPass(writesWitness: true)
    }
  }

  func requireOpen() throws(StorageError) {
    guard !isClosed.load(ordering: .acquiring) else {
      throw StorageError(.closed, "The store has been closed.", file: files.directory)
    }
  }

  func requireWritable() throws(StorageError) {
    try requireOpen()
    guard !options.readOnly else {
      throw StorageError(.readOnly, "The store was opened for reading only.", file: files.directory)
    }
  }

  /// Gives up the locks without a last checkpoint: what a process that dies would leave.
  private func shutDown() {
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    maintenance.stop()
    releaseLocks()
  }

  private func releaseLocks() {
    table.dropLingeringPin()
    guard table.liveReferences.isEmpty else { return }
    // If this fails, the lock goes with the descriptor, a moment later.
    try? files.locks.unlock(byte: LockByte.presenceReadWrite)
  }
}
