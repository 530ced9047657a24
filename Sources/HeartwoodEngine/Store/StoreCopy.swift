/// Writes what a snapshot shows into a store of its own, which gets its name when it is whole.
struct StoreCopy {
  private let snapshot: Snapshot
  private let files: StoreFiles
  private let options: StoreOptions
  private let path: String
  private let partialPath: String
  private let report: ProgressReport

  /// Bytes of entries in one transaction: its pages are kept in memory until it ends.
  private static let transactionByteCount = 8 << 20

  init(
    _ snapshot: Snapshot, of files: StoreFiles, _ options: StoreOptions, to path: String,
    _ progress: ((StoreProgress) -> Void)?
  ) throws(StorageError) {
    var trimmed = Substring(path)
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    guard !trimmed.isEmpty, trimmed != "/" else {
      throw StorageError(.invalidArgument, "A copy needs a path of its own.", file: path)
    }
    self.snapshot = snapshot
    self.files = files
    self.path = String(trimmed)
    partialPath = self.path + ".partial"
    var target = StoreOptions()
    target.pageSize = files.geometry.pageByteCount
    target.segmentByteCount = files.geometry.segmentByteCount
    target.access = options.access
    // A copy must not be readable by more users than its source.
    target.fileMode = try files.fileSystem.mode(of: files.directory + "/pages")
    target.cacheByteCount = options.cacheByteCount
    target.upkeep = .inline
    // Nobody sees the copy before it is whole and synced.
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
      // Somebody may have made it meanwhile.
      try requireUnused()
      try fileSystem.rename(partialPath, to: path)
    } catch {
      // What fills the disk must not stay there.
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
        .invalidArgument, "A copy never replaces anything. Name a path that does not exist.",
        file: path)
    }
  }

  /// Removes what an earlier attempt left.
  private func clear() throws(StorageError) {
    guard let names = try files.fileSystem.list(partialPath), !names.isEmpty else { return }
    if let foreign = names.filter({ !OpenSequence.isOfStore($0) }).min() {
      throw StorageError(
        .invalidArgument,
        "The folder is needed for the copy until it is whole, but holds other things (\(foreign)).",
        file: partialPath)
    }
    guard let file = try files.fileSystem.open(partialPath + "/locks", .create) else {
      throw StorageError(.io, "The lock file vanished while it was made.", file: partialPath)
    }
    guard try StoreLocks(file: file).tryLock(.exclusive, byte: LockByte.presenceReadWrite) else {
      throw StorageError(.busy, "Another copy to this path is being made.", file: partialPath)
    }
    try removeFiles()
  }

  /// Removes all but the file that tells who is at work.
  private func removeFiles() throws(StorageError) {
    // A child that was forked off in the middle must not take away what its parent goes on with.
    try files.origin.requireOwn(partialPath)
    for name in try files.fileSystem.list(partialPath) ?? [] where name != "locks" {
      try files.fileSystem.remove(partialPath + "/" + name)
    }
  }

  /// Makes the copy, its pages moved together, and closes it.
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
