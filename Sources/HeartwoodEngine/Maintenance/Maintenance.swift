/// Runs checkpoints when they are due, and lets go of idle pins.
///
/// With a thread of its own it holds the parts of the store, never the store, so that a forgotten
/// store still goes away. Thread-safe.
final class Maintenance: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.
  private let files: StoreFiles
  private let table: GenerationTable
  private let queue: SyncQueue
  private let gate: WriterGate
  private let lineages: [EndedLineage]
  private let holder: HolderEntry
  private let sealing: Sealing
  /// Whether the caller of `write` does what is due, after its commit, and no thread.
  private let isInline: Bool
  private let busyMilliseconds: UInt64
  /// Told why a run of the thread has failed, once for each reason in a row.
  private let report: @Sendable (StorageError) -> Void
  private let lock = Lock()
  private var isStopped = false
  /// The thread, until it is stopped.
  private var thread: SystemThread?
  private var wantsPass = false
  private var passCount = 0
  private var lastError: StorageError?
  private var wantsSegments = false
  private var ages = false
  /// When to look for what has been held for a while; `nil` while nothing is.
  private var nextMarkAt: UInt64?
  private var schedule: MaintenanceSchedule
  /// The first segment that has not asked for the one after it.
  private var nextSegment: UInt64 = 0

  init(
    files: StoreFiles, table: GenerationTable, queue: SyncQueue, gate: WriterGate,
    lineages: [EndedLineage], holder: HolderEntry, schedule: MaintenanceSchedule, isInline: Bool,
    busyMilliseconds: UInt64, report: @escaping @Sendable (StorageError) -> Void
  ) {
    self.files = files
    self.table = table
    self.queue = queue
    self.gate = gate
    self.lineages = lineages
    self.holder = holder
    self.schedule = schedule
    self.isInline = isInline
    self.busyMilliseconds = busyMilliseconds
    self.report = report
    sealing = Sealing(files)
  }

  /// How often to look whether another process has moved the log home.
  private static let othersMilliseconds: UInt64 = 5000

  /// How often to look what is held; what is held at two looks is told to people.
  private static let markMilliseconds: UInt64 = 500

  /// Starts the thread, if there is to be one, and tells people that the store is open here; again
  /// after it was stopped.
  func start() {
    // Who must behave the same every time says nothing that differs each time.
    guard !isInline else { return }
    holder.announce(in: HolderFile(log: files.log, locks: files.locks))
    lock.withLock {
      isStopped = false
      thread = SystemThread { [self] in work() }
    }
    table.observe(
      pin: { [weak self] in self?.notePin() }, linger: { [weak self] in self?.startAging() },
      expiry: { [weak self] in self?.noteExpiry() })
  }

  /// Ends the thread and waits until it has, and holds none of the store's parts any more.
  func stop() {
    lock.acquire()
    isStopped = true
    lock.wakeAll()
    let running = thread
    thread = nil
    lock.release()
    running?.join()
  }

  /// Looks whether a commit has made the log long enough for a pass, or used up a segment; waits
  /// for a pass if the log grows faster than passes run.
  func noteCommit(_ generation: FrameNumber) throws(StorageError) {
    // Half way through a segment, the next one is made.
    let isHalfWay =
      files.geometry.slot(of: generation) > files.geometry.framesPerSegment / 2
    lock.acquire()
    let isDue =
      schedule.isDue(at: generation, holdsOlder: table.holdsOldGenerations)
      || files.supply.needsRoom
    let segment = files.geometry.segment(of: generation)
    let needsSegment = isHalfWay && segment >= nextSegment
    if needsSegment { nextSegment = segment + 1 }
    if !isInline {
      wantsPass = wantsPass || isDue
      wantsSegments = wantsSegments || needsSegment
      if isDue || needsSegment { lock.wakeAll() }
      if schedule.stalls(at: generation), !waitForPass() {
        schedule.stopStalling(at: generation)
      }
    }
    lock.release()
    guard isInline else { return }
    if needsSegment { try makeSegments() }
    if isDue { _ = try runPass(isScheduled: true) }
  }

  /// Waits until one pass has ended; with the lock held.
  ///
  /// - Returns: Whether one has; false when the time is over. A process that stands still in the
  ///   middle of its pass must not keep others from committing for ever.
  private func waitForPass() -> Bool {
    let count = passCount
    let clock = SystemThread.monotonicMilliseconds
    while passCount == count, thread != nil {
      let waited = SystemThread.monotonicMilliseconds - clock
      guard waited < busyMilliseconds else { return false }
      lock.wait(milliseconds: busyMilliseconds - waited)
    }
    return true
  }

  /// Makes segments ahead, and seals those that are full: a store that checkpoints rarely has many.
  private func makeSegments() throws(StorageError) {
    let words = files.words
    try files.opened.require()
    try files.supply.refill(lineage: table.appended.point.lineage) { words.appended }
    try files.maintenance.withLock { () throws(StorageError) in
      if !files.words.hasFailed { sealing.seal(upTo: table.durable) }
      files.closeDurableSegments()
    }
  }

  /// The error of the newest checkpoint, of this process or another; `nil` if that succeeded.
  var error: StorageError? {
    let own = lock.withLock { lastError }
    if own?.kind == .foreignStore { return own }
    guard let failure = files.words.maintenanceFailure else { return nil }
    return own.map(MaintenanceFailure.init) == failure ? own : failure.error
  }

  /// One pass, now; waits for one that is running.
  ///
  /// - Parameter isScheduled: Whether to reclaim log only where there is enough of it.
  func runPass(
    writesWitness: Bool = false, isScheduled: Bool = false
  ) throws(StorageError) -> CheckpointResult {
    // Before the pass: what is wanted while it runs may come too late for it.
    lock.withLock { wantsPass = false }
    let start = files.words.appended
    let stretch = lock.withLock {
      schedule.heldStretch(retaining: files.reclaimed.last?.distinctPageCount ?? 0)
    }
    let pass = Pass(
      files: files, table: table, queue: queue, gate: gate, lineages: lineages, sealing: sealing,
      writesWitness: writesWitness, minReclaimFrameCount: isScheduled ? max(stretch / 2, 1) : 1)
    let result: Result<CheckpointResult, StorageError>
    do throws(StorageError) { result = .success(try pass.run()) } catch { result = .failure(error) }
    // First of all those who wait for this pass; what follows may fail.
    switch result {
    case .success(let done):
      noteRun(from: start, held: done.heldBackBy == nil ? nil : stretch, error: nil)
    case .failure(let error): noteRun(from: start, held: nil, error: error)
    }
    if files.supply.needsRoom, case .success = result { try files.supply.fillReserve() }
    return try result.get()
  }

  private func noteRun(from start: FrameNumber, held stretch: UInt64?, error: StorageError?) {
    // Where the files are others, nothing of them is written, this word included.
    if error?.kind != .foreignStore { files.words.noteMaintenance(error) }
    lock.withLock {
      passCount += 1
      lastError = error
      schedule.noteRun(from: start, held: stretch)
      lock.wakeAll()
    }
  }

  private func notePin() {
    lock.withLock {
      guard nextMarkAt == nil else { return }
      nextMarkAt = SystemThread.monotonicMilliseconds + Self.markMilliseconds
      lock.wakeAll()
    }
  }

  private func startAging() {
    lock.withLock {
      guard !ages else { return }
      ages = true
      lock.wakeAll()
    }
  }

  /// An old generation is gone: what it held back may be worth a pass.
  func noteExpiry() {
    lock.withLock {
      let words = files.words
      guard schedule.isWorthwhile(afterExpiry: words.durable &- words.backfilled) else { return }
      wantsPass = true
      lock.wakeAll()
    }
  }

  /// The life of the thread: sleep until something is due.
  private func work() {
    var reported: StorageError?
    lock.acquire()
    while !isStopped {
      if wantsSegments {
        wantsSegments = false
        lock.release()
        // A writer who finds none makes it himself and meets the error.
        try? makeSegments()
        lock.acquire()
      } else if wantsPass {
        wantsPass = false
        lock.release()
        do throws(StorageError) {
          _ = try runPass(isScheduled: true)
          reported = nil
        } catch {
          // It is in the statistics too, and the next pass meets it again.
          if error != reported { report(error) }
          reported = error
        }
        lock.acquire()
      } else if millisecondsToMarks == 0 {
        lock.release()
        let holdsAny = holder.refresh(table.lockedGenerations)
        lock.acquire()
        nextMarkAt =
          holdsAny ? SystemThread.monotonicMilliseconds + Self.markMilliseconds : nil
      } else if ages {
        lock.wait(milliseconds: 100)
        // Before the look: what begins to linger after it is told anew.
        ages = false
        lock.release()
        let lingersStill = table.ageLingeringPin()
        lock.acquire()
        if lingersStill { ages = true }
      } else if table.needsLog {
        lock.wait(milliseconds: min(Self.othersMilliseconds, millisecondsToMarks ?? .max))
        lock.release()
        // What cannot be read now is met by the next reader.
        try? table.noteOthersPasses()
        // Others sync what this process has written.
        files.closeDurableSegments()
        lock.acquire()
      } else {
        lock.wait(milliseconds: millisecondsToMarks)
      }
    }
    lock.release()
  }

  /// The time until what is held is looked at; `nil` if nothing is.
  private var millisecondsToMarks: UInt64? {
    nextMarkAt.map { time in
      let now = SystemThread.monotonicMilliseconds
      return time > now ? time - now : 0
    }
  }
}
