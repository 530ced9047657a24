/// When runs of maintenance are due, and when writers wait for one: nothing else compares the
/// length of the log with a limit.
///
/// Lengths are in frames, from the newest commit that the last run could see, not from what it
/// reached: while a pin holds it back, runs come once for each stretch of new log.
struct MaintenanceSchedule {
  /// The length of log that makes a run due.
  private let length: UInt64
  /// The same while generations are held: what they hold back is small once a run is done.
  private let heldLength: UInt64
  private var nextRunAt: FrameNumber
  /// Where to look whether generations are held, which makes a run due sooner.
  private var nextLookAt: FrameNumber
  /// Where writers wait for a run.
  private var stallAt: FrameNumber

  /// More frames than any log has, and few enough to be added up.
  private static let never: UInt64 = 1 << 48
  /// Writers go on while a run is in progress, until this many times what makes one due has been
  /// written.
  private static let stallFactor: UInt64 = 4
  /// While generations are held, runs come when the log has grown by one part in so many of the
  /// pages in it.
  private static let heldShare: UInt64 = 8

  /// - Parameters:
  ///   - checkpointByteCount: The length of log that makes a run due; 0 for never.
  ///   - reclaimByteCount: The same while generations are held.
  ///   - start: The commit that the page file holds.
  init(
    checkpointByteCount: Int, reclaimByteCount: Int, pageByteCount: Int, from start: FrameNumber
  ) {
    func frames(_ byteCount: Int) -> UInt64 { UInt64(max(byteCount / pageByteCount, 1)) }
    length = checkpointByteCount > 0 ? frames(checkpointByteCount) : Self.never
    heldLength = checkpointByteCount > 0 ? min(length, frames(reclaimByteCount)) : Self.never
    nextRunAt = start + length
    nextLookAt = start + heldLength
    stallAt = start + Self.stallFactor * length
  }

  /// Whether a commit makes a run due.
  mutating func isDue(
    at generation: FrameNumber, holdsOlder: @autoclosure () -> Bool
  ) -> Bool {
    if generation >= nextLookAt {
      nextLookAt = generation + heldLength
      if holdsOlder() {
        nextRunAt = generation
        // However long the run is in coming: what is held bounds the log from now on.
        stallAt = min(stallAt, generation + heldLength / 2)
      }
    }
    return generation >= nextRunAt
  }

  /// Whether a writer that has committed waits for a run.
  func stalls(at generation: FrameNumber) -> Bool { generation >= stallAt }

  /// Lets writers go on for a while, because a run takes too long.
  mutating func stopStalling(at generation: FrameNumber) { stallAt = generation + heldLength }

  /// Whether so much log makes a run due when an old generation is held no more.
  func isWorthwhile(afterExpiry length: UInt64) -> Bool { length >= self.length / 4 }

  /// The stretch of new log between two runs while generations are held.
  ///
  /// A run looks at all that is held: the more it is, the more rarely.
  ///
  /// - Parameter pageCount: The pages that the last run has retained frames of.
  func heldStretch(retaining pageCount: Int) -> UInt64 {
    max(heldLength, UInt64(pageCount) / Self.heldShare)
  }

  /// Notes that a run has ended.
  ///
  /// - Parameters:
  ///   - start: The newest commit it could see.
  ///   - stretch: As ``heldStretch(retaining:)``; `nil` if nothing holds the page file back.
  mutating func noteRun(from start: FrameNumber, held stretch: UInt64?) {
    nextRunAt = start + (stretch ?? length)
    nextLookAt = start + (stretch ?? min(length, heldLength))
    // While generations are held, the log's size is a promise: half as much again is enough.
    stallAt = start + (stretch.map { $0 * 3 / 2 } ?? Self.stallFactor * length)
  }
}
