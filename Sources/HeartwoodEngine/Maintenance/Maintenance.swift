import Synchronization

/// An object that performs a store's maintenance when it is due, and releases lingering pins.
///
/// The maintenance thread references the components of the store, but never the store itself. The
/// running thread therefore does not keep the store from being deallocated.
final class Maintenance: @unchecked Sendable {
  // `@unchecked` is safe because `activation` guards `isEnded`, and `lock` guards every property
  // declared after it.
  private let files: StoreFiles
  private let table: GenerationTable
  private let queue: SyncQueue
  private let writerLock: WriterLock
  private let holder: HolderEntry
  private let sealing: Sealing
  /// A Boolean value that indicates whether maintenance is performed on the thread that calls
  /// `write` instead of on a background thread.
  private let isInline: Bool
  private let busyMilliseconds: UInt64
  /// A function to call with each error from a background run.
  ///
  /// If consecutive runs fail with the same error, only the first failure is reported.
  private let report: @Sendable (StorageError) -> Void
  /// A lock that is held while a suspended store becomes active again.
  ///
  /// The lock guards `isEnded`.
  private let activation = Lock()
  /// A Boolean value that indicates whether the store has been closed.
  private var isEnded = false
  private let lock = Lock()
  /// The ended lineages, which can change in a replica, or if another process starts a lineage
  /// while the store is suspended.
  private var endedLineages: [EndedLineage]
  private var isStopped = false
  private var thread: SystemThread?
  /// A Boolean value that indicates whether the thread is still in its loop.
  private var isWorking = false
  /// A Boolean value that indicates whether the thread is performing a run or creating segments.
  private var isRunning = false
  /// The ID of the background thread while it is in its loop, or `nil` otherwise.
  private var worker: UInt?
  private var isRunRequested = false
  private var runCount = 0
  private var lastError: StorageError?
  private var areSegmentsRequested = false
  private var ages = false
  /// The time of the next check for held generations, or `nil` while no generation is held.
  private var nextHolderCheckAt: UInt64?
  private var schedule: MaintenanceSchedule
  /// A Boolean value that indicates whether the next write must wait for a maintenance run.
  private let isStalled = Atomic(false)
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
    endedLineages = lineages
    self.holder = holder
    self.schedule = schedule
    self.isInline = isInline
    self.busyMilliseconds = busyMilliseconds
    self.report = report
    sealing = Sealing(files)
  }

  /// The interval at which the thread checks whether another process has checkpointed the log.
  private static let otherProcessCheckMilliseconds: UInt64 = 5000

  /// The interval between two checks for held generations.
  ///
  /// If a generation is still held at the second check, the process takes a holder lock for the
  /// generation.
  private static let holderCheckMilliseconds: UInt64 = 500

  /// Starts the thread, and announces that this process has the store open.
  ///
  /// If maintenance is inline, this method does nothing. The method may be called again after
  /// ``stop(until:)``.
  func start() {
    // Inline maintenance must be deterministic, so publish neither a PID nor a time.
    guard !isInline else { return }
    holder.announce(in: HolderFile(log: files.log, locks: files.locks))
    lock.withLock {
      isStopped = false
      guard !isWorking else { return }
      // Join any thread that did not end before the deadline of `stop(until:)`.
      thread?.join()
      thread = SystemThread { [self] in work() }
      isWorking = thread != nil
    }
    table.observe(
      pin: { [weak self] in self?.scheduleHolderCheck() },
      linger: { [weak self] in self?.startAging() },
      expiry: { [weak self] in self?.scheduleAfterExpiry() })
  }

  /// Stops the thread, and waits until it has ended and released the store's components.
  ///
  /// - Parameter deadline: A time in milliseconds on the monotonic clock, or `nil` to wait without
  ///   a limit.
  /// - Returns: `false` if the thread is still working at the deadline. The thread then ends later,
  ///   unless ``restart(_:)`` is called. An idle thread ends promptly, whatever the deadline.
  @discardableResult
  func stop(until deadline: UInt64? = nil) -> Bool {
    lock.acquire()
    isStopped = true
    lock.wakeAll()
    // The maintenance thread must not wait for itself. It runs this code if it releases the last
    // reference to the store.
    while isWorking, worker != SystemThread.current {
      guard lock.wait(until: isRunning ? deadline : nil) else {
        lock.release()
        return false
      }
    }
    let running = thread
    thread = nil
    lock.release()
    running?.join()
    return true
  }

  /// Runs `body` and starts the thread again, unless the store has been closed.
  ///
  /// ``end()`` waits until this call has returned.
  ///
  /// - Returns: `false` if the store has been closed. In that case, the method has done nothing.
  func restart(_ body: () -> Void = {}) -> Bool {
    activation.withLock {
      guard !isEnded else { return false }
      body()
      start()
      return true
    }
  }

  /// Stops the thread permanently when the store is being closed.
  func end() {
    activation.withLock { isEnded = true }
    stop()
  }

  /// The ended lineages.
  var lineages: [EndedLineage] { lock.withLock { endedLineages } }

  /// Replaces the ended lineages with `lineages`, which were read from the files.
  func adopt(_ lineages: [EndedLineage]) { lock.withLock { endedLineages = lineages } }

  /// Requests a run if one is due, and a new segment if the current segment is more than half full.
  ///
  /// Unless maintenance is inline, the background thread handles both requests. This method does
  /// not wait for that thread, because the commit is already complete.
  func scheduleAfterCommit(_ generation: FrameNumber) throws(StorageError) {
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
      isStalled.store(schedule.stalls(at: generation), ordering: .relaxed)
    }
    lock.release()
    guard isInline else { return }
    if needsSegment { try makeSegments() }
    if isDue { _ = try run(isScheduled: true) }
  }

  /// Runs maintenance, if it is due, after a generation has been added to a replica.
  ///
  /// This method does not create segments in advance, because the next generation may begin in any
  /// segment.
  func runAfterAdding(_ generation: FrameNumber, _ lineages: [EndedLineage]) throws(StorageError) {
    let isDue = lock.withLock {
      endedLineages = lineages
      return schedule.isDue(at: generation, holdsOlder: table.holdsOldGenerations)
    }
    if isDue { _ = try run(isScheduled: true) }
  }

  /// Records that the lineage of `point` has ended with that commit.
  func recordEnd(of point: CommitPoint) {
    lock.withLock { endedLineages.append(EndedLineage(lineage: point.lineage, end: point.frame)) }
  }

  /// Waits for a maintenance run if the log has grown faster than maintenance can shorten it.
  ///
  /// Call this before a write acquires the writer lock, because the run may wait for that lock.
  func waitIfStalled() {
    guard isStalled.load(ordering: .relaxed) else { return }
    lock.withLock {
      guard isStalled.load(ordering: .relaxed) else { return }
      if !waitForRun() { schedule.stopStalling(at: files.counters.appended) }
      isStalled.store(false, ordering: .relaxed)
    }
  }

  /// Waits until a run ends or the timeout expires.
  ///
  /// The caller must hold `lock`. Without a timeout, a process that is suspended in the middle of
  /// its run could block the commits of other processes forever.
  ///
  /// - Returns: `false` if the timeout expired first, or `true` otherwise.
  private func waitForRun() -> Bool {
    let count = runCount
    let clock = SystemThread.monotonicMilliseconds
    while runCount == count, isWorking {
      let waited = SystemThread.monotonicMilliseconds - clock
      guard waited < busyMilliseconds else { return false }
      lock.wait(milliseconds: busyMilliseconds - waited)
    }
    return true
  }

  /// Creates segments ahead of the writer, and seals full segments.
  ///
  /// Full segments are also sealed here, between maintenance runs, because many of them can
  /// accumulate if runs are rare.
  private func makeSegments() throws(StorageError) {
    let counters = files.counters
    try files.opened.require()
    try files.allocator.refill(lineage: table.appended.point.lineage) { counters.appended }
    try files.maintenance.withLock { () throws(StorageError) in
      if !files.counters.hasFailed, let durable = table.durable { sealing.seal(upTo: durable) }
      files.closeDurableSegments()
    }
  }

  /// The error from the last maintenance run in any process, or `nil` if that run succeeded.
  var error: StorageError? {
    let own = lock.withLock { lastError }
    if own?.kind == .foreignStore { return own }
    guard let failure = files.counters.maintenanceFailure else { return nil }
    return own.map(MaintenanceFailure.init) == failure ? own : failure.error
  }

  /// Runs maintenance now, after waiting for any run in progress.
  ///
  /// - Parameters:
  ///   - writesWatermark: Whether to write the header slot even if no page is written.
  ///   - isScheduled: Whether to skip log reclamation if few frames have been written since the
  ///     last reclamation.
  func run(
    writesWatermark: Bool = false, isScheduled: Bool = false
  ) throws(StorageError) -> CheckpointResult {
    // Clear the request before the run, because a request made during the run may need another run.
    lock.withLock { isRunRequested = false }
    let start = files.counters.appended
    let stretch = lock.withLock {
      schedule.heldStretch(retaining: files.reclaimed.last?.distinctPageCount ?? 0)
    }
    let run = MaintenanceRun(
      files: files, table: table, queue: queue, writerLock: writerLock,
      lineages: { [self] in lineages }, sealing: sealing,
      writesWatermark: writesWatermark, minReclaimFrameCount: isScheduled ? max(stretch / 2, 1) : 1)
    let result = Result { () throws(StorageError) in try run.run() }
    // Record the end first, because threads may wait for it, and filling the reserve may fail.
    switch result {
    case .success(let done):
      recordRun(from: start, held: done.blockingGeneration == nil ? nil : stretch, error: nil)
    case .failure(let error): recordRun(from: start, held: nil, error: error)
    }
    if files.allocator.needsRoom, case .success = result { try files.allocator.fillReserve() }
    return try result.get()
  }

  private func recordRun(from start: FrameNumber, held stretch: UInt64?, error: StorageError?) {
    // Do not record the result of an interrupted run, because the run remains due.
    let isInterrupted = error?.kind == .suspended || error?.kind == .closed
    // If the files were replaced, write nothing to them, not even the result of the run.
    if !isInterrupted, error?.kind != .foreignStore {
      files.counters.publishMaintenanceResult(error)
    }
    lock.withLock {
      runCount += 1
      isStalled.store(false, ordering: .relaxed)
      lock.wakeAll()
      guard !isInterrupted else { return }
      lastError = error
      schedule.recordRun(from: start, held: stretch, pageCount: table.visible.point.pageCount)
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

  /// Requests a run after an old generation has expired, if the log is long enough to justify a
  /// run.
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

  /// Runs the loop of the background thread.
  private func work() {
    var reported: StorageError?
    lock.acquire()
    worker = SystemThread.current
    while !isStopped {
      if areSegmentsRequested {
        (areSegmentsRequested, isRunning) = (false, true)
        lock.release()
        // Ignore any error. A writer that needs the segment tries to create it again.
        try? makeSegments()
        lock.acquire()
        isRunning = false
      } else if isRunRequested {
        (isRunRequested, isRunning) = (false, true)
        lock.release()
        var isInterrupted = false
        do throws(StorageError) {
          _ = try run(isScheduled: true)
          reported = nil
        } catch {
          isInterrupted = error.kind == .suspended
          if !isInterrupted {
            // Report the same error only once, rather than after every run. The statistics still
            // show it.
            if error != reported { report(error) }
            reported = error
          }
        }
        lock.acquire()
        isRunning = false
        if isInterrupted {
          isRunRequested = true
          // Wait, because the suspending thread will either stop this thread or throw `busy`.
          if !isStopped { lock.wait(milliseconds: 10) }
        }
      } else if millisecondsToHolderCheck == 0 {
        lock.release()
        let holdsAny = holder.refresh(table.lockedGenerations)
        lock.acquire()
        nextHolderCheckAt =
          holdsAny ? SystemThread.monotonicMilliseconds + Self.holderCheckMilliseconds : nil
      } else if ages {
        lock.wait(milliseconds: 100)
        // Clear `ages` before the check. Otherwise, if a pin starts to linger right after the
        // check, its request could be lost.
        ages = false
        lock.release()
        let lingersStill = table.ageLingeringPin()
        lock.acquire()
        if lingersStill { ages = true }
      } else if table.needsLog {
        lock.wait(
          milliseconds: min(Self.otherProcessCheckMilliseconds, millisecondsToHolderCheck ?? .max))
        lock.release()
        // Ignore any error, because it will recur when the next reader pins a generation.
        try? table.releaseCheckpointedSegments()
        // Close descriptors of segments that another process may have synced.
        files.closeDurableSegments()
        lock.acquire()
      } else {
        lock.wait(milliseconds: millisecondsToHolderCheck)
      }
    }
    (isWorking, worker) = (false, nil)
    lock.wakeAll()
    lock.release()
  }

  private var millisecondsToHolderCheck: UInt64? {
    nextHolderCheckAt.map { time in
      let now = SystemThread.monotonicMilliseconds
      return time > now ? time - now : 0
    }
  }
}
