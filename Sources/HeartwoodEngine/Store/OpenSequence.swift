/// The sequence of steps that opens a store by creating it, recovering it, or attaching to it.
///
/// The steps are O1, O2 and C1 in `Docs/Internals/Concurrency.md`.
struct OpenSequence {
  let fileSystem: any FileSystem
  let path: String
  let options: StoreOptions

  /// The result of opening a store.
  struct Opened {
    let files: StoreFiles
    let state: GenerationState
    let lineages: [EndedLineage]
    var recovery: RecoveryReport
    /// A Boolean value that indicates whether the counters are private.
    ///
    /// The counters are private if no process has opened the store for writing since the machine
    /// booted.
    var isPrivate = false
  }

  private static let knownNames: Set<String> = [
    "pages", "pages.new", "map", "map.new", "kept", "kept.new", "reserve", "counters", "locks",
    "holders", "replica", "replica.new",
  ]

  static func isOfStore(_ name: String) -> Bool {
    knownNames.contains(name) || isSegment(name)
  }

  /// Returns whether a name consists of `wal-` and 16 hexadecimal digits.
  private static func isSegment(_ name: String) -> Bool {
    name.hasPrefix("wal-") && name.utf8.count == 20
      && name.utf8.dropFirst(4).allSatisfy { "0123456789abcdef".utf8.contains($0) }
  }

  /// Returns whether any of these file names belongs to a store.
  ///
  /// The store may be damaged or incomplete.
  static func isStore(_ names: [String]) -> Bool {
    names.contains { ["pages", "pages.new", "locks"].contains($0) || isSegment($0) }
  }

  /// Finds or creates the store's directory, and returns a copy of this value that keeps the
  /// directory open.
  func entered() throws(StorageError) -> OpenSequence {
    try requireSupportedVolume()
    try prepareDirectory()
    return OpenSequence(
      fileSystem: try fileSystem.entering(path, newFileMode: options.fileMode), path: path,
      options: options)
  }

  /// Opens the `locks` file, and checks that the file can be locked.
  ///
  /// - Throws: `readOnly` if a replica is opened for writing.
  func prepare() throws(StorageError) -> StoreLocks {
    if !options.isReadOnly, options.role == .writer,
      try ReplicaRecord.exists(in: path, fileSystem)
    {
      throw StorageError(
        .readOnly,
        "The store is a replica and cannot be changed directly. Open it for reading only, or "
          + "promote it.", file: path)
    }
    let access: FileAccess = options.isReadOnly ? .read : .create
    guard let file = try fileSystem.open(path + "/locks", access) else {
      throw noStore
    }
    try fileSystem.probeLocks(of: file, at: LockByte.probe)
    return StoreLocks(file: file)
  }

  /// Performs steps O1 and O2: opens the store as the first process, or attaches to an open store.
  func run(_ locks: StoreLocks) throws(StorageError) -> Opened {
    let presence = options.isReadOnly ? LockByte.presenceReadOnly : LockByte.presenceReadWrite
    let clock = SystemThread.monotonicMilliseconds
    if options.isReadOnly {
      // Wait for any process that is destroying, moving or replacing the store, because it holds
      // this lock exclusively.
      while try !locks.tryLock(.shared, byte: presence) { try pause(since: clock) }
      if let opened = try attach(locks, orWaitFor: LockByte.presenceReadWrite) { return opened }
      return try openAlone(locks)
    }
    while true {
      if try locks.tryLock(.exclusive, byte: presence) {
        let opened = try openAlone(locks)
        // Allow other processes to attach. The lock is downgraded to shared without being released,
        // so that no other process can acquire it exclusively.
        try locks.waitForLock(.shared, byte: presence)
        return opened
      }
      // If another process holds the lock exclusively, that process is still opening the store. If
      // the lock is granted but the shared counters are not initialised, the process that was
      // opening the store has just died.
      if try locks.tryLock(.shared, byte: presence) {
        if let opened = try attach(locks, orWaitFor: nil) { return opened }
        try locks.unlock(byte: presence)
      }
      try pause(since: clock)
    }
  }

