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
  private let thresholdFrames: UInt64
  private let upkeep: StoreOptions.Upkeep
  private let lock = Lock()
  private var isStopped = false
  private var isRunning = false
  private var wantsPass = false
  private var wantsSegments = false
  private var ages = false
  private var nextPassAt: FrameNumber
  /// The first segment that has not asked for the one after it.
  private var nextSegment: UInt64 = 0

  init(
    files: StoreFiles, table: GenerationTable, queue: SyncQueue, gate: WriterGate,
    lineages: [EndedLineage], options: StoreOptions
  ) {
    self.files = files
    self.table = table
    self.queue = queue
    self.gate = gate
    self.lineages = lineages
    upkeep = options.upkeep
    let bytes = max(options.checkpointLogByteCount, 0)
    thresholdFrames =
      bytes == 0 ? .max : UInt64(max(bytes / files.geometry.pageByteCount, 1))
    nextPassAt = files.words.backfilled &+ min(thresholdFrames, .max / 2)
  }

  /// Starts the thread, if there is to be one.
  func start() {
    guard upkeep == .background else { return }
    lock.withLock { isRunning = true }
    if !SystemThread.start({ [self] in work() }) { lock.withLock { isRunning = false } }
    table.observe(
      linger: { [weak self] in self?.startAging() }, expiry: { [weak self] in self?.noteExpiry() })
  }

  /// Ends the thread and waits until it has.
  func stop() {
    lock.withLock {
      isStopped = true
      lock.wakeAll()
      while isRunning { lock.wait() }
    }
  }

  /// Looks whether a commit has made the log long enough for a checkpoint, or used up a segment.
  func noteCommit(_ generation: FrameNumber) throws(StorageError) {
    // Half way through a segment, the next one is made.
    let isHalfWay =
      files.geometry.slot(of: generation) > files.geometry.framesPerSegment / 2
    let (isDue, needsSegment) = lock.withLock {
      let isDue = generation >= nextPassAt
      let segment = files.geometry.segment(of: generation)
      let needsSegment = isHalfWay && segment >= nextSegment
      if needsSegment { nextSegment = segment + 1 }
      if isDue { wantsPass = true }
      if needsSegment { wantsSegments = true }
      if upkeep == .background, isDue || needsSegment { lock.wakeAll() }
      return (isDue, needsSegment)
    }
    guard upkeep == .inline else { return }
    if needsSegment { try makeSegments() }
    if isDue { _ = try runPass() }
  }

  private func makeSegments() throws(StorageError) {
    let state = table.appended
    guard let last = state.segments.segments.last else { return }
    try files.supply.refill(after: last.number, lineage: state.point.lineage)
  }

  /// One pass, now; waits for one that is running.
  func runPass(writesWitness: Bool = false) throws(StorageError) -> CheckpointResult {
    defer {
      lock.withLock {
        wantsPass = false
        // From the end of this pass, not from what it reached: while a pin holds it back, passes
        // come once for each stretch of new log, not once for each commit.
        nextPassAt = files.words.appended &+ min(thresholdFrames, .max / 2)
      }
    }
    return try Pass(
      files: files, table: table, queue: queue, gate: gate, lineages: lineages,
      writesWitness: writesWitness
    ).run()
  }

  private func startAging() {
    lock.withLock {
      guard !ages else { return }
      ages = true
      lock.wakeAll()
    }
  }

  /// An old generation is gone: what it held back may be worth a pass.
  private func noteExpiry() {
    lock.withLock {
      let words = files.words
      guard words.durable &- words.backfilled >= min(thresholdFrames, 1 << 40) / 4 else { return }
      wantsPass = true
      lock.wakeAll()
    }
  }

  /// The life of the thread: sleep until something is due.
  private func work() {
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
        // An error here is not lost: it closes writing, or the next pass meets it again.
        _ = try? runPass()
        lock.acquire()
      } else if ages {
        lock.wait(milliseconds: 100)
        lock.release()
        let lingersStill = table.ageLingeringPin()
        lock.acquire()
        ages = lingersStill
      } else {
        lock.wait()
      }
    }
    isRunning = false
    lock.wakeAll()
    lock.release()
  }
}
