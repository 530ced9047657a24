/// Runs checkpoints when they are due, and releases idle pins.
///
/// Its thread references the components of the store, never the store itself, so that an
/// unreferenced store is deallocated. Thread-safe.
final class Maintenance: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.
  private let files: StoreFiles
  private let table: GenerationTable
  private let queue: SyncQueue
  private let writerLock: WriterLock
  private let lineages: [EndedLineage]
  private let holder: HolderEntry
  private let sealing: Sealing
  /// Whether the thread that calls `write` runs maintenance after its commit, instead of a
  /// background thread.
  private let isInline: Bool
  private let busyMilliseconds: UInt64
  /// Receives the errors of background runs; an error that repeats in consecutive runs is reported
  /// once.
  private let report: @Sendable (StorageError) -> Void
  private let lock = Lock()
  private var isStopped = false
  /// The background thread; `nil` if it is stopped or maintenance is inline.
  private var thread: SystemThread?
  private var isRunRequested = false
  private var runCount = 0
  private var lastError: StorageError?
  private var areSegmentsRequested = false
  private var ages = false
  /// The time of the next check of held generations; `nil` while none is held.
  private var nextHolderCheckAt: UInt64?
  private var schedule: MaintenanceSchedule
  /// The lowest segment whose successor has not been requested yet.
  private var nextSegment: UInt64 = 0

  init(
    files: StoreFiles, table: GenerationTable, queue: SyncQueue, writerLock: WriterLock,
    lineages: [EndedLineage], holder: HolderEntry, schedule: MaintenanceSchedule, isInline: Bool,
    busyMilliseconds: UInt64, report: @escaping @Sendable (StorageError) -> Void
  ) {
    self.files = files
    self.table = table
    self.queue = queue
    self.writerLock = writerLock
    self.lineages = lineages
    self.holder = holder
    self.schedule = schedule
    self.isInline = isInline
    self.busyMilliseconds = busyMilliseconds
    self.report = report
    sealing = Sealing(files)
  }

  /// The interval at which the thread checks whether another process has checkpointed the log.
  private static let otherProcessCheckMilliseconds: UInt64 = 5000

  /// The interval between checks of held generations; a generation held at two consecutive checks
  /// gets a holder lock.
  private static let holderCheckMilliseconds: UInt64 = 500

  /// Starts the thread and publishes that this process has the store open.
  ///
  /// Does nothing if maintenance is inline. May be called again after ``stop()``.
  func start() {
    // A store with inline maintenance must behave deterministically, so it publishes no PID and no
    // time.
    guard !isInline else { return }
    holder.announce(in: HolderFile(log: files.log, locks: files.locks))
    lock.withLock {
      isStopped = false
      thread = SystemThread { [self] in work() }
    }
    table.observe(
      pin: { [weak self] in self?.scheduleHolderCheck() },
      linger: { [weak self] in self?.startAging() },
      expiry: { [weak self] in self?.scheduleAfterExpiry() })
  }

  /// Stops the thread, and waits until it has ended and released the store's components.
  func stop() {
    lock.acquire()
    isStopped = true
    lock.wakeAll()
    let running = thread
    thread = nil
    lock.release()
    running?.join()
  }

  /// Requests a run if a commit has made the log long enough, and the next segment if the current
  /// one is half full.
  ///
  /// With inline maintenance, it performs both at once. Otherwise it waits for a run if the log
  /// grows faster than runs shorten it.
  func scheduleAfterCommit(_ generation: FrameNumber) throws(StorageError) {
    // The next segment is created once half of the current one is used.
    let isHalfWay = files.geometry.slot(of: generation) > files.geometry.framesPerSegment / 2
    lock.acquire()
    let isDue =
      schedule.isDue(at: generation, holdsOlder: table.holdsOldGenerations)
      || files.allocator.needsRoom
    let segment = files.geometry.segment(of: generation)
    let needsSegment = isHalfWay && segment >= nextSegment
    if needsSegment { nextSegment = segment + 1 }
    if !isInline {
      isRunRequested = isRunRequested || isDue
      areSegmentsRequested = areSegmentsRequested || needsSegment
      if isDue || needsSegment { lock.wakeAll() }
      if schedule.stalls(at: generation), !waitForRun() {
        schedule.stopStalling(at: generation)
      }
    }
    lock.release()
    guard isInline else { return }
    if needsSegment { try makeSegments() }
    if isDue { _ = try run(isScheduled: true) }
  }

  /// Waits until a run has ended; the caller holds the lock.
  ///
  /// - Returns: Whether a run has ended; `false` after the timeout. A process suspended in the
  ///   middle of its run must not block other processes' commits forever.
  private func waitForRun() -> Bool {
    let count = runCount
    let clock = SystemThread.monotonicMilliseconds
    while runCount == count, thread != nil {
      let waited = SystemThread.monotonicMilliseconds - clock
      guard waited < busyMilliseconds else { return false }
      lock.wait(milliseconds: busyMilliseconds - waited)
    }
    return true
  }

  /// Creates segments ahead of the writer, and seals full segments, of which a store with rare
  /// checkpoints has many.
  private func makeSegments() throws(StorageError) {
    let counters = files.counters
    try files.opened.require()
    try files.allocator.refill(lineage: table.appended.point.lineage) { counters.appended }
    try files.maintenance.withLock { () throws(StorageError) in
      if !files.counters.hasFailed { sealing.seal(upTo: table.durable) }
      files.closeDurableSegments()
    }
  }

  /// The error of the last checkpoint, in this process or another; `nil` if it succeeded.
  var error: StorageError? {
    let own = lock.withLock { lastError }
    if own?.kind == .foreignStore { return own }
    guard let failure = files.counters.maintenanceFailure else { return nil }
    return own.map(MaintenanceFailure.init) == failure ? own : failure.error
  }

  /// Runs maintenance now, after waiting for a run in progress.
  ///
  /// - Parameter isScheduled: Whether to reclaim log only if enough was written since the last
  ///   reclamation.
  func run(
    writesWatermark: Bool = false, isScheduled: Bool = false
  ) throws(StorageError) -> CheckpointResult {
    // Cleared before the run, because the run may not cover a request that is made meanwhile.
    lock.withLock { isRunRequested = false }
    let start = files.counters.appended
    let stretch = lock.withLock {
      schedule.heldStretch(retaining: files.reclaimed.last?.distinctPageCount ?? 0)
    }
    let run = MaintenanceRun(
      files: files, table: table, queue: queue, writerLock: writerLock, lineages: lineages,
      sealing: sealing,
      writesWatermark: writesWatermark, minReclaimFrameCount: isScheduled ? max(stretch / 2, 1) : 1)
    let result = Result { () throws(StorageError) in try run.run() }
    // Wakes the threads that wait for this run before the next step, which may fail.
    switch result {
    case .success(let done):
      recordRun(from: start, held: done.blockingGeneration == nil ? nil : stretch, error: nil)
    case .failure(let error): recordRun(from: start, held: nil, error: error)
    }
    if files.allocator.needsRoom, case .success = result { try files.allocator.fillReserve() }
    return try result.get()
  }

  private func recordRun(from start: FrameNumber, held stretch: UInt64?, error: StorageError?) {
    // If the files were replaced, nothing is written to them, not even this counter.
    if error?.kind != .foreignStore { files.counters.publishMaintenanceResult(error) }
    lock.withLock {
      runCount += 1
      lastError = error
      schedule.recordRun(from: start, held: stretch)
      lock.wakeAll()
    }
  }

  private func scheduleHolderCheck() {
    lock.withLock {
      guard nextHolderCheckAt == nil else { return }
      nextHolderCheckAt = SystemThread.monotonicMilliseconds + Self.holderCheckMilliseconds
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

  /// Requests a run after an old generation has expired, if the log is long enough.
  func scheduleAfterExpiry() {
    lock.withLock {
      let counters = files.counters
      guard schedule.isWorthwhile(afterExpiry: counters.durable &- counters.checkpointed) else {
        return
      }
      isRunRequested = true
      lock.wakeAll()
    }
  }

  /// Runs on the thread: does the work that is due, and sleeps until more is due.
  private func work() {
    var reported: StorageError?
    lock.acquire()
    while !isStopped {
      if areSegmentsRequested {
        areSegmentsRequested = false
        lock.release()
        // The error is ignored here: a writer that needs the segment creates it, and gets the
        // error.
        try? makeSegments()
        lock.acquire()
      } else if isRunRequested {
        isRunRequested = false
        lock.release()
        do throws(StorageError) {
          _ = try run(isScheduled: true)
          reported = nil
        } catch {
          // A repeated error is reported only once; the statistics also contain it.
          if error != reported { report(error) }
          reported = error
        }
        lock.acquire()
      } else if millisecondsToHolderCheck == 0 {
        lock.release()
        let holdsAny = holder.refresh(table.lockedGenerations)
        lock.acquire()
        nextHolderCheckAt =
          holdsAny ? SystemThread.monotonicMilliseconds + Self.holderCheckMilliseconds : nil
      } else if ages {
        lock.wait(milliseconds: 100)
        // Cleared before the check: a pin that starts to linger afterwards sets it again.
        ages = false
        lock.release()
        let lingersStill = table.ageLingeringPin()
        lock.acquire()
        if lingersStill { ages = true }
      } else if table.needsLog {
        lock.wait(
          milliseconds: min(Self.otherProcessCheckMilliseconds, millisecondsToHolderCheck ?? .max))
        lock.release()
        // An error is ignored here: the next reader gets it.
        try? table.releaseCheckpointedSegments()
        // Other processes may have synced segments that this process has written.
        files.closeDurableSegments()
        lock.acquire()
      } else {
        lock.wait(milliseconds: millisecondsToHolderCheck)
      }
    }
    lock.release()
  }

  /// The time until the next check for held generations; `nil` if none are held.
  private var millisecondsToHolderCheck: UInt64? {
    nextHolderCheckAt.map { time in
      let now = SystemThread.monotonicMilliseconds
      return time > now ? time - now : 0
    }
  }
}
