/// A record of this process's last log reclamation.
///
/// Thread-safe.
package final class LogReclamationRecord: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.

  /// The numbers that determine the upper bound on the log's size after a reclamation.
  package struct Figures {
    let serial: UInt64
    /// The last commit that the map covers.
    let end: CommitPoint
    /// The number of held generations below the newest durable one.
    let heldCount: Int
    /// The number of pages with at least one retained frame.
    let distinctPageCount: Int
    let mapByteCount: Int
  }

  private let lock = Lock()
  private var figures: Figures?
  private var lacksHoleSupport = false

  package init() {}

  /// Records a reclamation that has punched all its holes.
  func record(_ figures: Figures) { lock.withLock { self.figures = figures } }

  /// Returns whether this process has punched all holes for the map with the given serial number.
  ///
  /// Only runs in this process are known to be complete, because another process may have died
  /// before it had punched all holes.
  func isComplete(_ serial: UInt64) -> Bool { lock.withLock { figures?.serial == serial } }

  func recordMissingHoleSupport() { lock.withLock { lacksHoleSupport = true } }

  /// Whether the file system can deallocate ranges of a file.
  package var canPunchHoles: Bool { lock.withLock { !lacksHoleSupport } }

  package var last: Figures? { lock.withLock { figures } }
}
