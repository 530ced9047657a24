/// Sizes of a store, and what it has done since it was opened.
public struct StoreStatistics: Hashable, Sendable {
  /// Bytes in a page.
  public var pageByteCount: Int
  /// Pages of the newest generation, in use or free.
  public var pageCount: Int
  /// Bytes of log segments the newest generation can refer to.
  public var logByteCount: Int
  /// The newest visible generation.
  public var newest: Generation
  /// The generation the page file holds.
  public var backfilled: Generation
  /// Generations this process holds.
  public var liveGenerationCount: Int
  /// Pages asked for in `.buffered` reading, and how many of them had to be read.
  public var cacheLookupCount: Int
  /// Pages that had to be read into the cache.
  public var cacheReadCount: Int
  /// Counts that only grow.
  public var activity: StoreActivity

  init(files: StoreFiles, table: GenerationTable) {
    let state = table.visible
    pageByteCount = files.geometry.pageByteCount
    pageCount = Int(state.point.pageCount)
    logByteCount = state.segments.segments.count * files.geometry.segmentByteCount
    newest = Generation(frame: state.generation)
    backfilled = Generation(frame: files.words.backfilled)
    liveGenerationCount = table.liveReferences.count
    let cache = files.cache.counts
    cacheLookupCount = cache.lookups
    cacheReadCount = cache.reads
    activity = files.counters.current
  }
}
