import Synchronization

/// The files, shared counters, locks and geometry of one open store.
///
/// This class is thread-safe. All properties are constant once the store is open, and objects with
/// mutable state synchronise access themselves.
package final class StoreFiles: Sendable {
  package let fileSystem: any FileSystem
  package let directory: String
  package let origin = ProcessOrigin()
  package let geometry: Geometry
  package let identity: StoreIdentity
  package let pageFile: PageFile
  package let log: LogFiles
  package let counters: SharedCounters
  package let locks: StoreLocks
  package let cache: PageCache
  package let structure: StructureCheck
  package let suspensions = Suspensions()
  package let activity = ActivityCounters()
  package let allocator: SegmentAllocator
  /// The commit after which this process began reading the log when it opened the store.
  package let start: CommitPoint
  /// The lock that serialises maintenance runs.
  package let maintenance: ExclusiveByte
  /// The lock that serialises changes to the list of named generations.
  package let keeping: ExclusiveByte
  /// The time in milliseconds after which a wait for another process throws `busy`.
  ///
  /// The value is `nil` if there is no limit.
  package let busyMilliseconds: UInt64?
  package let opened: OpenedFiles
  /// A record of this process's waits for locks that other processes may hold indefinitely.
  package let waits = LockWaits()
  package let reclaimed = LogReclamationRecord()
  /// A Boolean value that indicates whether a suspension interrupted this process's last
  /// maintenance run after the run had made its decision.
  ///
  /// Only the thread that holds the maintenance lock accesses the value.
  let isRunIncomplete = Atomic(false)

  /// Creates an object for the files of an open store.
  ///
  /// - Parameter countersFile: The identity of the `counters` file, or `nil` if the counters are
  ///   private to this process.
  package init(
    pageFile: PageFile, log: LogFiles, counters: SharedCounters, locks: StoreLocks,
    start: CommitPoint, countersFile: FileIdentity? = nil, cacheByteCount: Int,
    busyMilliseconds: UInt64? = nil, structure: @escaping StructureCheck
  ) {
    fileSystem = log.fileSystem
    directory = log.directory
    geometry = log.geometry
    identity = log.identity
    self.pageFile = pageFile
    self.log = log
    self.counters = counters
    self.locks = locks
    self.structure = structure
    self.busyMilliseconds = busyMilliseconds
    self.start = start
    opened = OpenedFiles(log: log, pages: pageFile.file, locks: locks.file, counters: countersFile)
    allocator = SegmentAllocator(
      files: log,
      making: ExclusiveByte(
        LockByte.allocator, of: locks.file, timeout: busyMilliseconds, suspensions: suspensions),
      counters: counters, activity: activity)
    cache = PageCache(byteCount: cacheByteCount, pageByteCount: log.geometry.pageByteCount)
    maintenance = ExclusiveByte(
      LockByte.maintenance, of: locks.file, isReadOnly: !log.isWritable, waits: waits,
      suspensions: suspensions)
    keeping = ExclusiveByte(
      LockByte.keep, of: locks.file, timeout: busyMilliseconds, suspensions: suspensions)
  }

  /// Closes the descriptors of mapped segments that will not be written to again.
  package func closeDurableSegments() { log.closeMapped(upTo: counters.durable) }

  package func deleteSegments(_ segments: [UInt64]) throws(StorageError) {
    guard !segments.isEmpty else { return }
    for segment in segments { try log.remove(segment) }
    try log.syncDirectory()
    activity.update {
      $0.deletedSegmentCount += segments.count
      $0.directorySyncCount += 1
    }
  }
}
