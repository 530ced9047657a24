/// What this process knows of the last reclaim; thread-safe.
package final class ReclaimRecord: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.

  /// The sizes that bound the log after a reclaim.
  package struct Figures {
    let serial: UInt64
    /// The commit the map reaches up to.
    let end: CommitPoint
    /// Generations that were held below the newest durable one.
    let heldCount: Int
    /// Pages with any frame that is left.
    let distinctPageCount: Int
    let mapByteCount: Int
  }

  private let lock = Lock()
  private var figures: Figures?
  private var holesAreImpossible = false

  package init() {}

  /// Notes a reclaim whose holes were all made.
  func note(_ figures: Figures) { lock.withLock { self.figures = figures } }

  /// Whether this process made all holes that belong to the map with this number.
  ///
  /// Nobody remembers it beyond the process: a pass that died may have left some.
  func isComplete(_ serial: UInt64) -> Bool { lock.withLock { figures?.serial == serial } }

  func noteThatHolesAreImpossible() { lock.withLock { holesAreImpossible = true } }

  /// Whether the file system takes back parts of a file.
  package var canMakeHoles: Bool { lock.withLock { !holesAreImpossible } }

  package var last: Figures? { lock.withLock { figures } }
}
