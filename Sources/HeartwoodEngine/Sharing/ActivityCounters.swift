/// This process's activity in one open store since the store was opened.
///
/// The counts never decrease.
public struct StoreActivity: Hashable, Sendable {
  /// The number of committed transactions.
  public var commitCount = 0
  /// The number of page images written to the log.
  public var loggedPageCount = 0
  /// The number of bytes written to the log, including group headers.
  public var loggedByteCount = 0
  /// The number of times that a log segment was synced.
  public var logSyncCount = 0
  /// The number of times that the store's directory was synced.
  public var directorySyncCount = 0
  /// The number of maintenance runs that wrote logged pages back to the page file.
  public var checkpointCount = 0
  /// The number of pages written to the page file by maintenance.
  public var checkpointedPageCount = 0
  /// The number of times that the page file was synced.
  public var pageFileSyncCount = 0
  /// The number of deleted log segments.
  public var deletedSegmentCount = 0
  /// The number of times that this process verified the hash and structure of a page.
  public var verifiedPageCount = 0
}

/// The activity counts of one open store.
package final class ActivityCounters: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards `counts`.
  private let lock = Lock()
  private var counts = StoreActivity()

  package init() {}

  package func update(_ body: (inout StoreActivity) -> Void) {
    lock.withLock { body(&counts) }
  }

  package var current: StoreActivity { lock.withLock { counts } }
}
