import Synchronization

/// A store's sizes, and its activity since it was opened.
public struct StoreStatistics: Hashable, Sendable {
  /// The number of bytes in a page.
  public var pageByteCount: Int
  /// The number of pages, in use or free, in the newest generation.
  public var pageCount = 0
  /// The number of bytes that the log occupies in the file system.
  ///
  /// This number includes segments created in advance and excludes holes.
  public var logByteCount = 0
  /// An upper bound on the size of the log after the last log reclamation by this process.
  ///
  /// The value is `nil` before the first reclamation. The bound is the sum of four sizes:
  ///
  /// - Four images of every page that occurs in the log, for each held generation and for the
  ///   newest generation.
  /// - The frames written between the last two reclamations.
  /// - The retained-frame map.
  /// - Four segments.
  ///
  /// Frames written since the last reclamation are not included.
  public var logByteBound: Int?
  /// A Boolean value that indicates whether the file system can deallocate ranges of a file.
  ///
  /// If the value is `false`, the store reclaims only complete segments of the log, and the log may
  /// exceed ``logByteBound``.
  public var canPunchHoles = true
  /// The oldest held generation and the log space that it retains, or `nil` if no generation is
  /// known to be held.
  public var oldestHeldGeneration: LiveGeneration?
  /// The newest visible generation.
  public var newestGeneration = Generation(frame: 0)
  /// The generation whose pages are in the page file.
  public var checkpointedGeneration = Generation(frame: 0)
  /// The number of generations that this process holds.
  public var liveGenerationCount = 0
  /// The size in bytes of the page indexes of all stores that are open in this process.
  ///
  /// A page index maps pages to their locations in the log. The index has an entry for each page
  /// that has changed since the checkpointed generation. An entry uses about 10 bytes if the
  /// changed pages are adjacent, or about 65 bytes if they are scattered.
  public var indexByteCount = 0
  /// The number of page-cache lookups.
  ///
  /// Lookups occur only with `.buffered` access.
  public var cacheLookupCount = 0
  /// The number of page-cache misses.
  ///
  /// Each miss reads a page from a file.
  public var cacheReadCount = 0
  /// The error from the last checkpoint in any process, or `nil` if that checkpoint succeeded or no
  /// checkpoint has run.
  ///
  /// While automatic checkpoints fail, the log grows. If the checkpoint failed in another process,
  /// only the kind of the error and the system's error number are known in this process.
  public var lastCheckpointError: StorageError?
  /// The longest current wait in this process for the sync lock or the maintenance lock.
  ///
  /// The value is `nil` if no current wait has lasted at least a second.
  public var lockWait: LockWait?
  /// The activity of the store since it was opened.
  public var activity = StoreActivity()

  /// Creates statistics that contain only the page size, for a child process created by `fork`.
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
      (LogReclamation.sparseShare * (last.heldCount + 1) * last.distinctPageCount
        + last.newFrameCount) << files.geometry.pageShift
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

  /// Returns the size of the log on disk.
  ///
  /// Segments that are deleted during the call are not counted.
  private static func logByteCount(_ files: StoreFiles) -> Int {
    let segments = (try? files.log.existing()) ?? []
    return segments.reduce(0) { total, segment in
      let file = try? files.fileSystem.open(files.log.path(segment), .read)
      return total + Int(clamping: (try? file?.allocatedByteCount()) ?? 0)
    }
  }
}

/// A wait for one of the store's locks while another process holds that lock.
///
/// Commits with ``StoreOptions/Durability-swift.enum/full`` durability wait for the `sync` lock.
/// Checkpoints and ``Store/close()`` wait for the `maintenance` lock. These waits have no limit.
/// Any process with permission to read the store's `locks` file can hold either lock, even while it
/// is suspended.
public struct LockWait: Hashable, Sendable {
  /// The name of the lock: `"sync"` or `"maintenance"`.
  public var lock: String
  /// The duration of the wait so far.
  public var duration: Duration

  /// The duration, in milliseconds, after which a wait is reported.
  private static let reportedMilliseconds: UInt64 = 1000

  init?(_ wait: LockWaits.Wait?) {
    guard let wait else { return nil }
    let milliseconds = SystemThread.monotonicMilliseconds - wait.since
    guard milliseconds >= Self.reportedMilliseconds else { return nil }
    lock = wait.byte == LockByte.sync ? "sync" : "maintenance"
    duration = .milliseconds(milliseconds)
  }
}
