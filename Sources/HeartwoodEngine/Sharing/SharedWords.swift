import Synchronization

/// Where each word of the `counters` file lies: one cache line apart, so that a reader polling one
/// is not disturbed by a writer of another.
package enum CountersLayout {
  package static let ready = Field("ready", at: 0, 8)
  package static let appended = Field("appended", at: 64, 8)
  package static let committed = Field("committed", at: 128, 8)
  package static let durable = Field("durable", at: 192, 8)
  package static let floor = Field("floor", at: 256, 8)
  package static let backfilled = Field("backfilled", at: 320, 8)
  package static let epoch = Field("epoch", at: 384, 8)
  package static let named = Field("named", at: 448, 8)
  package static let failed = Field("failed", at: 512, 8)
  package static let rings = Field("rings", at: 520, 8)
  package static let writer = Field("writer", at: 528, 8)
  package static let lastWriter = Field("lastWriter", at: 536, 8)
  package static let maintenanceError = Field("maintenanceError", at: 544, 8)
  package static let selector = Field("selector", at: 576, 8)
  package static let firstDecision = Field("decision 0", at: 640, 1728)
  package static let secondDecision = Field("decision 1", at: 2368, 1728)
  package static let fields = [
    ready, appended, committed, durable, floor, backfilled, epoch, named, failed, rings, writer,
    lastWriter, maintenanceError, selector, firstDecision, secondDecision,
  ]
  package static let byteCount = 4096
}

/// Where the words of a decision record lie within its copy.
package enum DecisionLayout {
  package static let low = Field("low", at: 0, 8)
  package static let top = Field("top", at: 8, 8)
  package static let boundCount = Field("boundCount", at: 16, 8)
  package static let bounds = Field("bounds", at: 24, 1704)
  package static let fields = [low, top, boundCount, bounds]
}

/// What is still readable, decided by the last pass: the only definition of "can be pinned".
package struct DecisionRecord: Hashable, Sendable {
  /// No generation below it is readable.
  package var low: FrameNumber
  /// From here on every commit is readable.
  package var top: FrameNumber
  /// Readable generations below `top`, ascending.
  package var bounds: [FrameNumber]

  package init(low: FrameNumber, top: FrameNumber, bounds: [FrameNumber]) {
    self.low = low
    self.top = top
    self.bounds = bounds
  }

  /// Whether `generation` can still be pinned.
  package func isAlive(_ generation: FrameNumber) -> Bool {
    generation >= low && (generation >= top || bounds.contains(generation))
  }
}

