/// How much an open store has done since it was opened: counts that only grow.
public struct StoreActivity: Hashable, Sendable {
  /// Transactions that became generations.
  public var commits = 0
  /// Page images written to the log.
  public var pagesLogged = 0
  /// Bytes written to the log, group headers included.
  public var bytesLogged = 0
  /// Syncs of log segments.
  public var logSyncs = 0
  /// Syncs of the store's folder.
  public var directorySyncs = 0
  /// Passes that moved pages from the log to the page file.
  public var checkpoints = 0
  /// Pages those passes wrote.
  public var pagesCheckpointed = 0
  /// Syncs of the page file.
  public var pageFileSyncs = 0
  /// Log segments deleted.
  public var segmentsDeleted = 0
  /// Pages whose hash and structure were verified on first touch.
  public var pagesVerified = 0
}

/// Keeps the counts of one open store; thread-safe.
package final class ActivityCounters: @unchecked Sendable {
  // @unchecked because `counts` is guarded by `lock`.
  private let lock = Lock()
  private var counts = StoreActivity()

  package init() {}

  package func update(_ body: (inout StoreActivity) -> Void) {
    lock.withLock { body(&counts) }
  }

  package var current: StoreActivity { lock.withLock { counts } }
}
