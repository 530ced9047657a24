/// The files, words and locks of one open store, and the sizes it was made with.
///
/// Thread-safe; everything in it is fixed when the store has opened, apart from what those parts
/// guard themselves.
package final class StoreFiles: Sendable {
  package let fileSystem: any FileSystem
  package let directory: String
  package let origin = ProcessOrigin()
  package let geometry: Geometry
  package let identity: StoreIdentity
  package let pageFile: PageFile
  package let log: LogFiles
  package let words: SharedWords
  package let locks: StoreLocks
  package let cache: PageCache
  package let structure: StructureCheck
  package let suspensions = Suspensions()
  package let counters = ActivityCounters()
  /// Where the segments a writer enters come from.
  package let supply: SegmentSupply
  /// The commit from which on the log is read by its group headers.
  package let start: CommitPoint
  /// One pass at a time.
  package let maintenance: ExclusiveByte
  /// One change of the list of kept generations at a time.
  package let keeping: ExclusiveByte
  /// How long calls wait for a process that is in the middle of something; `nil` for no limit.
  package let busyMilliseconds: UInt64?
  /// Tells whether the names of the store still lead to its files.
  package let opened: OpenedFiles
  /// What this process waits for without limit.
  package let waits = LockWaits()
  /// What the last reclaim left.
  package let reclaimed = ReclaimRecord()

  /// - Parameters:
  ///   - start: The commit from which on the log is read by its group headers.
  ///   - countersFile: The file that `words` are in; `nil` if they are this process's own.
  ///   - busyMilliseconds: How long a writer waits for a process that makes segments or exchanges
  ///     the list of kept generations; neither has changed anything by then.
  package init(
    pageFile: PageFile, log: LogFiles, words: SharedWords, locks: StoreLocks,
    start: CommitPoint, countersFile: FileIdentity? = nil, cacheByteCount: Int,
    busyMilliseconds: UInt64? = nil, structure: @escaping StructureCheck
  ) {
    fileSystem = log.fileSystem
    directory = log.directory
    geometry = log.geometry
    identity = log.identity
    self.pageFile = pageFile
    self.log = log
    self.words = words
    self.locks = locks
    self.structure = structure
    self.busyMilliseconds = busyMilliseconds
    self.start = start
    opened = OpenedFiles(
      log: log, pages: pageFile.file, locks: locks.file, counters: countersFile)
    supply = SegmentSupply(
      files: log, making: ExclusiveByte(LockByte.supply, of: locks.file, timeout: busyMilliseconds),
      words: words, counters: counters)
    cache = PageCache(byteCount: cacheByteCount, pageByteCount: log.geometry.pageByteCount)
    maintenance = ExclusiveByte(
      LockByte.maintenance, of: locks.file, isReadOnly: !log.isWritable, waits: waits)
    keeping = ExclusiveByte(LockByte.keep, of: locks.file, timeout: busyMilliseconds)
  }

  /// Closes the descriptors of segments that are read in place and will not be written to.
  package func closeDurableSegments() { log.closeMapped(upTo: words.durable) }

  /// Deletes segments that nothing needs any more.
  package func deleteSegments(_ segments: [UInt64]) throws(StorageError) {
    guard !segments.isEmpty else { return }
    for segment in segments { try log.remove(segment) }
    try log.syncDirectory()
    counters.update {
      $0.segmentsDeleted += segments.count
      $0.directorySyncs += 1
    }
  }
}
