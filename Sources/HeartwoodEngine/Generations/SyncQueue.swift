/// W3: makes appended commits durable, one sync for all that are waiting.
///
/// Whoever gets the sync lock syncs everything appended until then; the others find their
/// generation durable when their turn comes.
package final class SyncQueue: Sendable {
  private let files: StoreFiles
  private let table: GenerationTable

  package init(files: StoreFiles, table: GenerationTable) {
    self.files = files
    self.table = table
  }

  /// Returns when `generation` is durable and visible.
  ///
  /// - Throws: `failed` after an earlier failure; the sync's own error, after which nobody writes
  ///   any more: a failed sync is never tried again, because the system may have dropped the pages.
  /// - Complexity: At most one sync for each segment appended to since the last.
  package func makeDurable(_ generation: FrameNumber) throws(StorageError) {
    try files.syncing.withLock { () throws(StorageError) in
      guard !files.words.hasFailed else { throw Self.closedForWriting }
      // Compared with `durable`, never with `committed`: that one also moves without a sync.
      guard files.words.durable < generation else { return }
      let state = table.appended
      let geometry = files.geometry
      let first = geometry.segment(of: geometry.next(after: files.words.durable))
      let last = geometry.segment(of: state.generation)
      do throws(StorageError) {
        for segment in state.segments.segments
        where segment.number >= first && segment.number <= last {
          try segment.file.sync()
          files.counters.update { $0.logSyncs += 1 }
        }
      } catch {
        files.words.setFailed()
        throw error
      }
      table.publishVisible(state)
      table.publishDurable(state)
    }
  }

  package static let closedForWriting = StorageError(
    .failed,
    "An earlier write or sync of this store failed. It can be read, but takes no writes until it "
      + "has been closed and opened again.")
}
