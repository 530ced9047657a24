/// The files of an open store, and whether its names still lead to them.
///
/// A directory can be deleted, and a file replaced, while a store is open. The descriptors still
/// lead to the old files then, and whatever is written to those is lost. So each writer and each
/// run of maintenance asks here first. The names are compared only when a name in the directory has
/// changed since they were compared last, which one system call tells. Thread-safe.
package final class OpenedFiles: @unchecked Sendable {
  // @unchecked because `stamp` is guarded by `lock`.
  private let log: LogFiles
  private let pages: any File
  private let locks: any File
  /// `nil` where the counters are those of this process alone.
  private let counters: FileIdentity?
  private let lock = Lock()
  private var stamp: DirectoryStamp?

  init(log: LogFiles, pages: any File, locks: any File, counters: FileIdentity?) {
    self.log = log
    self.pages = pages
    self.locks = locks
    self.counters = counters
  }

  /// Checks that `pages`, `locks`, `counters` and a segment have their names still.
  ///
  /// - Parameter segment: One that cannot have been deleted or replaced by the store itself.
  /// - Throws: `foreignStore` if one of them has not.
  /// - Complexity: One system call; two for each of these files when names in the directory have
  ///   changed since the last check, or did so within the last milliseconds.
  package func require(_ segment: Segment? = nil) throws(StorageError) {
    let now = try log.fileSystem.stamp(of: log.directory)
    if now == .constant || now != nil && lock.withLock({ stamp == now }) { return }
    try require("pages", try pages.identity())
    try require("locks", try locks.identity())
    if let counters { try require("counters", counters) }
    if let segment {
      try require(log.geometry.segmentName(segment.number), segment.file.identity)
    }
    lock.withLock { stamp = now }
  }

  private func require(_ name: String, _ identity: FileIdentity) throws(StorageError) {
    let path = log.directory + "/" + name
    guard try log.fileSystem.identity(of: path) != identity else { return }
    throw StorageError(
      .foreignStore,
      "This file of the store was deleted or replaced while the store was open. Nothing was "
        + "written. Close the store; what this process reads of it is the state before. Then open "
        + "what is at the path now, or restore a backup.", file: path)
  }
}
