/// A schedule that decides when a maintenance run is due, and when writers must wait for one.
///
/// No other type compares the length of the log with a limit. The schedule measures lengths in
/// frames, counted from the commit that was newest when the last run started. The count starts at
/// that commit even if a pin kept the run from checkpointing that far. While a pin is held, runs
/// are therefore due at intervals rather than after every commit.
struct MaintenanceSchedule {
  /// The lower and upper bounds for ``length``.
  private let lengths: ClosedRange<UInt64>
  /// The log length at which a run becomes due.
  private var length: UInt64
  /// The log length at which a run becomes due while generations are held.
  ///
  /// This length is at most `length`. A run at this length reclaims the frames that no held
  /// generation needs.
  private let heldLength: UInt64
  private var nextRunAt: FrameNumber
  /// The generation at which to check again whether older generations are held.
  ///
  /// If any are held at that point, a run is due immediately.
  private var nextHeldCheckAt: FrameNumber
  /// The generation at which writers start to wait for a run.
  private var stallAt: FrameNumber

  /// A number of frames that is greater than the length of any log.
  ///
  /// The number is small enough to be added to a generation without overflow.
  private static let never: UInt64 = 1 << 48
  /// The factor that determines how far the log may grow after a run becomes due.
  ///
  /// The factor is applied to the lower bound of `lengths` or, while generations are held, to
  /// `heldLength`. If the log grows further than that, writers start to wait.
  private static let slackFactor: UInt64 = 3
  /// The default lower and upper bounds for the log length at which a run becomes due, in bytes.
  private static let defaultByteCounts = (16 << 20)...(128 << 20)

  /// Creates a schedule from lengths in bytes.
  ///
  /// - Parameters:
  ///   - checkpointByteCount: The length of the log at which a run is due. If the value is 0, no
  ///     run is ever due. If it is `nil`, the schedule chooses a length based on the size of the
  ///     page file.
  ///   - reclaimByteCount: The length of the log at which a run is due while generations are held.
  ///   - pageCount: The number of pages in the page file.
  ///   - start: The generation that the page file contains.
  init(
    checkpointByteCount: Int?, reclaimByteCount: Int, pageByteCount: Int, pageCount: PageNumber,
    from start: FrameNumber
  ) {
    func frames(_ byteCount: Int) -> UInt64 { UInt64(max(byteCount / pageByteCount, 1)) }
    switch checkpointByteCount {
    case nil:
      lengths =
        frames(Self.defaultByteCounts.lowerBound)...frames(Self.defaultByteCounts.upperBound)
    case let byteCount? where byteCount > 0: lengths = frames(byteCount)...frames(byteCount)
    default: lengths = Self.never...Self.never
    }
    length = lengths.lowerBound
    heldLength =
      length == Self.never ? Self.never : min(lengths.lowerBound, frames(reclaimByteCount))
    (nextRunAt, nextHeldCheckAt, stallAt) = (0, 0, 0)
    recordRun(from: start, held: nil, pageCount: pageCount)
  }

  /// Returns whether a maintenance run is due after a commit.
  ///
  /// - Parameters:
  ///   - generation: The generation of the commit.
  ///   - holdsOlder: Whether any older generation is held.
  mutating func isDue(at generation: FrameNumber, holdsOlder: @autoclosure () -> Bool) -> Bool {
    if generation >= nextHeldCheckAt {
      nextHeldCheckAt = generation + heldLength
      if holdsOlder() {
        nextRunAt = generation
        // Make writers wait earlier than usual, so that the log stays bounded even if the run
        // starts late.
        stallAt = min(stallAt, generation + Self.slackFactor * heldLength)
      }
    }
    return generation >= nextRunAt
  }

  /// Returns whether the next write after the commit of `generation` must wait for a run.
  func stalls(at generation: FrameNumber) -> Bool { generation >= stallAt }

  /// Lets writers continue until the log has grown by another `heldLength`.
  ///
  /// Call this method after a writer has waited too long for a run.
  mutating func stopStalling(at generation: FrameNumber) { stallAt = generation + heldLength }

  /// Returns whether a log of `length` frames is long enough to justify a run after an old
  /// generation has expired.
  func isWorthwhile(afterExpiry length: UInt64) -> Bool { length >= self.length / 4 }

  /// Returns the number of frames by which the log may grow between two runs while generations are
  /// held.
  ///
  /// A run examines all retained frames, so runs are less frequent if more frames are retained.
  ///
  /// - Parameter pageCount: The number of pages for which the last run retained frames.
  func heldStretch(retaining pageCount: Int) -> UInt64 {
    max(heldLength, UInt64(pageCount))
  }

  /// Records that a maintenance run has ended, and computes when the next one is due.
  ///
  /// - Parameters:
  ///   - start: The generation that was newest when the run began.
  ///   - stretch: The result of ``heldStretch(retaining:)``, or `nil` if no generation kept the
  ///     checkpoint from advancing further.
  ///   - pageCount: The number of pages in the page file.
  mutating func recordRun(
    from start: FrameNumber, held stretch: UInt64?, pageCount: PageNumber
  ) {
    length = min(max(UInt64(pageCount), lengths.lowerBound), lengths.upperBound)
    nextRunAt = start + (stretch ?? length)
    nextHeldCheckAt = start + (stretch ?? min(length, heldLength))
    let slack =
      stretch == nil
      ? max(Self.slackFactor * lengths.lowerBound, length) : Self.slackFactor * heldLength
    stallAt = nextRunAt + slack
  }
}
