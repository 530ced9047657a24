extension OpenSequence {
  /// Attaches to a store that other processes have open.
  ///
  /// The method returns `nil` if no process has initialised the store's shared counters since the
  /// machine booted. If another process holds the lock byte `writers`, the method waits while that
  /// process initialises the counters.
  func attach(_ locks: StoreLocks, orWaitFor writers: UInt64?) throws(StorageError) -> Opened? {
    let clock = SystemThread.monotonicMilliseconds
    while true {
      if let opened = try attachNow(locks, since: clock) { return opened }
      guard let writers, try locks.isLockedElsewhere(byte: writers) else { return nil }
      try pause(since: clock)
    }
  }

  /// Waits a millisecond for another process to finish opening, moving or removing the store.
  ///
  /// - Parameter clock: The time, in milliseconds, at which waiting began.
  /// - Throws: `busy` if `busyTimeout` has passed since `clock`.
  func pause(since clock: UInt64) throws(StorageError) {
    guard SystemThread.monotonicMilliseconds - clock < options.busyMilliseconds else {
      throw StorageError(
        .busy,
        "Another process has been opening, moving or removing the store for longer than "
          + "`busyTimeout`. Try again later, or end that process if it no longer responds.",
        file: path)
    }
    SystemThread.sleep(milliseconds: 1)
  }

  /// Throws an error if another process has the store open, unless both processes only read it.
  ///
  /// Call this method on systems without a boot identity. On these systems, no process can trust
  /// shared counters, so a reader would not see commits.
  func requireSoleUse(_ locks: StoreLocks) throws(StorageError) {
    var isTaken = try locks.isLockedElsewhere(byte: LockByte.presenceReadWrite)
    if !isTaken, !options.isReadOnly {
      isTaken = try locks.isLockedElsewhere(byte: LockByte.presenceReadOnly)
    }
    guard isTaken else { return }
    throw StorageError(
      .busy,
      "Another process has the store open. Because this system provides no boot identity, "
        + "processes cannot share a store that is open for writing. Close the store in the other "
        + "process first.", file: path)
  }

  private func attachNow(_ locks: StoreLocks, since clock: UInt64) throws(StorageError) -> Opened? {
    guard fileSystem.bootIdentity != nil else {
      try requireSoleUse(locks)
      return nil
    }
    guard let pages = try fileSystem.open(path + "/pages", options.isReadOnly ? .read : .write),
      let (counters, identity, file) = try countersFile(pages, .read),
      counters.load(CountersLayout.ready) == identity
    else { return nil }
    let header = try consistentHeader(pages)
    let isMapped = options.access == .mapped ? try pages.map(0, byteCount: 4096) != nil : false
    let log = LogFiles(
      fileSystem: fileSystem, directory: path, geometry: header.geometry,
      identity: header.identity, isMapped: isMapped, isWritable: !options.isReadOnly)
    let start = try LogStart(header: header, log: log)
    let shared =
      options.isReadOnly ? counters : try countersFile(pages, .write)?.counters ?? counters
    let files = files(
      pages, log, shared, locks, start: start?.point ?? header.checkpointed, file)
    let (state, walk) = try newest(of: files)
    var report = RecoveryReport()
    report.generation = Generation(frame: state.generation)
    report.commitCount = walk.commitCount
    report.segmentFooterCount = walk.footerCount
    report.durableWatermark = Generation(frame: counters.durable)
    report.duration = .milliseconds(SystemThread.monotonicMilliseconds - clock)
    return Opened(files: files, state: state, lineages: walk.lineages, recovery: report)
  }

  /// Reads the state of the newest generation from the files.
  private func newest(
    of files: StoreFiles
  ) throws(StorageError) -> (state: GenerationState, walk: LogWalk) {
    let generation = try lockNewest(files)
    defer { try? files.locks.unlockLive(generation) }
    let found = try files.located(at: generation, isMapped: files.log.isMapped)
    let state = try GenerationState(
      point: found.walk.point, index: found.walk.index, segments: found.segments, files: files)
    return (state, found.walk)
  }

  /// Returns the newest header slot, after checking the length of the page file.
  ///
  /// If another process writes a newer slot and truncates the file during the call, the method
  /// reads the header again.
  private func consistentHeader(_ pages: any File) throws(StorageError) -> HeaderSlot {
    var last: UInt64?
    var attempts = Attempts()
    while true {
      guard let header = HeaderSlot.newest(try HeaderSlot.readBoth(pages)) else {
        throw try unreadable(pages)
      }
      do throws(StorageError) {
        try checkLength(pages, header)
        return header
      } catch {
        guard header.sequence != last else { throw error }
        last = header.sequence
        try attempts.next("read the header of the page file", pages.path)
      }
    }
  }

  /// Performs procedure P2: returns whether the newest state in `core` is still the newest state in
  /// the files.
  ///
  /// Only a core without shared counters needs this check. The method ignores a commit with valid
  /// headers but invalid images, because recovery would discard that commit.
  func isCurrent(_ core: StoreCore) throws(StorageError) -> Bool {
    if let (counters, identity, _) = try countersFile(try openPages(), .read),
      identity != 0, counters.load(CountersLayout.ready) == identity
    {
      return false
    }
    let files = core.files
    let known = core.table.visible
    let first = files.geometry.segment(of: files.geometry.next(after: known.generation))
    let table = try files.log.openAll(from: first, knowing: known.segments, isMapped: false)
    var scanner = try files.log.scanner(of: table, from: known.point)
    guard let commit = try scanner.next() else { return true }
    return try !scanner.verifyImages(of: commit)
  }

  /// Performs step S3: acquires the presence lock again, and returns the state of the newest
  /// generation and the ended lineages.
  ///
  /// For a private core, the method returns the visible state, and `nil` for the lineages.
  ///
  /// Cached log frames are still valid, because frames never change. If another process ran a
  /// checkpoint during the suspension, the pages of the page file are verified again.
  func reattach(
    _ core: StoreCore
  ) throws(StorageError) -> (state: GenerationState, lineages: [EndedLineage]?) {
    let files = core.files
    let presence = core.presence
    let clock = SystemThread.monotonicMilliseconds
    while try !files.locks.tryLock(.shared, byte: presence) { try pause(since: clock) }
    do throws(StorageError) {
      try requireSameFiles(as: core)
      // For a private core, reuse the visible state. It may be outdated, but every later pin checks
      // for a newer state (P2).
      if core.isPrivate { return (try core.table.visible.renewed(), nil) }
      let (state, walk) = try newest(of: files)
      files.closeDurableSegments()
      return (state, walk.lineages)
    } catch {
      try? files.locks.unlock(byte: presence)
      throw error
    }
  }

  private func requireSameFiles(as core: StoreCore) throws(StorageError) {
    let files = core.files
    let pages = try fileSystem.open(path + "/pages", .read)
    let locks = try fileSystem.open(path + "/locks", .read)
    let counters = try pages.flatMap { pages throws(StorageError) in
      try countersFile(pages, .read)
    }
    let header = try pages.flatMap { pages throws(StorageError) in
      HeaderSlot.newest(try HeaderSlot.readBoth(pages))
    }
    guard try pages?.identity() == files.pageFile.file.identity(),
      try locks?.identity() == files.locks.file.identity(),
      header.map({ $0.identity == files.identity }) ?? true,
      core.isPrivate || counters?.identity == files.counters.load(CountersLayout.ready)
    else {
      throw StorageError(
        .foreignStore,
        "The store's files were replaced while the store was suspended. Close the store, then "
          + "open it again.",
        file: path)
    }
  }

  /// Locks and returns the newest generation.
  ///
  /// This method performs procedure P1 before the table of live generations exists.
  private func lockNewest(_ files: StoreFiles) throws(StorageError) -> FrameNumber {
    var attempts = Attempts()
    while true {
      let generation = files.counters.committed
      try files.locks.lockLive(generation)
      files.counters.fence()
      if files.counters.floor <= generation { return generation }
      try files.locks.unlockLive(generation)
      try attempts.next("pin the newest generation", path)
    }
  }

  /// Maps the shared counters, and computes the value that marks the counters as usable.
  ///
  /// In the result, `identity` is this value, which is computed from the identities of the boot,
  /// the `counters` file and the `pages` file. The value is 0 if the system provides no boot
  /// identity.
  ///
  /// The method returns `nil` if the `counters` file is missing or incomplete, unless `access` is
  /// `.create`.
  func countersFile(
    _ pages: any File, _ access: FileAccess
  ) throws(StorageError) -> (counters: SharedCounters, identity: UInt64, file: FileIdentity)? {
    guard let file = try fileSystem.open(path + "/counters", access) else { return nil }
    if try file.byteCount() < UInt64(CountersLayout.byteCount) {
      guard access == .create else { return nil }
      // Fill the file with zeros. Extending the file without writing would leave a hole, and
      // writing to a hole through a mapping kills the process if the disk is full.
      let zeros = ByteBlock(count: CountersLayout.byteCount)
      defer { zeros.keep() }
      try file.write([zeros.bytes.bytes], at: 0)
    }
    let counters = SharedCounters(try file.mapShared(byteCount: CountersLayout.byteCount))
    let identity = try file.identity()
    guard let boot = fileSystem.bootIdentity else { return (counters, 0, identity) }
    let block = ByteBlock(count: 32)
    defer { block.keep() }
    block.bytes.store64(boot, 0)
    block.bytes.store64(identity.device, 8)
    block.bytes.store64(identity.inode, 16)
    block.bytes.store64(try pages.identity().inode, 24)
    return (counters, XXH64.hash(block.bytes.bytes, seed: 0) | 1, identity)
  }
}
