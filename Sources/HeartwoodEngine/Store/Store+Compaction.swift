/// The result of compacting a store.
public struct CompactionResult: Hashable, Sendable {
  /// Pages of the newest generation before, in use or free.
  public var pageCountBefore = 0
  /// Pages of the newest generation afterwards.
  public var pageCount = 0
  /// Pages that were moved to lower numbers.
  public var movedPageCount = 0
  /// Bytes of the page file before.
  public var fileByteCountBefore = 0
  /// Bytes of the page file afterwards: its pages, rounded up to the steps in which it grows.
  public var fileByteCount = 0
  /// The oldest live generation that still keeps the page file from shrinking, if one does; a
  /// checkpoint after it is gone truncates the file.
  public var blockingGeneration: Generation?
}

extension Store {
  /// Moves the pages at the end of the page file into the free ones before them, and truncates the
  /// file.
  ///
  /// Free pages at the end are removed by the next checkpoint anyway; this is for free pages in
  /// between. It works in many small transactions, so that other writers get their turn, and
  /// snapshots stay unchanged. A power cut is harmless at any time: no content ever changes.
  ///
  /// - Parameter progress: Called on this thread, between transactions, at least ten times a second
  ///   on common media.
  /// - Returns: The result. While older snapshots are held the file keeps its length.
  /// - Throws: `readOnly`, `closed`, `writesDisabled`, `busy`, `io` or `diskFull`; `corrupt` if
  ///   trees or free space are corrupt. Pages moved until then stay moved.
  /// - Complexity: Each moved page is read and written once, with its parent, and written again by
  ///   a checkpoint; each leaf of a keyspace with large values at the end of the file is read once.
  ///   The syncs of a checkpoint.
  @discardableResult
  public func compact(progress: ((StoreProgress) -> Void)? = nil) throws -> CompactionResult {
    // Some thousand pages: a fraction of a second, and little memory.
    try compact(stepByteCount: 16 << 20, progress: progress)
  }

  /// Compacts in transactions of another size; for tests.
  @discardableResult
  package func compact(
    stepByteCount: Int, progress: ((StoreProgress) -> Void)? = nil
  ) throws -> CompactionResult {
    try requireWritable()
    precondition(!writerLock.isHeldByThisThread, "a compaction was started inside a write")
    var result = CompactionResult()
    result.pageCountBefore = statistics.pageCount
    result.fileByteCountBefore = Int(try files.pageFile.file.byteCount())
    var compaction = Compaction(geometry: files.geometry, stepByteCount: stepByteCount)
    var hasMore = true
    while hasMore {
      let frame = try core.commit.run(isDurable: false, timeout: options.busyMilliseconds) {
        hasMore = try compaction.step($0.session.pages)
      }
      try maintenance.scheduleAfterCommit(frame)
      progress?(StoreProgress(completed: compaction.movedCount, of: compaction.expectedCount))
    }
    result.blockingGeneration = try maintenance.run().blockingGeneration
    result.movedPageCount = compaction.movedCount
    result.pageCount = statistics.pageCount
    result.fileByteCount = Int(try files.pageFile.file.byteCount())
    progress?(StoreProgress(completed: compaction.expectedCount, of: compaction.expectedCount))
    return result
  }
}
