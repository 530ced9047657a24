import Synchronization

/// The offsets of the counters in the `counters` file.
///
/// Frequently polled counters have their own cache lines, so that writes to them do not slow down
/// readers of other counters.
package enum CountersLayout {
  package static let ready = Field("ready", at: 0, 8)
  package static let appended = Field("appended", at: 64, 8)
  package static let committed = Field("committed", at: 128, 8)
  package static let durable = Field("durable", at: 192, 8)
  package static let floor = Field("floor", at: 256, 8)
  package static let checkpointed = Field("checkpointed", at: 320, 8)
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
    ready, appended, committed, durable, floor, checkpointed, epoch, named, failed, rings, writer,
    lastWriter, maintenanceError, selector, firstDecision, secondDecision,
  ]
  package static let byteCount = 4096
}

/// The offsets of the fields within each copy of the decision record.
package enum DecisionLayout {
  package static let low = Field("low", at: 0, 8)
  package static let newestRetained = Field("newestRetained", at: 8, 8)
  package static let olderRetainedCount = Field("olderRetainedCount", at: 16, 8)
  package static let olderRetained = Field("olderRetained", at: 24, 1704)
  package static let fields = [low, newestRetained, olderRetainedCount, olderRetained]
}

/// The generations that can be pinned, as decided by the last maintenance run.
package struct DecisionRecord: Hashable, Sendable {
  /// A lower bound for readable generations: no generation below it is readable.
  package var low: FrameNumber
  /// The newest retained generation.
  ///
  /// This generation and all later ones are readable.
  package var newestRetained: FrameNumber
  /// The retained generations below `newestRetained`, in ascending order.
  package var olderRetained: [FrameNumber]

  package init(low: FrameNumber, newestRetained: FrameNumber, olderRetained: [FrameNumber]) {
    self.low = low
    self.newestRetained = newestRetained
    self.olderRetained = olderRetained
  }

  package func isAlive(_ generation: FrameNumber) -> Bool {
    generation >= low && (generation >= newestRetained || olderRetained.contains(generation))
  }
}

