/// An operation that adds the newest generation of a store to a backup directory.
struct BackupRun {
  private let store: Store
  private let fileSystem: any FileSystem
  private let path: String
  private let mode: UInt16?
  private let progress: ((StoreProgress) -> Void)?
  private var report: BackupReport

  init(
    _ store: Store, to path: String, _ progress: ((StoreProgress) -> Void)?
  ) throws(StorageError) {
    self.store = store
    self.path = OpenSequence.trimmed(path)
    self.progress = progress
    let files = store.files
    fileSystem = files.fileSystem
    // Copy the store's file mode, because a backup must not be readable by more users than its
    // store.
    mode = try files.fileSystem.mode(of: files.directory + "/pages")
    report = BackupReport(generation: Generation(frame: 0))
  }

  mutating func run() throws -> BackupReport {
    if try fileSystem.list(path) == nil {
      try fileSystem.createDirectory(path, forFilesOf: mode)
      try fileSystem.syncDirectory(OpenSequence.parent(of: path))
    }
    let directory = try BackupDirectory(
      path, on: try fileSystem.entering(path, newFileMode: mode))
    return try directory.withLock { try self.add(to: $0) }
  }

  // MARK: Generations

  private mutating func add(to directory: BackupDirectory) throws -> BackupReport {
    try directory.remove([])
    var last: BackupHeader?
    for frame in directory.frames.reversed() where last == nil {
      last = try directory.readableHeader(of: frame)
    }
    let series = try BackupSeries(last?.series ?? directory.firstSeries())
    let newest = try store.snapshot()
    if let last { try requireAncestor(last, of: newest) }
    let start = last?.point.frame ?? 0
    let named = try store.namedGenerations()
    // Also back up the generations that users have named, so that they can be restored.
    let users = Set(named.filter { !BackupSeries.isName($0.key) }.map(\.value.frame))
    // Do not base a delta on a damaged file, because the delta could never be restored.
    let isIntact = last.map { (try? BackupChain(directory, to: $0.point.frame)) != nil } ?? false
    var base = isIntact ? try last.flatMap { try self.base($0, series, named) } : nil
    try releaseNames(of: series, except: base?.generation)
    let between = users.filter { $0 > start && $0 < newest.generation.frame }.sorted()
    for frame in between {
      guard let snapshot = try namedSnapshot(at: Generation(frame: frame)) else { continue }
      base = try write(snapshot, after: base, series, in: directory)
    }
    if newest.generation.frame > start || !isIntact {
      base = try write(newest, after: base, series, in: directory)
    }
    if base == nil, let last, BackupStart(last.point) == BackupStart(newest.state.point) {
      // Nothing has changed, but the name was released, so keep the generation under the same name
      // again.
      try store.keep(newest.generation, as: series.name(of: newest.generation))
      base = newest
    }
    report.generation = base?.generation ?? newest.generation
    try releaseNames(of: series, except: base?.generation)
    return report
  }

  /// Returns a snapshot of a named generation.
  ///
  /// - Returns: `nil` if the name has been released since the caller listed the named generations.
  private func namedSnapshot(at generation: Generation) throws -> Snapshot? {
    do { return try store.snapshot(at: generation) } catch {
      // Skip the generation only if its name has been released. After any other error, end the
      // backup: later backups begin at a newer generation and would never add this one.
      guard (error as? StorageError)?.kind == .generationExpired,
        try !store.namedGenerations().values.contains(generation)
      else { throw error }
      return nil
    }
  }

  /// Returns a snapshot of the last backed-up generation, to use as the next file's base.
  ///
  /// - Returns: `nil` if the store no longer keeps the generation.
  private func base(
    _ last: BackupHeader, _ series: BackupSeries, _ named: [String: Generation]
  ) throws -> Snapshot? {
    let generation = Generation(frame: last.point.frame)
    guard named[series.name(of: generation)] == generation else { return nil }
    let snapshot = try store.snapshot(at: generation)
    return BackupStart(snapshot.state.point) == BackupStart(last.point) ? snapshot : nil
  }

  /// Throws an error unless the snapshot descends from the backed-up generation that `last`
  /// describes.
  private func requireAncestor(
    _ last: BackupHeader, of snapshot: Snapshot
  ) throws(StorageError) {
    let (point, newest) = (last.point, snapshot.state.point)
    guard last.identity == store.files.identity else {
      throw StorageError(
        .foreignStore,
        "The directory contains backups of another store. Use a separate directory for each store.",
        file: path)
    }
    guard newest.descends(from: point, store.maintenance.lineages) else {
      throw StorageError(
        .foreignStore,
        "This store was restored to a state that is older than the newest backup in the directory. "
          + "Use a new directory for backups of the restored store.", file: path)
    }
  }