/// The shared words of a store: each monotonic, atomic, and meaningful alone; but for `writer`,
/// which is for messages only.
///
/// They lie in the mapped `counters` file and belong to one boot of one machine; a process that
/// dies at any instruction leaves them usable. Which lock the writer of a word holds is said in
/// `Docs/Concurrency.md`.
package final class SharedWords: @unchecked Sendable {
  // @unchecked because every access is atomic.
  private let mapping: Mapping
  private let onAccess: (@Sendable (Int, Bool) -> Void)?

  package init(_ mapping: Mapping) {
    precondition(mapping.bytes.count >= CountersLayout.byteCount)
    self.mapping = mapping
    onAccess = mapping.onAccess
  }

  /// Words that are nobody else's: for read-only opening and for tests.
  package static func ofThisProcess() -> SharedWords {
    let block = ByteBlock(count: CountersLayout.byteCount)
    return SharedWords(Mapping(block.bytes) { _ in withExtendedLifetime(block) {} })
  }

  @inline(__always)
  private func word(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (mapping.bytes.base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  package func load(_ field: Field) -> UInt64 {
    onAccess?(field.offset, false)
    return word(field.offset).pointee.load(ordering: .acquiring)
  }

  package func store(_ value: UInt64, _ field: Field) {
    onAccess?(field.offset, true)
    word(field.offset).pointee.store(value, ordering: .releasing)
  }

  /// Raises a word to `value` unless it is there or beyond already.
  package func raise(_ field: Field, to value: UInt64) {
    onAccess?(field.offset, true)
    var seen = word(field.offset).pointee.load(ordering: .acquiring)
    while seen < value {
      let result = word(field.offset).pointee.weakCompareExchange(
        expected: seen, desired: value, ordering: .acquiringAndReleasing)
      if result.exchanged { return }
      seen = result.original
    }
  }

  /// Counts up a word that says that something has happened.
  package func add(_ count: UInt64, _ field: Field) {
    onAccess?(field.offset, true)
    word(field.offset).pointee.wrappingAdd(count, ordering: .acquiringAndReleasing)
  }

  /// Orders everything before it against everything after it, on all cores.
  package func fence() { atomicMemoryFence(ordering: .sequentiallyConsistent) }

  package var appended: FrameNumber { load(CountersLayout.appended) }
  package var committed: FrameNumber { load(CountersLayout.committed) }
  package var durable: FrameNumber { load(CountersLayout.durable) }
  package var floor: FrameNumber { load(CountersLayout.floor) }
  package var backfilled: FrameNumber { load(CountersLayout.backfilled) }
  package var epoch: UInt64 { load(CountersLayout.epoch) }
  package var hasFailed: Bool { load(CountersLayout.failed) != 0 }
  package func setFailed() { store(1, CountersLayout.failed) }

  /// Why the last run of maintenance failed, in whichever process; `nil` if it did not.
  package var maintenanceFailure: MaintenanceFailure? {
    MaintenanceFailure(word: load(CountersLayout.maintenanceError))
  }

  /// Tells all processes how a run of maintenance ended.
  package func noteMaintenance(_ error: StorageError?) {
    store(error.map { MaintenanceFailure($0).word } ?? 0, CountersLayout.maintenanceError)
  }

  /// Closes writing after an error that leaves it unknown what the files hold.
  ///
  /// A full disk rolls back, waiting in vain has done nothing, and so has a call that was refused.
  package func noteFailure(_ error: StorageError) {
    guard ![.full, .busy].contains(error.kind), !error.changedNothing else { return }
    setFailed()
  }

  /// Whether the words say what can be: that which follows from another is not beyond it, and every
  /// kept generation can be pinned.
  ///
  /// Damaged words could make a commit pass for durable, or give up what is kept. Asked while
  /// nobody else is in.
  package func areCredible(keeping kept: [FrameNumber]) -> Bool {
    let decision = decision
    return backfilled <= floor && floor <= durable && durable <= committed
      && committed <= appended && max(decision.low, decision.top) <= appended
      && kept.allSatisfy { decision.isAlive($0) }
  }

  /// The published decision; a caller that must not miss a change reads the epoch before and after.
  package var decision: DecisionRecord {
    let start = Self.copy(load(CountersLayout.selector) & 1)
    onAccess?(start, false)
    let count = min(
      word(start + DecisionLayout.boundCount.offset).pointee.load(ordering: .relaxed),
      UInt64(Limits.maxDecisionBoundCount))
    return DecisionRecord(
      low: word(start + DecisionLayout.low.offset).pointee.load(ordering: .relaxed),
      top: word(start + DecisionLayout.top.offset).pointee.load(ordering: .relaxed),
      bounds: (0..<Int(count)).map {
        word(start + DecisionLayout.bounds.offset + $0 * 8).pointee.load(ordering: .relaxed)
      })
  }

  /// Fills the copy nobody reads, then points to it.
  ///
  /// With more bounds than fit, the lowest are kept and `top` becomes the next one: nothing is
  /// lost, less is reclaimed.
  package func publish(_ decision: DecisionRecord) {
    var fitting = decision
    if decision.bounds.count > Limits.maxDecisionBoundCount {
      fitting.top = decision.bounds[Limits.maxDecisionBoundCount]
      fitting.bounds = Array(decision.bounds.prefix(Limits.maxDecisionBoundCount))
    }
    let selector = load(CountersLayout.selector) ^ 1
    let start = Self.copy(selector & 1)
    onAccess?(start, true)
    word(start + DecisionLayout.low.offset).pointee.store(fitting.low, ordering: .relaxed)
    word(start + DecisionLayout.top.offset).pointee.store(fitting.top, ordering: .relaxed)
    word(start + DecisionLayout.boundCount.offset).pointee.store(
      UInt64(fitting.bounds.count), ordering: .relaxed)
    for (position, bound) in fitting.bounds.enumerated() {
      word(start + DecisionLayout.bounds.offset + position * 8).pointee.store(
        bound, ordering: .relaxed)
    }
    store(selector, CountersLayout.selector)
  }

  private static func copy(_ selector: UInt64) -> Int {
    selector == 0
      ? CountersLayout.firstDecision.offset : CountersLayout.secondDecision.offset
  }
}
