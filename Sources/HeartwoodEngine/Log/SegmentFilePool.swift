/// A thread-safe pool that limits the number of open file descriptors for the segments of one log.
///
/// When too many files are open, the pool closes the least recently used file. After a write, the
/// file's descriptor stays open until the bytes are synced. Otherwise, the system might forget a
/// write-back error once the file has no open descriptor.
package final class SegmentFilePool: @unchecked Sendable {
  // `@unchecked` is safe because all properties of the pool and its entries are accessed only under
  // `lock`.
  private let fileSystem: any FileSystem
  private let lock = Lock()
  private var entries: [Entry] = []
  /// A logical clock that records the order in which files are used and written.
  private var clock: UInt64 = 0

  /// The descriptor of one segment's file, if the file is open.
  final class Entry: @unchecked Sendable {
    // `@unchecked` is safe because only the pool accesses the properties, under its lock.
    fileprivate var file: (any File)?
    fileprivate let segment: UInt64
    fileprivate var isMapped = false
    fileprivate var lastUse: UInt64 = 0
    fileprivate var lastWrite: UInt64 = 0
    fileprivate var runningWriteCount = 0
    /// The clock value of the first unsynced write, or 0 if there is none.
    fileprivate var unsyncedSince: UInt64 = 0

    init(_ segment: UInt64) { self.segment = segment }
  }

  package init(fileSystem: any FileSystem) { self.fileSystem = fileSystem }

  /// Opens the file at `path`, or returns `nil` if the file does not exist.
  ///
  /// If opening fails, for example because no descriptor is free, this method closes files and
  /// tries again.
  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    do throws(StorageError) {
      return try fileSystem.open(path, access)
    } catch {
      guard error.changedNothing, closeSynced() else { throw error }
      return try fileSystem.open(path, access)
    }
  }

  /// Closes all files that are not waiting for a sync.
  ///
  /// - Returns: `true` if any file was closed.
  private func closeSynced() -> Bool {
    let closed = lock.withLock {
      let synced = entries.filter { $0.unsyncedSince == 0 }
      return synced.map(close)
    }
    return !closed.isEmpty
  }

  /// Removes an entry from the pool, and returns the entry's file so that the caller can release
  /// the file after unlocking the pool.
  private func close(_ entry: Entry) -> (any File)? {
    entries.removeAll { $0 === entry }
    defer {
      entry.file = nil
      entry.unsyncedSince = 0
    }
    return entry.file
  }

  func file(of entry: Entry) -> (any File)? {
    lock.withLock {
      clock += 1
      entry.lastUse = clock
      return entry.file
    }
  }

  /// Adds an open file to the pool and returns the file.
  ///
  /// If another thread added the segment's file first, the method returns that file.
  ///
  /// If too many files are open, the method closes the least recently used file that has no
  /// unsynced bytes.
  @discardableResult
  func enter(_ file: any File, in entry: Entry) -> any File {
    let (entered, closed) = lock.withLock { () -> (any File, (any File)?) in
      if let present = entry.file { return (present, nil) }
      var closed: (any File)?
      if entries.count >= Limits.maxOpenSegmentCount {
        let synced = entries.filter { $0.unsyncedSince == 0 }
        closed = synced.min { $0.lastUse < $1.lastUse }.flatMap(close)
      }
      clock += 1
      entry.lastUse = clock
      entry.file = file
      entries.append(entry)
      return (file, closed)
    }
    withExtendedLifetime(closed) {}
    return entered
  }

  func remove(_ entry: Entry) {
    let closed = lock.withLock { close(entry) }
    withExtendedLifetime(closed) {}
  }

  func recordMapping(_ entry: Entry) { lock.withLock { entry.isMapped = true } }

  /// Closes the descriptors of all mapped segments that precede `segment`.
  ///
  /// These segments must already be synced.
  func closeMapped(below segment: UInt64) {
    let closed = lock.withLock {
      let idle = entries.filter {
        $0.isMapped && $0.segment < segment && $0.runningWriteCount == 0
      }
      return idle.map(close)
    }
    withExtendedLifetime(closed) {}
  }

  // MARK: Writes and syncs

  /// Records that bytes are about to be written, so that the descriptor stays open until a sync.
  ///
  /// If too many files are waiting for a sync, the method returns the file that has waited longest.
  /// The caller must sync this file.
  func beginWrite(_ entry: Entry) -> (entry: Entry, file: any File)? {
    lock.withLock {
      clock += 1
      entry.runningWriteCount += 1
      if entry.unsyncedSince == 0 { entry.unsyncedSince = clock }
      let unsynced = entries.filter { $0.unsyncedSince > 0 }
      guard unsynced.count > Limits.maxUnsyncedSegmentCount else { return nil }
      let oldest = unsynced.filter { $0 !== entry }
        .min { $0.unsyncedSince < $1.unsyncedSince }
      return oldest.flatMap { oldest in oldest.file.map { (oldest, $0) } }
    }
  }

  func endWrite(_ entry: Entry) {
    lock.withLock {
      clock += 1
      entry.runningWriteCount -= 1
      entry.lastWrite = clock
    }
  }

  /// Syncs the open file of an entry.
  ///
  /// A write that overlaps the sync needs another sync.
  func sync(_ entry: Entry, _ file: any File) throws(StorageError) {
    let lastWrite = lock.withLock { entry.lastWrite }
    try file.sync()
    lock.withLock {
      guard entry.lastWrite == lastWrite, entry.runningWriteCount == 0 else { return }
      entry.unsyncedSince = 0
    }
  }

  /// Records that a file was emptied and that none of its bytes are waiting for a sync.
  func recordEmptied(_ entry: Entry) { lock.withLock { entry.unsyncedSince = 0 } }
}
