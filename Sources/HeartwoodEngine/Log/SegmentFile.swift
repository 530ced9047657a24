/// A segment's file, whose descriptor is opened on demand.
///
/// This class is thread-safe.
///
/// If the device or inode number of a file has changed, the class treats the file as deleted,
/// because the name may now belong to another file.
package final class SegmentFile: Sendable {
  package let path: String
  private let pool: SegmentFilePool
  private let access: FileAccess
  package let identity: FileIdentity
  private let entry: SegmentFilePool.Entry
  private let origin = ProcessOrigin()

  init(
    _ number: UInt64, _ file: any File, _ access: FileAccess, in pool: SegmentFilePool
  ) throws(StorageError) {
    entry = SegmentFilePool.Entry(number)
    path = file.path
    self.pool = pool
    self.access = access
    identity = try file.identity()
    pool.enter(file, in: entry)
  }

  deinit { pool.remove(entry) }

  private func opened() throws(StorageError) -> (any File)? {
    try origin.requireOwn(path)
    if let file = pool.file(of: entry) { return file }
    guard let file = try pool.open(path, access), try file.identity() == identity else {
      return nil
    }
    return pool.enter(file, in: entry)
  }

  private func present() throws(StorageError) -> any File {
    guard let file = try opened() else {
      throw .unchanged(
        .io, "The log segment was deleted or replaced. Restore a backup.", file: path)
    }
    return file
  }

  package func exists() throws(StorageError) -> Bool { try opened() != nil }

  /// Reads bytes at `offset`, and returns the number of bytes read.
  ///
  /// The result is 0 if the file was deleted.
  package func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    try opened()?.read(into: target, at: offset) ?? 0
  }

  /// Writes bytes that must be synced later, and keeps the descriptor open until they are synced.
  ///
  /// To limit the number of open descriptors, this method may also sync another file: the one that
  /// has waited longest for a sync. If that sync fails, this method throws the error from the sync.
  package func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    // Record the write first, so that no other thread closes the descriptor during the write.
    // Otherwise, closing the file's last descriptor could discard a write-back error.
    let waiting = pool.beginWrite(entry)
    defer { pool.endWrite(entry) }
    let file = try present()
    try file.write(parts, at: offset)
    guard let waiting else { return }
    do throws(StorageError) {
      try pool.sync(waiting.entry, waiting.file)
    } catch {
      // The failed sync may have lost bytes of earlier commits, so throw an error that disables
      // writing.
      throw error.endingSync
    }
  }

  /// Writes bytes that need not be durable.
  package func writeUnpromised(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
    try present().write([bytes], at: offset)
  }

  package func byteCount() throws(StorageError) -> UInt64 { try present().byteCount() }

  package func setByteCount(_ count: UInt64) throws(StorageError) {
    try present().setByteCount(count)
  }

  /// Truncates the file to zero bytes, and discards any bytes that were waiting for a sync.
  package func empty() throws(StorageError) {
    try present().setByteCount(0)
    pool.recordEmptied(entry)
  }

  package func sync() throws(StorageError) { try pool.sync(entry, present()) }

  func map(byteCount: Int) throws(StorageError) -> Mapping? {
    let mapping = try present().map(0, byteCount: byteCount)
    if mapping != nil { pool.recordMapping(entry) }
    return mapping
  }
}
