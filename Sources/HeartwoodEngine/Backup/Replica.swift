/// A read-only store that follows the backups of another store.
///
/// One process at a time can add generations from the backup with ``advance(progress:)``.
/// Meanwhile, any number of processes can read the replica. To the readers, each added generation
/// looks like a commit by another process. The replica has the same generations, pages and tokens
/// as its source. `Docs/Reference/Engine.md` lists the guarantees.
public final class Replica: Sendable {
  private let backup: Backup
  private let store: Store
  /// The locks that prevent other processes from changing the replica.
  private let following: StoreLocks
  private let lock = Lock()

  /// Opens the replica at `path`, or creates it from the newest generation of `backup`.
  ///
  /// - Parameters:
  ///   - path: The path of the replica's directory.
  ///   - backup: The backup directory, or a copy of it.
  ///   - progress: A closure called on this thread each time another 1% of a new replica's pages
  ///     has been written.
  /// - Throws: `invalidArgument` if the store at the path is not a replica, for example after a
  ///   promotion. Throws `busy` if another process is changing the replica. Also throws any error
  ///   from opening a store or from ``Backup/restore(_:to:asFork:progress:)``.
  public convenience init(
    at path: String, following backup: Backup, progress: ((StoreProgress) -> Void)? = nil
  ) throws {
    try self.init(at: path, following: backup, StoreOptions(), progress)
  }

  package init(
    at path: String, following backup: Backup, _ options: StoreOptions,
    _ progress: ((StoreProgress) -> Void)? = nil
  ) throws {
    let path = OpenSequence.trimmed(path)
    if try backup.fileSystem.list(path) == nil {
      _ = try backup.restore(nil, to: path, as: .replica, progress)
    }
    self.backup = backup
    (store, following) = try Self.open(path, options, backup.fileSystem)
  }

  /// Opens a replica, and locks it so that no other process can change it.
  private static func open(
    _ path: String, _ options: StoreOptions, _ fileSystem: any FileSystem
  ) throws(StorageError) -> (Store, StoreLocks) {
    guard try ReplicaRecord.exists(in: path, fileSystem),
      let file = try fileSystem.open(path + "/locks", .write)
    else {
      throw StorageError(
        .invalidArgument,
        "The store at this path is not a replica. If it is a promoted replica, it can no longer "
          + "follow a backup. To create a new replica, specify the path of a new directory.",
        file: path)
    }
    let following = StoreLocks(file: file)
    guard try following.tryLock(.exclusive, byte: LockByte.following) else {
      throw StorageError(
        .busy, "Another process is adding generations to this replica. End that process first.",
        file: path)
    }
    var options = options
    options.role = .follower
    options.maintenance = .inline
    return (try Store(at: path, options: options, fileSystem: fileSystem), following)
  }

  /// The newest generation of the replica.
  public var generation: Generation {
    get throws { try store.snapshot().generation }
  }

  /// Adds all generations in the backup directory that are newer than the replica's newest
  /// generation.
  ///
  /// The method adds each generation atomically and durably. If a file is damaged or incomplete,
  /// for example because it is still being uploaded, a later call tries again. Until then,
  /// ``Store/replicaStatus`` shows the error.
  ///
  /// - Parameter progress: A closure called on this thread each time a generation becomes visible.
  /// - Returns: The added generations, oldest first.
  /// - Throws: `corrupt` if a file is missing or damaged, or `foreignStore` if the backup does not
  ///   continue from the replica's state. Also throws `notAStore`, `incompatibleFormat`, `closed`,
  ///   `busy`, `io` or `diskFull`. Generations added before the error remain.
  /// - Complexity: Lists the directory. For each generation, reads its file, writes the new images,
  ///   syncs the map and each log segment with new images, and syncs the directory twice.
  @discardableResult
  public func advance(
    progress: ((Backup.RestorePoint) -> Void)? = nil
  ) throws -> [Generation] {
    try lock.withLock {
      try store.requireOpen()
      do {
        let added = try addGenerations(progress)
        try record(nil)
        return added
      } catch {
        try? record(error)
        throw error
      }
    }
  }

  private func addGenerations(
    _ progress: ((Backup.RestorePoint) -> Void)?
  ) throws(StorageError) -> [Generation] {
    var added: [Generation] = []
    while true {
      let directory = try BackupDirectory(backup.path, on: backup.fileSystem)
      guard let newest = directory.names.last?.frame, newest > known else { return added }
      let (start, failure) = (known, try addGenerations(of: directory, &added, progress))
      // Throw if the replica has not advanced. Otherwise, list the directory again, because more
      // files may have arrived in the meantime.
      if known == start { throw failure ?? directory.missing(newest) }
    }
  }

  /// The newest generation of the replica.
  private var known: FrameNumber { store.table.appended.generation }

