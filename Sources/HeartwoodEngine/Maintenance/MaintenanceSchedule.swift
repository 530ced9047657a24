/// Decides when maintenance runs are due, and when writers must wait for a run.
///
/// No other code compares the length of the log with a limit. Lengths are in frames, counted from
/// the newest commit at the start of the last run, not from the commit that the run reached. While
/// a pin holds the page file back, a run is therefore due once for each stretch of new log, not
/// after every commit.
struct MaintenanceSchedule {
  /// The length of the log at which a run is due.
  private let length: UInt64
  /// The length of the log at which a run is due while generations are held; after a run, they
  /// retain little log.
  private let heldLength: UInt64
  private var nextRunAt: FrameNumber
  /// The commit at which to check for held generations, which make a run due sooner.
  private var nextHeldCheckAt: FrameNumber
  /// The commit at which writers start to wait for a run.
  private var stallAt: FrameNumber

  /// A number of frames that no log has, small enough to be added without overflow.
  private static let never: UInt64 = 1 << 48
  /// Writers wait for a run once the log reaches this multiple of the length that makes a run due.
  private static let stallFactor: UInt64 = 4
  /// The number of retained pages for each frame of new log between two runs, while generations are
  /// held.
  private static let heldShare: UInt64 = 8

  /// Creates a schedule from lengths in bytes.
  ///
  /// - Parameters:
  ///   - checkpointByteCount: The length of the log at which a run is due; 0 for never.
  ///   - reclaimByteCount: The length of the log at which a run is due while generations are held.
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

  /// Returns whether a commit makes a run due.
  mutating func isDue(at generation: FrameNumber, holdsOlder: @autoclosure () -> Bool) -> Bool {
    if generation >= nextHeldCheckAt {
      nextHeldCheckAt = generation + heldLength
      if holdsOlder() {
        nextRunAt = generation
        // While generations are held, the log is bounded, however long the run takes to start.
        stallAt = min(stallAt, generation + heldLength / 2)
      }
    }
    return generation >= nextRunAt
  }

  /// Returns whether a writer must wait for a run after this commit.
  func stalls(at generation: FrameNumber) -> Bool { generation >= stallAt }

  /// Lets writers continue for a while, because a run takes too long.
  mutating func stopStalling(at generation: FrameNumber) { stallAt = generation + heldLength }

  /// Returns whether a log of this length makes a run worthwhile after an old generation has
  /// expired.
  func isWorthwhile(afterExpiry length: UInt64) -> Bool { length >= self.length / 4 }

  /// Returns the length of new log between two runs while generations are held.
  ///
  /// A run examines everything that is retained, so runs are rarer if more is retained.
  ///
  /// - Parameter pageCount: The number of pages with frames retained by the last run.
  func heldStretch(retaining pageCount: Int) -> UInt64 {
    max(heldLength, UInt64(pageCount) / Self.heldShare)
  }

  /// Records the end of a run.
  ///
  /// - Parameters:
  ///   - start: The newest commit when the run began.
  ///   - stretch: The result of ``heldStretch(retaining:)``; `nil` if no generation holds the page
  ///     file back.
  mutating func recordRun(from start: FrameNumber, held stretch: UInt64?) {
    nextRunAt = start + (stretch ?? length)
    nextHeldCheckAt = start + (stretch ?? min(length, heldLength))
    // While generations are held, the size of the log is guaranteed: writers wait at one and a half
    // times the stretch.
    stallAt = start + (stretch.map { $0 * 3 / 2 } ?? Self.stallFactor * length)
  }
}
