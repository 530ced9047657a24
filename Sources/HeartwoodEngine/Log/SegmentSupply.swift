import Synchronization

/// Makes the log's segments: those a writer needs now, and a few ahead of him.
///
/// A segment made ahead has its bytes written and its name durable, so that the commit that enters
/// it waits for neither. Thread-safe: `lock` is held while segments are made, so that nobody makes
/// one twice; a writer who needs one that is being made waits for it.
package final class SegmentSupply: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.
  private let files: LogFiles
  private let makeNameDurable: @Sendable (UInt64) throws(StorageError) -> Void
  private let lock = Lock()
  private var ready: [Segment] = []
  /// How many are made ahead: two once a writer has come too early for one.
  private var wanted = 1
  /// The last segment a writer got; he may be filling it before any state shows it.
  private var newestTaken: UInt64?
  /// Whether a writer has used the reserve, and it was not filled again.
  private let hasUsedReserve = Atomic<Bool>(false)

  /// - Parameter makeNameDurable: Called with a segment whose file is complete.
  package init(
    files: LogFiles, makeNameDurable: @escaping @Sendable (UInt64) throws(StorageError) -> Void
  ) {
    self.files = files
    self.makeNameDurable = makeNameDurable
  }

  /// The segments from `first` to `last`, with durable names, ready for frames.
  ///
  /// - Parameter mayUseReserve: Whether the last may be made of the reserve when the disk is full.
  /// - Complexity: One sync of the folder if any had to be made.
  package func take(
    _ first: UInt64, through last: UInt64, lineage: UInt64, mayUseReserve: Bool = false
  ) throws(StorageError) -> [Segment] {
    lock.acquire()
    defer { lock.release() }
    var segments: [Segment] = []
    for number in first...last {
      // What was made ahead for a writer that gave up after taking others is of no use any more.
      ready.removeAll { $0.number < number }
      if ready.first?.number == number {
        segments.append(ready.removeFirst())
      } else {
        wanted = 2
        segments.append(
          try make(number, lineage, mayUseReserve: mayUseReserve && number == last))
      }
    }
    newestTaken = last
    try makeNameDurable(last)
    return segments
  }

  private func make(
    _ number: UInt64, _ lineage: UInt64, mayUseReserve: Bool
  ) throws(StorageError) -> Segment {
    do throws(StorageError) {
      return try files.create(number, lineage: lineage, isAhead: false)
    } catch {
      guard error.kind == .full, mayUseReserve,
        let segment = try files.createFromReserve(number, lineage: lineage)
      else { throw error }
      hasUsedReserve.store(true, ordering: .relaxed)
      return segment
    }
  }

  /// Whether the reserve was used and is to be filled again, after a pass that makes room.
  package var needsRoom: Bool { hasUsedReserve.load(ordering: .relaxed) }

  /// Takes the space of the reserve again, if there is room.
  package func fillReserve() throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      hasUsedReserve.store(try !files.fillReserve(), ordering: .relaxed)
    }
  }

  /// Takes back the segments behind `last`, which a writer has taken and given up.
  ///
  /// They keep their durable names and lose their bytes, so that a transaction for which the disk
  /// was too small leaves room again; whoever needs one next makes it anew. Losing them is no
  /// promise: an error leaves bytes that nobody will look at.
  package func giveBack(_ taken: some Sequence<Segment>, after last: UInt64) {
    lock.acquire()
    defer { lock.release() }
    for segment in taken { try? segment.file.setByteCount(0) }
    for segment in ready { try? segment.file.setByteCount(0) }
    ready = []
    newestTaken = last
  }

  /// Makes segments ahead, behind the last one in use, which is `last` or one taken since.
  package func refill(after last: UInt64, lineage: UInt64) throws(StorageError) {
    lock.acquire()
    defer { lock.release() }
    let last = max(last, newestTaken ?? last)
    ready.removeAll { $0.number <= last }
    guard ready.count < wanted else { return }
    while ready.count < wanted {
      let number = (ready.last?.number ?? last) + 1
      ready.append(try files.create(number, lineage: lineage, isAhead: true))
    }
    if let newest = ready.last { try makeNameDurable(newest.number) }
  }
}