  /// Adds each generation that can follow the replica's newest one.
  ///
  /// The method skips damaged files.
  ///
  /// - Returns: The first error caused by a damaged file, or `nil` if there was none.
  private func addGenerations(
    of directory: BackupDirectory, _ added: inout [Generation],
    _ progress: ((Backup.RestorePoint) -> Void)?
  ) throws(StorageError) -> StorageError? {
    var failure: StorageError?
    for frame in directory.frames where frame > known {
      do throws(StorageError) {
        let file = try directory.lastFile(to: frame)
        guard file.header.base?.frame ?? 0 <= known else { continue }
        try ReplicaStep(store.core, file).run()
        added.append(Generation(frame: frame))
        progress?(Backup.RestorePoint(file.header))
      } catch {
        guard error.kind == .corrupt else { throw error }
        failure = failure ?? error
      }
    }
    return failure
  }

  /// Records the error for ``Store/replicaStatus``, or clears it if `error` is `nil`.
  ///
  /// If the replica has been closed, the method does nothing, because another process may be
  /// promoting the replica.
  private func record(_ error: (any Error)?) throws(StorageError) {
    guard (try? store.core.changes.enter()) != nil else { return }
    defer { store.core.changes.leave() }
    let log = store.files.log
    let message = error.map { ($0 as? StorageError)?.description ?? "\($0)" } ?? ""
    guard var record = try ReplicaRecord.read(log), record.message != message else { return }
    record.message = message
    record.errorTime = error == nil ? 0 : log.fileSystem.wallClockMilliseconds
    try ReplicaRecord.file.replace(with: record.encoded(for: log.identity), log)
  }

  /// Closes the replica; see ``Store/close()``.
  public func close() throws {
    defer { try? following.unlock(byte: LockByte.following) }
    try store.close()
  }

  // MARK: Promotion

  /// Turns the replica at a path into an ordinary store with a new lineage.
  ///
  /// Processes that are reading the replica can continue to do so, and they see later commits. If
  /// the promotion is interrupted, call this method again.
  ///
  /// - Throws: `invalidArgument` if the store is not a replica, `busy` if a process is following
  ///   the backup, or any error from opening a store.
  /// - Complexity: The cost of opening and closing a store.
  public static func promote(_ path: String) throws {
    try promote(path, StoreOptions(), PosixFileSystem())
  }

  package static func promote(
    _ path: String, _ options: StoreOptions, _ fileSystem: any FileSystem
  ) throws {
    let path = OpenSequence.trimmed(path)
    let (store, following) = try open(path, options, fileSystem)
    // Start a new lineage. Otherwise, different commits of this store and the source would belong
    // to the same lineage.
    try startLineage(store.core)
    try store.close()
    try fileSystem.remove(path + "/" + ReplicaRecord.file.name)
    try fileSystem.syncDirectory(path)
    try following.unlock(byte: LockByte.following)
  }

  private static func startLineage(_ core: StoreCore) throws(StorageError) {
    let (files, table) = (core.files, core.table)
    try files.maintenance.withLock { () throws(StorageError) in
      try core.writerLock.acquire(timeout: nil)
      defer { core.writerLock.release() }
      guard !files.counters.hasFailed else { throw SyncQueue.writesDisabled }
      try files.opened.require()
      let old = try table.catchUp()
      let (point, segments): (CommitPoint, SegmentTable)
      do throws(StorageError) {
        (point, segments) = try OpenSequence.startLineage(
          after: old.point, old.segments, files.log, files.locks)
      } catch {
        // Disable writing, because the lineage-start commit may exist only in the system's page
        // cache. The next process that opens the store writes the commit again.
        files.counters.disableWriting(after: error)
        throw error
      }
      let new = try GenerationState(
        point: point, index: old.index, segments: segments, files: files)
      core.maintenance.recordEnd(of: old.point)
      table.publishAppended(new)
      table.publishSynced(new.generation)
    }
    core.signal.notify()
  }
}

/// The state of a replica.
public struct ReplicaStatus: Hashable, Sendable {
  /// The error from the last attempt to follow the backup, or `nil` if the attempt succeeded.
  public var lastError: String?
  /// The time at which ``lastError`` first occurred, in milliseconds since 1970 (UTC), or `nil` if
  /// there is no error.
  public var errorTime: UInt64?
}

extension Store {
  /// The state of the replica, or `nil` if this store is not a replica.
  ///
  /// - Throws: `closed`, `corrupt` or `io`.
  /// - Complexity: Reads one file.
  public var replicaStatus: ReplicaStatus? {
    get throws {
      try requireOpen()
      guard let record = try ReplicaRecord.read(files.log) else { return nil }
      return record.message.isEmpty
        ? ReplicaStatus()
        : ReplicaStatus(lastError: record.message, errorTime: record.errorTime)
    }
  }
}
