/// A record of this process's last log reclamation.
package final class LogReclamationRecord: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards every property declared after it.

  /// The numbers that determine the upper bound on the log's size after a reclamation.
  package struct Figures {
    /// The last commit that the map covers.
    let end: CommitPoint
    /// The number of frames between the end of the previous map and the end of the new map.
    let newFrameCount: Int
    /// The number of held generations below the newest durable generation.
    let heldCount: Int
    /// The number of pages with at least one retained frame.
    let distinctPageCount: Int
    let mapByteCount: Int
  }

  private let lock = Lock()
  private var figures: Figures?
  private var retainedFrameCounts: [UInt64: Int] = [:]
  private var lacksHoleSupport = false

  package init() {}

  /// Records a completed reclamation.
  ///
  /// - Parameter counts: For each segment with holes, the number of frames that were retained when
  ///   holes were last punched in the segment.
  func record(_ figures: Figures, _ counts: [UInt64: Int]) {
    lock.withLock { (self.figures, retainedFrameCounts) = (figures, counts) }
  }

  /// Returns the number of frames that were retained when this process last punched holes in a
  /// segment.
  ///
  /// The result is `nil` if this process has not punched holes in the segment. Another process may
  /// also have punched holes in the segment, or may have died before punching all of them.
  func retainedFrameCount(_ segment: UInt64) -> Int? {
    lock.withLock { retainedFrameCounts[segment] }
  }

  func recordMissingHoleSupport() { lock.withLock { lacksHoleSupport = true } }

  /// A Boolean value that indicates whether the file system can deallocate ranges of a file.
  package var canPunchHoles: Bool { lock.withLock { !lacksHoleSupport } }

  package var last: Figures? { lock.withLock { figures } }
}
