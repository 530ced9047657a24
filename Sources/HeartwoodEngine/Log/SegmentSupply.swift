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

  /// - Parameter makeNameDurable: Called with a segment whose file is complete.
  package init(
    files: LogFiles, makeNameDurable: @escaping @Sendable (UInt64) throws(StorageError) -> Void
  ) {
    self.files = files
    self.makeNameDurable = makeNameDurable
  }

  /// The segments from `first` to `last`, with durable names, ready for frames.
  ///
  /// - Complexity: One sync of the folder if any had to be made.
  package func take(
    _ first: UInt64, through last: UInt64, lineage: UInt64
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
        segments.append(try files.create(number, lineage: lineage, isAhead: false))
      }
    }
    newestTaken = last
    try makeNameDurable(last)
    return segments
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
