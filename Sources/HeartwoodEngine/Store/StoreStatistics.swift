import Synchronization

/// Sizes of a store, and what it has done since it was opened.
public struct StoreStatistics: Hashable, Sendable {
  /// Bytes in a page.
  public var pageByteCount: Int
  /// Pages of the newest generation, in use or free.
  public var pageCount: Int
  /// Bytes the log takes from the file system: segments made ahead included, holes left out.
  public var logByteCount: Int
  /// What the log took at most after the last pass that gave parts of it back: one image of each
  /// page in it for each generation held and for the newest, the map, and four segments; `nil`
  /// before there was one.
  ///
  /// What is written until the next pass comes on top.
  public var logByteBound: Int?
  /// Whether the file system takes back parts of a file; without that only whole segments of the
  /// log are given back, and it may take more than ``logByteBound``.
  public var canReclaimParts: Bool
  /// The oldest generation that is held, and what it costs.
  public var oldestHeld: LiveGeneration?
  /// The newest visible generation.
  public var newest: Generation
  /// The generation the page file holds.
  public var backfilled: Generation
  /// Generations this process holds.
  public var liveGenerationCount: Int
  /// Bytes of page indexes, which say where in the log pages are, of all stores open in this
  /// process.
  ///
  /// They grow with the pages that were changed since the page file's generation, by about 10 bytes
  /// each where those lie side by side and 65 where they lie apart.
  public var indexByteCount: Int
  /// Pages asked for in `.buffered` reading, and how many of them had to be read.
  public var cacheLookupCount: Int
  /// Pages that had to be read into the cache.
  public var cacheReadCount: Int
  /// The error of the newest checkpoint of this process; `nil` if that succeeded, or none has run.
  ///
  /// While checkpoints that run by themselves fail, the log grows. Of one that failed in another
  /// process, the kind and the system's error number are known here.
  public var lastCheckpointError: StorageError?
  /// What a thread of this process has been waiting for longer than a second, though it should be
  /// held for a moment only; `nil` if none has.
  public var lockWait: LockWait?
  /// Counts that only grow.
  public var activity: StoreActivity

  /// Zeros: what a store of the parent's did is not to be found out in a child after `fork`.
  init(inherited files: StoreFiles) {
    pageByteCount = files.geometry.pageByteCount
    pageCount = 0
    logByteCount = 0
    canReclaimParts = true
    newest = Generation(frame: 0)
    backfilled = Generation(frame: 0)
    liveGenerationCount = 0
    indexByteCount = 0
    cacheLookupCount = 0
    cacheReadCount = 0
    activity = StoreActivity()
  }

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
    canReclaimParts = files.reclaimed.canMakeHoles
    oldestHeld = try? HeldGenerations(files: files, table: table, own: own).oldest()
    newest = Generation(frame: files.words.committed)
    backfilled = Generation(frame: files.words.backfilled)
    liveGenerationCount = table.liveReferences.count
    indexByteCount = PageIndex.liveByteCount.load(ordering: .relaxed)
    lockWait = LockWait(files.waits.oldest)
    let cache = files.cache.counts
    cacheLookupCount = cache.lookups
    cacheReadCount = cache.reads
    activity = files.counters.current
  }

  /// A segment that vanishes meanwhile, or that cannot be asked, counts nothing.
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
/// and closing for `maintenance`, without limit. Any process that may read the store's file
/// `locks` can hold either, also while it is suspended.
public struct LockWait: Hashable, Sendable {
  /// What the lock is for: `"sync"` or `"maintenance"`.
  public var lock: String
  /// How long the wait has taken so far.
  public var duration: Duration

  /// Waits shorter than this are those of ordinary use.
  private static let reportedMilliseconds: UInt64 = 1000

  init?(_ wait: LockWaits.Wait?) {
    guard let wait else { return nil }
    let milliseconds = SystemThread.monotonicMilliseconds - wait.since
    guard milliseconds >= Self.reportedMilliseconds else { return nil }
    lock = wait.byte == LockByte.sync ? "sync" : "maintenance"
    duration = .milliseconds(milliseconds)
  }
}