  /// Opens and recovers a store that no other process has open.
  private func openAlone(_ locks: StoreLocks) throws(StorageError) -> Opened {
    let clock = SystemThread.monotonicMilliseconds
    if fileSystem.bootIdentity == nil { try requireSoleUse(locks) }
    let names = Set(try fileSystem.list(path) ?? [])
    if !names.contains("pages") { try create(names) }
    let pages = try openPages()
    let slots = try HeaderSlot.readBoth(pages)
    guard let header = HeaderSlot.newest(slots) else { throw try unreadable(pages) }
    try checkLength(pages, header)
    let files = LogFiles(
      fileSystem: fileSystem, directory: path, geometry: header.geometry,
      identity: header.identity, isMapped: false, isWritable: !options.isReadOnly)
    let next = header.geometry.next(after: header.checkpointed.frame)
    var table = try files.openAll(from: header.geometry.segment(of: next), isMapped: false)
    let log = files.mapped(try canMap(pages, table, header.geometry))
    let named = try NamedGenerations.read(log)
    guard let start = try LogStart(header: header, log: log) else {
      throw RetainedFrameMap.file.damaged(
        "it does not end at a valid commit")
    }
    let recovery = try Recovery(header: header, slots: slots, start: start, table: table)
    // Do not change an existing store before this point, so that a store that fails a check above
    // remains unchanged.
    if !options.isReadOnly {
      try log.lengthen(table)
      if names.contains("pages.new") { try fileSystem.remove(path + "/pages.new") }
    }
    let shared = try sharedCounters(pages, named)
    // Mark the counters as unfinished. If a sync fails or this process dies, the next process that
    // opens the store finds this mark, and rewrites the frames that may not be durable. A failed
    // sync therefore need not be recorded in any other way.
    if !shared.areUsable { shared.counters.store(shared.unfinished, CountersLayout.ready) }
    do throws(StorageError) {
      try recovery.syncAll(log)
    } catch {
      // Record the failure. The success of a later sync would prove nothing, because the failed
      // sync may have lost frames that the page cache still contains.
      if shared.areUsable, !error.changedNothing { shared.counters.setFailed() }
      throw error
    }
    // Sync the parent directory, because the process that created the store's directory may have
    // died before syncing the parent.
    if !options.isReadOnly { try fileSystem.syncDirectory(Self.parent(of: path)) }
    table = table.ending(with: header.geometry.segment(of: recovery.point.frame))
    if log.isMapped { table = try table.mapped(header.geometry) }
    var opened = try finish(
      header, recovery, start, named, table, pages, log, locks, shared)
    opened.recovery.duration = .milliseconds(SystemThread.monotonicMilliseconds - clock)
    return opened
  }

  func openPages() throws(StorageError) -> any File {
    guard let pages = try fileSystem.open(path + "/pages", options.isReadOnly ? .read : .write)
    else {
      throw noStore
    }
    return pages
  }

  private var noStore: StorageError {
    StorageError(.notAStore, "The directory contains no store. Check the path.", file: path)
  }

  // MARK: Finding the store

  /// Rejects a directory that contains files but no store.
  ///
  /// If the directory is missing and the store is opened for writing, the method creates it.
  private func prepareDirectory() throws(StorageError) {
    var found = try fileSystem.list(path)
    if found == nil {
      try StoreReplacement.undoInterrupted(at: path, fileSystem)
      found = try fileSystem.list(path)
    }
    if let names = found {
      let foreign = names.filter { !Self.isOfStore($0) }
      guard names.contains("pages") || foreign.isEmpty else {
        throw StorageError(
          .notAStore,
          "The directory contains no store, but it contains other files (such as "
            + "\(foreign.sorted()[0])). Use a separate directory for the store.", file: path)
      }
      return
    }
    guard !options.isReadOnly else {
      throw StorageError(
        .notAStore,
        "There is no store at this path. Check the path, or create "
          + "the store by opening it for writing.", file: path)
    }
    try fileSystem.createDirectory(path, forFilesOf: options.fileMode)
    try fileSystem.syncDirectory(Self.parent(of: path))
  }