  // MARK: Files

  /// Writes a backup file with the pages changed since `base`, or with all pages if `base` is
  /// `nil`.
  ///
  /// The store then keeps the backed-up generation instead of the base.
  private mutating func write(
    _ snapshot: Snapshot, after base: Snapshot?, _ series: BackupSeries,
    in directory: BackupDirectory
  ) throws -> Snapshot {
    let generation = snapshot.generation
    let names = try names(after: base, in: directory)
    // Keep the generation before writing its file. Keeping the generation makes it durable and
    // retains it for the next delta.
    try store.keep(generation, as: series.name(of: generation))
    let state = snapshot.state
    let pages = try pages(of: state, after: base?.state)
    let header = BackupHeader(
      geometry: state.files.geometry, identity: state.files.identity, series: series.number,
      base: base.map { BackupStart($0.state.point) }, point: state.point,
      lineages: store.maintenance.lineages.filter { $0.end < state.generation },
      names: names, imageCount: pages.count)
    do {
      try write(pages, of: state, header, in: directory)
    } catch {
      // Release the generation. Otherwise, each failed attempt on a full disk would keep another
      // generation.
      try? store.release(series.name(of: generation))
      throw error
    }
    withExtendedLifetime((snapshot, base)) {}
    report.files.append(header.name.text)
    report.byteCount += Int(header.fileByteCount)
    if let base { try store.release(series.name(of: base.generation)) }
    return snapshot
  }

  private func write(
    _ pages: [PageNumber], of state: GenerationState, _ header: BackupHeader,
    in directory: BackupDirectory
  ) throws(StorageError) {
    let steps = ProgressReport(total: pages.count, progress)
    var count = 0
    try BackupFile.write(header, in: directory.path, directory.fileSystem) {
      write throws(StorageError) in
      for page in pages {
        let reference = try state.view.page(page)
        defer { state.view.release(reference) }
        try write(reference.bytes)
        count += 1
        steps.reach(count)
      }
    }
    steps.finish()
  }

  /// Returns the names to record in the next file.
  ///
  /// A full backup starts a new chain, and thinning cannot merge the names in earlier files into
  /// that chain. A full backup therefore repeats these names.
  private func names(
    after base: Snapshot?, in directory: BackupDirectory
  ) throws -> [String: FrameNumber] {
    let named = try store.namedGenerations().filter { !BackupSeries.isName($0.key) }
    let frames = Set(directory.frames)
    let earlier = try base == nil ? directory.readableHeaders().names : [:]
    return earlier.filter { frames.contains($0.value) }.merging(named.mapValues(\.frame)) { $1 }
  }

  /// Returns the pages in use, in ascending order.
  ///
  /// If `base` is not `nil`, the result contains only pages that were written after `base`.
  ///
  /// The caller retains both `base` and `state`, so the index has an entry for every page written
  /// between the two states.
  private func pages(
    of state: GenerationState, after base: GenerationState?
  ) throws(StorageError) -> [PageNumber] {
    let used = UsedPages(view: state.view, geometry: state.files.geometry)
    var pages: [PageNumber] = []
    if let base {
      var changed: [PageNumber] = []
      state.index.forEach(newerThan: base.generation) { page, _ in changed.append(page) }
      for page in changed where page < state.point.pageCount {
        if try used.contains(page) { pages.append(page) }
      }
      return pages
    }
    var next = try used.next(from: 0)
    while let page = next {
      pages.append(page)
      next = try used.next(from: page + 1)
    }
    return pages
  }

  /// Releases the generation names that interrupted backups have left behind.
  private func releaseNames(of series: BackupSeries, except kept: Generation?) throws {
    for (name, generation) in try store.namedGenerations()
    where series.owns(name) && generation != kept {
      try store.release(name)
    }
  }
}

/// A series of backup files in one directory.
///
/// A random number identifies the series. The store keeps generations for the series under names
/// that contain this number.
struct BackupSeries {
  let number: UInt64

  private static let prefix = "backup-"

  init(_ number: UInt64) { self.number = number }

  private var prefix: String { Self.prefix + BackupName.digits(number) + "-" }

  /// Returns the name under which the store keeps `generation` for this series.
  func name(of generation: Generation) -> String { prefix + BackupName.digits(generation.frame) }

  /// Returns whether `name` has the form that ``name(of:)`` returns for this series.
  func owns(_ name: String) -> Bool { name.hasPrefix(prefix) && Self.isName(name) }

  /// Returns whether a generation name has the form that backups use.
  static func isName(_ name: String) -> Bool {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    return parts.count == 3 && name.hasPrefix(prefix)
      && parts[1...].allSatisfy { $0.count == 16 && UInt64($0, radix: 16) != nil }
  }
}
