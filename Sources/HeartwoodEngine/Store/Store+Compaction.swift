/// The result of compacting a store.
public struct CompactionResult: Hashable, Sendable {
  /// The number of used and free pages in the newest generation before the compaction.
  public var pageCountBefore = 0
  /// The number of used and free pages in the newest generation after the compaction.
  public var pageCount = 0
  /// The number of pages that were moved to lower page numbers.
  public var movedPageCount = 0
  /// The length of the page file in bytes before the compaction.
  public var fileByteCountBefore = 0
  /// The length of the page file in bytes after the compaction, including space that is allocated
  /// in advance.
  public var fileByteCount = 0
  /// The oldest live generation, if it prevented truncation of the page file, or `nil` otherwise.
  ///
  /// Once this generation has been released, a checkpoint truncates the file.
  public var blockingGeneration: Generation?
}

extension Store {
  /// Moves pages from the end of the page file into earlier free pages, and truncates the file.
  ///
  /// Every checkpoint removes free pages at the end of the file. Compaction also removes free pages
  /// between pages in use. Compaction uses many small transactions, so that it does not block other
  /// writers for long. Snapshots remain unchanged. A power cut during compaction is harmless,
  /// because the moves change no keys or values.
  ///
  /// - Parameter progress: A closure called on this thread between transactions, at least ten times
  ///   a second on common disks.
  /// - Returns: The result. If an older generation is live, the file is truncated only after that
  ///   generation has been released; see ``CompactionResult/blockingGeneration``.
  /// - Throws: `corrupt` if a tree or the free space is corrupt, or `readOnly`, `closed`,
  ///   `writesDisabled`, `busy`, `io` or `diskFull`. Pages that were moved before the error remain
  ///   moved.
  /// - Complexity: Compaction reads and writes each moved page and its parent once, and a
  ///   checkpoint writes these pages again. If a keyspace has large values at the end of the file,
  ///   compaction also reads every leaf of that keyspace once. The number of syncs is the same as
  ///   for one checkpoint.
  @discardableResult
  public func compact(progress: ((StoreProgress) -> Void)? = nil) throws -> CompactionResult {
    // Process 16 MiB per step, which takes a fraction of a second and needs little memory.
    try compact(stepByteCount: 16 << 20, progress: progress)
  }

  /// Compacts the store in transactions, each of which processes up to `stepByteCount` bytes.
  @discardableResult
  package func compact(
    stepByteCount: Int, progress: ((StoreProgress) -> Void)? = nil
  ) throws -> CompactionResult {
    try requireWritable()
    precondition(
      !writerLock.isHeldByThisThread,
      "A compaction was started inside a write transaction. Start it after the transaction has "
        + "ended.")
    var result = CompactionResult()
    result.pageCountBefore = statistics.pageCount
    result.fileByteCountBefore = Int(try files.pageFile.file.byteCount())
    var compaction = Compaction(geometry: files.geometry, stepByteCount: stepByteCount)
    var hasMore = true
    while hasMore {
      maintenance.waitIfStalled()
      do {
        try core.changes.enter()
        defer { core.changes.leave() }
        let frame = try core.commit.run(isDurable: false, timeout: options.busyMilliseconds) {
          hasMore = try compaction.step($0.session.pages)
        }
        try maintenance.scheduleAfterCommit(frame)
      }
      progress?(StoreProgress(completed: compaction.movedCount, of: compaction.expectedCount))
    }
    result.blockingGeneration = try checkpoint().blockingGeneration
    result.movedPageCount = compaction.movedCount
    result.pageCount = statistics.pageCount
    result.fileByteCount = Int(try files.pageFile.file.byteCount())
    progress?(StoreProgress(completed: compaction.expectedCount, of: compaction.expectedCount))
    return result
  }
}
