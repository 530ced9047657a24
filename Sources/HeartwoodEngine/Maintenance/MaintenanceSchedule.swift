/// The schedule of maintenance runs, and of writers that wait for one: nothing else compares the
/// length of the log with a limit.
///
/// Lengths are in frames, from the newest commit that the last run could see, not from the one it
/// reached: while a pin holds it back, there is one run for each stretch of new log.
struct MaintenanceSchedule {
  /// The length of the log at which a run is due.
  private let length: UInt64
  /// The same while generations are held: what they retain is small after a run.
  private let heldLength: UInt64
  private var nextRunAt: FrameNumber
  /// The next check for held generations, which make a run due sooner.
  private var nextHeldCheckAt: FrameNumber
  /// The commit at which writers start to wait for a run.
  private var stallAt: FrameNumber

  /// More frames than any log has, and few enough to add without overflow.
  private static let never: UInt64 = 1 << 48
  /// During a run, writers continue until the log has grown by this many times the length that
  /// makes a run due.
  private static let stallFactor: UInt64 = 4
  /// While generations are held, a run is due when the log has grown by one part in this many of
  /// its pages.
  private static let heldShare: UInt64 = 8

  /// - Parameters:
  ///   - checkpointByteCount: The length of the log at which a run is due; 0 for never.
  ///   - reclaimByteCount: The same while generations are held.
  ///   - start: The commit that the page file holds.
  init(
    checkpointByteCount: Int, reclaimByteCount: Int, pageByteCount: Int, from start: FrameNumber
  ) {
    func frames(_ byteCount: Int) -> UInt64 { UInt64(max(byteCount / pageByteCount, 1)) }
    length = checkpointByteCount > 0 ? frames(checkpointByteCount) : Self.never
    heldLength = checkpointByteCount > 0 ? min(length, frames(reclaimByteCount)) : Self.never
    nextRunAt = start + length
    nextHeldCheckAt = start + heldLength
    stallAt = start + Self.stallFactor * length
  }

  /// Whether a commit makes a run due.
  mutating func isDue(at generation: FrameNumber, holdsOlder: @autoclosure () -> Bool) -> Bool {
    if generation >= nextHeldCheckAt {
      nextHeldCheckAt = generation + heldLength
      if holdsOlder() {
        nextRunAt = generation
        // However long the run takes to start: held generations bound the log from now on.
        stallAt = min(stallAt, generation + heldLength / 2)
      }
    }
    return generation >= nextRunAt
  }

  /// Returns whether a writer that has committed waits for a run.
  func stalls(at generation: FrameNumber) -> Bool { generation >= stallAt }

  /// Lets writers continue for a while, because a run takes too long.
  mutating func stopStalling(at generation: FrameNumber) { stallAt = generation + heldLength }

  /// Returns whether this length of the log makes a run due when an old generation expires.
  func isWorthwhile(afterExpiry length: UInt64) -> Bool { length >= self.length / 4 }

  /// Returns the stretch of new log between two runs while generations are held.
  ///
  /// A run examines everything that is held: the more that is, the rarer the runs.
  ///
  /// - Parameter pageCount: The number of pages with frames retained by the last run.
  func heldStretch(retaining pageCount: Int) -> UInt64 {
    max(heldLength, UInt64(pageCount) / Self.heldShare)
  }

  /// Records the end of a run.
  ///
  /// - Parameters:
  ///   - start: The newest commit it could see.
  ///   - stretch: As ``heldStretch(retaining:)``; `nil` if nothing holds the page file back.
  mutating func recordRun(from start: FrameNumber, held stretch: UInt64?) {
    nextRunAt = start + (stretch ?? length)
    nextHeldCheckAt = start + (stretch ?? min(length, heldLength))
    // While generations are held, the size of the log is guaranteed: half as much again is the
    // limit.
    stallAt = start + (stretch.map { $0 * 3 / 2 } ?? Self.stallFactor * length)
  }
}