/// The shared counters of a store, stored in the memory-mapped `counters` file.
///
/// Each counter is atomic and meaningful on its own. A counter that contains a generation never
/// decreases. Counters are valid only on one machine, and only until the machine is restarted. The
/// counters remain usable even if a process dies between any two instructions.
/// `Docs/Internals/Concurrency.md` lists the lock under which each counter is written.
package final class SharedCounters: @unchecked Sendable {
  // `@unchecked` is safe because every access is atomic.
  private let mapping: Mapping
  private let onAccess: (@Sendable (Int, Bool) -> Void)?

  package init(_ mapping: Mapping) {
    precondition(mapping.bytes.count >= CountersLayout.byteCount)
    self.mapping = mapping
    onAccess = mapping.onAccess
  }

  /// Creates counters that are private to this process.
  package static func ofThisProcess() -> SharedCounters {
    let block = ByteBlock(count: CountersLayout.byteCount)
    return SharedCounters(Mapping(block.bytes) { _ in withExtendedLifetime(block) {} })
  }

  @inline(__always)
  private func counter(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (mapping.bytes.base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  package func load(_ field: Field) -> UInt64 {
    onAccess?(field.offset, false)
    return counter(field.offset).pointee.load(ordering: .acquiring)
  }

  package func store(_ value: UInt64, _ field: Field) {
    onAccess?(field.offset, true)
    counter(field.offset).pointee.store(value, ordering: .releasing)
  }

  /// Raises a counter to `value`.
  ///
  /// The method changes nothing if the counter is already at least `value`.
  package func raise(_ field: Field, to value: UInt64) {
    onAccess?(field.offset, true)
    var seen = counter(field.offset).pointee.load(ordering: .acquiring)
    while seen < value {
      let result = counter(field.offset).pointee.weakCompareExchange(
        expected: seen, desired: value, ordering: .acquiringAndReleasing)
      if result.exchanged { return }
      seen = result.original
    }
  }

  package func add(_ count: UInt64, _ field: Field) {
    onAccess?(field.offset, true)
    counter(field.offset).pointee.wrappingAdd(count, ordering: .acquiringAndReleasing)
  }

  /// Issues a full memory barrier, which orders all earlier memory accesses before all later ones.
  package func fence() { atomicMemoryFence(ordering: .sequentiallyConsistent) }

  package var appended: FrameNumber { load(CountersLayout.appended) }
  package var committed: FrameNumber { load(CountersLayout.committed) }
  package var durable: FrameNumber { load(CountersLayout.durable) }
  package var floor: FrameNumber { load(CountersLayout.floor) }
  package var checkpointed: FrameNumber { load(CountersLayout.checkpointed) }
  package var epoch: UInt64 { load(CountersLayout.epoch) }
  package var hasFailed: Bool { load(CountersLayout.failed) != 0 }
  package func setFailed() { store(1, CountersLayout.failed) }

  /// The failure of the last maintenance run in any process, or `nil` if that run succeeded.
  package var maintenanceFailure: MaintenanceFailure? {
    MaintenanceFailure(word: load(CountersLayout.maintenanceError))
  }

  package func publishMaintenanceResult(_ error: StorageError?) {
    store(error.map { MaintenanceFailure($0).word } ?? 0, CountersLayout.maintenanceError)
  }

  /// Disables writing if an error leaves the contents of the files unknown.
  ///
  /// A full disk, a timeout or a refused call does not disable writing.
  package func disableWriting(after error: StorageError) {
    guard ![.diskFull, .busy].contains(error.kind), !error.changedNothing else { return }
    setFailed()
  }

  /// Returns whether the counters are consistent with each other, and whether every generation in
  /// `kept` can be pinned.
  ///
  /// Damaged counters could cause the store to treat a commit as durable when it is not, or to
  /// reclaim a named generation. Call this method only while no other process has the store open.
  package func areCredible(keeping kept: [FrameNumber]) -> Bool {
    let decision = decision
    return checkpointed <= floor && floor <= durable && durable <= committed
      && committed <= appended && max(decision.low, decision.newestRetained) <= appended
      && kept.allSatisfy { decision.isAlive($0) }
  }

  /// The decision that the last maintenance run published.
  ///
  /// A caller that must not miss a change reads the epoch both before and after reading the
  /// decision.
  package var decision: DecisionRecord {
    let start = Self.copy(load(CountersLayout.selector) & 1)
    onAccess?(start, false)
    func value(_ field: Field, _ position: Int = 0) -> UInt64 {
      counter(start + field.offset + position * 8).pointee.load(ordering: .relaxed)
    }
    let count = min(
      value(DecisionLayout.olderRetainedCount), UInt64(Limits.maxRetainedGenerationCount))
    return DecisionRecord(
      low: value(DecisionLayout.low), newestRetained: value(DecisionLayout.newestRetained),
      olderRetained: (0..<Int(count)).map { value(DecisionLayout.olderRetained, $0) })
  }

  /// Publishes a decision by filling the copy that is not in use and then switching to that copy.
  ///
  /// If there are too many retained generations, the record lists only the lowest generations, and
  /// the next generation becomes `newestRetained`. All retained generations remain readable, but
  /// maintenance reclaims less log space.
  package func publish(_ decision: DecisionRecord) {
    var fitting = decision
    if decision.olderRetained.count > Limits.maxRetainedGenerationCount {
      fitting.newestRetained = decision.olderRetained[Limits.maxRetainedGenerationCount]
      fitting.olderRetained = Array(
        decision.olderRetained.prefix(Limits.maxRetainedGenerationCount))
    }
    let selector = load(CountersLayout.selector) ^ 1
    let start = Self.copy(selector & 1)
    onAccess?(start, true)
    func set(_ field: Field, _ position: Int = 0, to value: UInt64) {
      counter(start + field.offset + position * 8).pointee.store(value, ordering: .relaxed)
    }
    set(DecisionLayout.low, to: fitting.low)
    set(DecisionLayout.newestRetained, to: fitting.newestRetained)
    set(DecisionLayout.olderRetainedCount, to: UInt64(fitting.olderRetained.count))
    for (position, bound) in fitting.olderRetained.enumerated() {
      set(DecisionLayout.olderRetained, position, to: bound)
    }
    store(selector, CountersLayout.selector)
  }

  private static func copy(_ selector: UInt64) -> Int {
    selector == 0
      ? CountersLayout.firstDecision.offset : CountersLayout.secondDecision.offset
  }
}
