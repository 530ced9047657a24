/// An operation that copies a snapshot into a new store.
///
/// The new store receives its final name once it is complete.
struct StoreCopy {
  private let snapshot: Snapshot
  private let files: StoreFiles
  private let options: StoreOptions
  private var partial: PartialStore
  private let report: ProgressReport

  /// The approximate number of bytes to copy in each transaction.
  ///
  /// The number is small because a transaction keeps its pages in memory until it ends.
  private static let transactionByteCount = 8 << 20

  init(
    _ snapshot: Snapshot, of files: StoreFiles, _ options: StoreOptions, to path: String,
    _ progress: ((StoreProgress) -> Void)?
  ) throws(StorageError) {
    partial = try PartialStore(at: path, on: files.fileSystem, purpose: "copy")
    self.snapshot = snapshot
    self.files = files
    var target = StoreOptions()
    target.pageByteCount = files.geometry.pageByteCount
    target.segmentByteCount = files.geometry.segmentByteCount
    target.access = options.access
    // Copy the permissions, so that the copy is not readable by more users than its source.
    target.fileMode = try files.fileSystem.mode(of: files.directory + "/pages")
    partial.fileMode = target.fileMode
    target.cacheByteCount = options.cacheByteCount
    target.maintenance = .inline
    // Do not sync each commit, because the copy is not visible before it is complete and synced.
    target.durability = .normal
    self.options = target
    let used = UsedPages(view: snapshot.state.view, geometry: files.geometry)
    report = ProgressReport(total: try used.count(), progress)
  }

  func run() throws {
    try partial.create(fill)
    report.finish()
  }

  private func fill() throws {
    defer { withExtendedLifetime(snapshot) {} }
    let target = try Store(at: partial.partialPath, options: options, fileSystem: files.fileSystem)
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
