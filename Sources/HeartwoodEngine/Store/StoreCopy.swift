/// Copies a snapshot into a new store, which gets its final name once it is complete.
struct StoreCopy {
  private let snapshot: Snapshot
  private let files: StoreFiles
  private let options: StoreOptions
  private let path: String
  private let partialPath: String
  private let report: ProgressReport

  /// The approximate size in bytes of a transaction, which keeps its pages in memory until it ends.
  private static let transactionByteCount = 8 << 20

  init(
    _ snapshot: Snapshot, of files: StoreFiles, _ options: StoreOptions, to path: String,
    _ progress: ((StoreProgress) -> Void)?
  ) throws(StorageError) {
    let trimmed = OpenSequence.trimmed(path)
    guard !trimmed.isEmpty, trimmed != "/" else {
      throw StorageError(
        .invalidArgument,
        "A store cannot be copied to the root directory or to an empty path. Use the path of a new "
          + "directory.", file: path)
    }
    self.snapshot = snapshot
    self.files = files
    self.path = trimmed
    partialPath = self.path + ".partial"
    var target = StoreOptions()
    target.pageByteCount = files.geometry.pageByteCount
    target.segmentByteCount = files.geometry.segmentByteCount
    target.access = options.access
    // A copy must not be readable by more users than its source.
    target.fileMode = try files.fileSystem.mode(of: files.directory + "/pages")
    target.cacheByteCount = options.cacheByteCount
    target.maintenance = .inline
    // The commits need no syncs, because the copy is not visible before it is complete and synced.
    target.durability = .normal
    self.options = target
    let used = UsedPages(view: snapshot.state.view, geometry: files.geometry)
    report = ProgressReport(total: try used.count(), progress)
  }

  func run() throws {
    let fileSystem = files.fileSystem
    try requireUnused()
    try clear()
    do {
      try fill()
      try fileSystem.syncDirectory(partialPath)
      // Another process may have created something at the path in the meantime.
      try requireUnused()
      try fileSystem.rename(partialPath, to: path)
    } catch {
      // Remove the incomplete copy to free its space, because the disk may be full.
      try? removeFiles()
      throw error
    }
    try fileSystem.syncDirectory(OpenSequence.parent(of: path))
    report.finish()
  }

  private func requireUnused() throws(StorageError) {
    let isUsed: Bool
    do throws(StorageError) {
      isUsed = try files.fileSystem.list(path) != nil
    } catch {
      guard error.kind == .notAStore else { throw error }
      isUsed = true
    }
    guard !isUsed else {
      throw StorageError(
        .invalidArgument,
        "This path already exists, and a copy never replaces existing files. Use another path.",
        file: path)
    }
  }

  /// Removes the files that an interrupted copy to the same path has left behind.
  private func clear() throws(StorageError) {
    guard let names = try files.fileSystem.list(partialPath), !names.isEmpty else { return }
    if let foreign = names.filter({ !OpenSequence.isOfStore($0) }).min() {
      throw StorageError(
        .invalidArgument,
        "This directory is needed while the store is being copied, but it contains other files "
          + "(such as \(foreign)). Move those files, or copy to another path.",
        file: partialPath)
    }
    let file = try files.fileSystem.create(partialPath + "/locks")
    guard try StoreLocks(file: file).tryLock(.exclusive, byte: LockByte.presenceReadWrite) else {
      throw StorageError(
        .busy, "Another copy to this path is in progress. Wait until that copy is complete.",
        file: partialPath)
    }
    try removeFiles()
  }

  /// Removes all files except `locks`, whose lock shows that a copy is in progress.
  private func removeFiles() throws(StorageError) {
    // A child forked during the copy must not remove files that its parent is still using.
    try files.origin.requireOwn(partialPath)
    for name in try files.fileSystem.list(partialPath) ?? [] where name != "locks" {
      try files.fileSystem.remove(partialPath + "/" + name)
    }
  }

  private func fill() throws {
    defer { withExtendedLifetime(snapshot) {} }
    let target = try Store(at: partialPath, options: options, fileSystem: files.fileSystem)
    for (name, row) in try Catalog.rows(in: snapshot.state.view) {
      var source = try KeyspaceSource(snapshot, row)
      repeat {
        try target.write { transaction in
          try transaction.keyspace(name)
            .append(&source, byteCount: Self.transactionByteCount, report)
        }
      } while source.hasEntry
    }
    try target.compact()
    try target.close()
  }
}
