import Synchronization

/// The sizes of a store, and its activity since it was opened.
public struct StoreStatistics: Hashable, Sendable {
  /// Bytes in a page.
  public var pageByteCount: Int
  /// Pages of the newest generation, in use or free.
  public var pageCount = 0
  /// Bytes that the log occupies on the file system: with segments created ahead, without holes.
  public var logByteCount = 0
  /// The bound of the log's size after the last log reclamation: one image of each page in it for
  /// each held generation and for the newest, the map, and four segments; `nil` before the first
  /// one.
  ///
  /// Frames written until the next run come on top.
  public var logByteBound: Int?
  /// Whether the file system can deallocate ranges of a file; otherwise only complete segments of
  /// the log are reclaimed, and the log may exceed ``logByteBound``.
  public var canPunchHoles = true
  /// The oldest held generation, and its cost.
  public var oldestHeldGeneration: LiveGeneration?
  /// The newest visible generation.
  public var newestGeneration = Generation(frame: 0)
  /// The checkpointed generation, which the page file holds.
  public var checkpointedGeneration = Generation(frame: 0)
  /// The number of generations that this process holds.
  public var liveGenerationCount = 0
  /// Bytes of page indexes, which map pages to their location in the log, of all stores open in
  /// this process.
  ///
  /// They grow with the pages that were changed since the checkpointed generation, by about 10
  /// bytes each for adjacent pages and 65 for scattered ones.
  public var indexByteCount = 0
  /// Pages requested in `.buffered` reading.
  public var cacheLookupCount = 0
  /// Pages that had to be read into the cache.
  public var cacheReadCount = 0
  /// The error of the newest checkpoint of this process; `nil` if that succeeded, or none has run.
  ///
  /// While automatic checkpoints fail, the log grows. If one failed in another process, this error
  /// has its kind and the system's error number.
  public var lastCheckpointError: StorageError?
  /// The lock for which a thread of this process has been waiting for more than a second, though it
  /// should be held for a moment only; `nil` if there is none.
  public var lockWait: LockWait?
  /// Counts that only grow.
  public var activity = StoreActivity()

  /// Creates zeros: in a child after `fork`, the activity of the parent's store is not available.
  init(inherited files: StoreFiles) { pageByteCount = files.geometry.pageByteCount }

  init(
    files: StoreFiles, table: GenerationTable, own: HolderEntry, lastCheckpointError: StorageError?
  ) {
    let state = table.visible
    self.lastCheckpointError = lastCheckpointError
    pageByteCount = files.geometry.pageByteCount
    pageCount = Int(state.point.pageCount)
    logByteCount = Self.logByteCount(files)
    logByteBound = files.reclaimed.last.map { last in
      (last.heldCount + 1) * last.distinctPageCount << files.geometry.pageShift
        + last.mapByteCount + 4 * files.geometry.segmentByteCount
    }
    canPunchHoles = files.reclaimed.canPunchHoles
    oldestHeldGeneration = try? HeldGenerations(files: files, table: table, own: own).oldest(1)
      .first
    newestGeneration = Generation(frame: files.counters.committed)
    checkpointedGeneration = Generation(frame: files.counters.checkpointed)
    liveGenerationCount = table.liveReferences.count
    indexByteCount = PageIndex.liveByteCount.load(ordering: .relaxed)
    lockWait = LockWait(files.waits.oldest)
    let cache = files.cache.counts
    cacheLookupCount = cache.lookups
    cacheReadCount = cache.reads
    activity = files.activity.current
  }

  /// Returns the size of the log; a segment that disappears meanwhile, or that cannot be queried,
  /// counts as zero.
  private static func logByteCount(_ files: StoreFiles) -> Int {
    let segments = (try? files.log.existing()) ?? []
    return segments.reduce(0) { total, segment in
      let file = try? files.fileSystem.open(files.log.path(segment), .read)
      return total + Int(clamping: (try? file?.allocatedByteCount()) ?? 0)
    }
  }
}

/// A wait for a lock of the store that another process holds.
///
/// Commits with ``StoreOptions/Durability-swift.enum/full`` durability wait for `sync`, checkpoints
/// and closing for `maintenance`, without limit. Any process that may read the store's file `locks`
/// can hold either, even while it is suspended.
public struct LockWait: Hashable, Sendable {
  /// The purpose of the lock: `"sync"` or `"maintenance"`.
  public var lock: String
  /// The duration of the wait so far.
  public var duration: Duration

  /// Shorter waits are part of ordinary use.
  private static let reportedMilliseconds: UInt64 = 1000

  init?(_ wait: LockWaits.Wait?) {
    guard let wait else { return nil }
    let milliseconds = SystemThread.monotonicMilliseconds - wait.since
    guard milliseconds >= Self.reportedMilliseconds else { return nil }
    lock = wait.byte == LockByte.sync ? "sync" : "maintenance"
    duration = .milliseconds(milliseconds)
  }
}
