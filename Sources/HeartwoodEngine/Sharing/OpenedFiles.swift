/// A check that the file names of an open store still refer to the files that were opened.
///
/// If a file is replaced while a store is open, all data written to the open descriptor is lost.
/// Each writer and each maintenance run therefore performs this check first. The check begins with
/// one system call that shows whether any names in the directory have changed. Only in that case
/// does the check compare the files.
package final class OpenedFiles: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards `stamp`.
  private let log: LogFiles
  private let pages: any File
  private let locks: any File
  /// The identity of the `counters` file, or `nil` if the counters are private to this process.
  private let counters: FileIdentity?
  private let lock = Lock()
  private var stamp: DirectoryStamp?

  init(log: LogFiles, pages: any File, locks: any File, counters: FileIdentity?) {
    self.log = log
    self.pages = pages
    self.locks = locks
    self.counters = counters
  }

  /// Checks that the names of `pages`, `locks`, `counters` and a segment refer to the open files.
  ///
  /// - Parameter segment: A segment that the store itself cannot have deleted or replaced.
  /// - Throws: `foreignStore` if one of these files was deleted or replaced.
  /// - Complexity: One system call, and two more for each file if names have changed recently.
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
      "One of the store's files was deleted or replaced while the store was open. Nothing was "
        + "written, and this process still reads the old files. Close the store. Then open the "
        + "store that is now at this path, or restore a backup.", file: path)
  }
}
