/// An operation that salvages a damaged store by copying its intact data into a new store.
///
/// The operation copies all data that is intact in the newest generation. It finds leaves by their
/// page headers, so it needs neither branches nor the catalog. The damaged store is never changed.
package struct StoreSalvage {
  private let source: String
  private let files: DamagedFiles
  private let fileSystem: any FileSystem
  private let partial: PartialStore
  private let progress: ((StoreProgress) -> Void)?

  /// The approximate size in bytes of each transaction.
  ///
  /// A transaction keeps its pages in memory until it ends.
  private static let transactionByteCount = 8 << 20

  /// Creates an operation that salvages the store at the path `source` into a new store at
  /// `target`.
  package init(
    of source: String, to target: String, on fileSystem: any FileSystem = PosixFileSystem(),
    progress: ((StoreProgress) -> Void)? = nil
  ) throws(StorageError) {
    self.source = OpenSequence.trimmed(source)
    self.fileSystem = fileSystem
    self.progress = progress
    files = DamagedFiles(fileSystem)
    partial = try PartialStore(at: target, on: fileSystem, purpose: "store")
  }

  /// Reads the damaged store and writes the new one.
  ///
  /// - Parameter finish: A closure that completes the new store before the store is renamed to
  ///   `target`. The closure may add to the report.
  /// - Returns: A report on the salvaged data and the missing data.
  /// - Throws: `busy` if the damaged store is open, `notAStore` or `incompatibleFormat` if the
  ///   directory is not a store that can be read, or `invalidArgument` if the new path exists. Also
  ///   throws `io`, `diskFull`, or any error that `finish` throws. If an error is thrown, either
  ///   there is no new store, or the new store is complete but the sync of its parent directory
  ///   failed.
  /// - Complexity: Reads every page of the damaged store twice, and the pages of large values a
  ///   third time. Uses about 40 bytes of memory for each page, plus the memory for one transaction
  ///   of limited size.
  package func run(
    _ finish: (Store, inout SalvageReport) throws -> Void = { _, _ in }
  ) throws -> SalvageReport {
    guard try files.list(source) != nil else {
      throw StorageError(
        .notAStore, "There is no directory at this path. Check the path.", file: source)
    }
    try requireClosed()
    var report = SalvageReport()
    var partial = partial
    partial.fileMode = try files.mode(of: source + "/pages")
    try partial.create {
      let steps = ProgressReport(total: try estimatedPageCount(), progress)
      let pages = try SalvagePages(of: source, in: files) { steps.reach($0) }
      report.generation = Generation(frame: pages.state.generation)
      report.time = pages.state.point.time
      report.pageCount = pages.records.count
      report.damagedPageCount = pages.damagedPageCount
      report.hasLostCommits = pages.hasLostCommits
      report.notes = pages.notes
      let store = try createStore(like: pages.state.files)
      do {
        try fill(store, from: pages, &report, steps)
        try finish(store, &report)
        try store.compact()
        try store.close()
      } catch {
        try? store.close()
        throw error
      }
      try requireClosed()
      steps.finish()
    }
    if files.unreadable.count > 0 {
      report.notes.append(
        "Some blocks of the files could not be read (number of blocks: \(files.unreadable.count)). "
          + "If the disk is failing, copy it with a data recovery tool, and then salvage the copy.")
    }
    return report
  }

  /// Throws an error if a process has the damaged store open.
  private func requireClosed() throws(StorageError) {
    guard let locks = try files.open(source + "/locks", .read) else { return }
    let presence = LockByte.presenceReadWrite..<(LockByte.presenceReadOnly + 1)
    let start = SystemThread.monotonicMilliseconds
    while try locks.lockedByOthers(in: presence) != nil {
      // Do not fail at once, because a process that is closing the store releases its locks last.
      guard SystemThread.monotonicMilliseconds - start < Self.closingMilliseconds else {
        throw StorageError(
          .busy,
          "A process has the damaged store open. Close the store in all processes, and then try "
            + "again.",
          file: source)
      }
      SystemThread.sleep(milliseconds: 10)
    }
  }

  private static let closingMilliseconds: UInt64 = 500

  /// Returns an estimate of the number of pages to read for the scan and the copy.
  private func estimatedPageCount() throws(StorageError) -> Int {
    let names = try files.list(source) ?? []
    var byteCount: UInt64 = 0
    for name in names where name == "pages" || name.hasPrefix("wal-") {
      byteCount += try files.open(source + "/" + name, .read)?.byteCount() ?? 0
    }
    return Int(clamping: byteCount / UInt64(Limits.minPageByteCount)) * 2
  }

  private func createStore(like files: StoreFiles) throws -> Store {
    var options = StoreOptions()
    options.pageByteCount = files.geometry.pageByteCount
    options.segmentByteCount = files.geometry.segmentByteCount
    options.access = .buffered
    // Copy the file mode, because the new store must not be readable by more users than the damaged
    // store.
    options.fileMode = try self.files.mode(of: source + "/pages")
    options.maintenance = .inline
    // Do not sync each commit, because the store is not visible before it is complete and synced.
    options.durability = .normal
    return try Store(at: partial.partialPath, options: options, fileSystem: fileSystem)
  }

  // MARK: Copying

  private func fill(
    _ store: Store, from pages: SalvagePages, _ report: inout SalvageReport,
    _ steps: ProgressReport
  ) throws {
    let nodes = pages.nodes()
    let catalog = try SalvagedCatalog(in: pages, nodes)
    report.hasLostNames = catalog.hasLostNames
    report.notes += catalog.notes
    var leafCount = 0
    for tree in catalog.trees {
      var keyspace = SalvageReport.Keyspace(name: tree.name)
      keyspace.hasLostName = tree.hasLostName
      keyspace.expectedCount = tree.count
      let outline = try TreeOutline(
        of: tree.tree, root: tree.root, among: nodes[tree.tree] ?? [], in: pages)
      let entries = try SalvagedEntries(outline, in: pages, keyspace)
      repeat {
        try store.write { transaction in
          try transaction.keyspace(tree.name)
            .append(entries, byteCount: Self.transactionByteCount)
        }
        steps.reach(pages.records.count + leafCount + entries.leafCount)
      } while entries.hasEntry
      leafCount += entries.leafCount
      report.keyspaces.append(entries.report.concluded())
    }
  }
}

extension SalvageReport.Keyspace {
  /// Returns a copy of this report whose missing ranges are consistent with the catalog's entry
  /// count.
  fileprivate func concluded() -> Self {
    var result = self
    guard let expectedCount, doubtfulCount == 0, misplacedCount == 0 else { return result }
    if entryCount + damagedValueCount == expectedCount {
      // All expected entries were found, so the lost pages contained none. Clear the missing
      // ranges.
      (result.missing, result.missingRangeCount) = ([], 0)
    } else if missing.isEmpty {
      result.append(.init(after: nil, before: nil, isPartial: true))
    }
    return result
  }
}
