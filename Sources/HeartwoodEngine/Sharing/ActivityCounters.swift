/// The activity of an open store since it was opened, as counts that only grow.
public struct StoreActivity: Hashable, Sendable {
  /// Committed transactions.
  public var commitCount = 0
  /// Page images written to the log.
  public var loggedPageCount = 0
  /// Bytes written to the log, including group headers.
  public var loggedByteCount = 0
  /// Syncs of log segments.
  public var logSyncCount = 0
  /// Syncs of the store's directory.
  public var directorySyncCount = 0
  /// Maintenance runs that moved pages from the log to the page file.
  public var checkpointCount = 0
  /// Pages written by those runs.
  public var checkpointedPageCount = 0
  /// Syncs of the page file.
  public var pageFileSyncCount = 0
  /// Log segments deleted.
  public var deletedSegmentCount = 0
  /// Pages whose hash and structure were verified on first touch.
  public var verifiedPageCount = 0
}

/// The counts of one open store; thread-safe.
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