  /// Rejects an unsupported file system before anything is created on it.
  private func requireSupportedVolume() throws(StorageError) {
    if let type = try fileSystem.volumeType(of: path) {
      return try type.requireSupported(path)
    }
    try fileSystem.volumeType(of: Self.parent(of: path))?.requireSupported(path)
  }

  /// Returns a path without trailing slashes.
  static func trimmed(_ path: String) -> String {
    var trimmed = Substring(path)
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    return String(trimmed)
  }

  static func parent(of path: String) -> String {
    let trimmed = trimmed(path)
    guard let slash = trimmed.lastIndex(of: "/") else { return "." }
    return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
  }

  /// Performs procedure C1: creates a page file with one header slot, and renames the file to
  /// `pages` once it is complete.
  private func create(_ names: Set<String>) throws(StorageError) {
    guard !options.isReadOnly else {
      throw noStore
    }
    guard !names.contains(where: { $0.hasPrefix("wal-") }) else {
      throw .corrupt(
        "The store is corrupt: it has a log, but its page file is missing. Restore a backup.",
        file: path + "/pages")
    }
    guard
      let geometry = Geometry(
        pageByteCount: options.pageByteCount, segmentByteCount: options.segmentByteCount)
    else {
      throw StorageError(
        .invalidArgument,
        "The page size or segment size is invalid. A page must be 4096 to 65536 bytes long, and a "
          + "segment must hold at least eight pages. Both sizes must be powers of two.")
    }
    let header = HeaderSlot(
      geometry: geometry,
      identity: StoreIdentity(high: fileSystem.random(), low: fileSystem.random()), sequence: 1,
      checkpointed: .empty, durableUpTo: 0, lineages: [])
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    defer { block.keep() }
    header.encode(to: block.bytes)
    try fileSystem.remove(path + "/pages.new")
    let file = try fileSystem.create(path + "/pages.new")
    try file.setByteCount(Geometry.firstPageOffset)
    try file.write([block.bytes.bytes], at: HeaderSlotLayout.offsets[0])
    try file.sync()
    try fileSystem.rename(path + "/pages.new", to: path + "/pages")
    try fileSystem.syncDirectory(path)
    try fileSystem.syncDirectory(Self.parent(of: path))
  }

  /// Returns the error for a page file without an intact header, depending on the file's signature.
  func unreadable(_ pages: any File) throws(StorageError) -> StorageError {
    let block = ByteBlock(count: 8)
    defer { block.keep() }
    for offset in HeaderSlotLayout.offsets {
      let count = try pages.read(into: block.bytes, at: offset)
      if count == 8, block.bytes.bytes.load64(0) == HeaderSlotLayout.magicNumber {
        return .corrupt(
          "The page file is corrupt: both of its header slots are damaged. Restore a backup.",
          file: pages.path)
      }
    }
    return StorageError(
      .notAStore,
      "The page file does not have the signature of a Heartwood store. Check the "
        + "path, or restore a backup.",
      file: pages.path)
  }

  /// Rejects a truncated page file.
  ///
  /// Accessing a mapping past the end of its file would terminate the process.
  func checkLength(_ pages: any File, _ header: HeaderSlot) throws(StorageError) {
    let needed = header.geometry.offset(ofPage: header.checkpointed.pageCount)
    let found = try pages.byteCount()
    guard found >= needed else {
      throw .corrupt(
        "The page file is corrupt: it is \(found) bytes long, but its header requires \(needed) "
          + "bytes. Restore a backup.",
        file: pages.path)
    }
  }

  /// Returns whether to map the files into memory.
  ///
  /// No file may be shorter than its mapping. If the store is opened for reading only, files that
  /// are too short cannot be extended, so the result is `false` if a log segment is too short.
  private func canMap(
    _ pages: any File, _ table: SegmentTable, _ geometry: Geometry
  ) throws(StorageError) -> Bool {
    guard options.access == .mapped, try pages.map(0, byteCount: 4096) != nil else { return false }
    guard options.isReadOnly else { return true }
    for segment in table.segments {
      guard try segment.file.byteCount() >= UInt64(geometry.segmentByteCount) else { return false }
    }
    return true
  }
}
