/// The file of a segment, whose descriptor is opened when it is needed.
///
/// Opened again, it is still the same file, by device and number, or it counts as gone: its name
/// may stand for another one by then. Thread-safe.
package final class SegmentFile: Sendable {
  package let path: String
  private let pool: SegmentFilePool
  private let access: FileAccess
  /// Which file it is.
  package let identity: FileIdentity
  private let entry: SegmentFilePool.Entry
  private let origin = ProcessOrigin()

  /// - Parameters:
  ///   - number: That of the segment.
  ///   - file: The file, open already.
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

  /// The open file; `nil` if it was deleted.
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
      throw .unchanged(.io, "The log segment was deleted or replaced.", file: path)
    }
    return file
  }

  /// Whether it is still there.
  package func exists() throws(StorageError) -> Bool { try opened() != nil }

  /// Reads up to `target.count` bytes; returns how many there were, which is none if the file is
  /// gone.
  package func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    try opened()?.read(into: target, at: offset) ?? 0
  }

  /// Writes bytes that will be synced.
  ///
  /// The descriptor stays open until then. So that there are not too many of those, the file that
  /// has waited longest may be synced here; an error of that is one of this call.
  package func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    // First of all: a descriptor that is written through and closed by another thread at the same
    // moment would be the last one.
    let waiting = pool.beginWrite(entry)
    defer { pool.endWrite(entry) }
    let file = try present()
    try file.write(parts, at: offset)
    guard let waiting else { return }
    do throws(StorageError) {
      try pool.sync(waiting.entry, waiting.file)
    } catch {
      // Whatever the reason: what earlier commits wrote there may be lost, so that nobody can go on
      // as after a write for which the disk was too small.
      throw StorageError(.io, error.message, file: error.file, errno: error.errno)
    }
  }

  /// Writes bytes that nobody needs to be durable.
  package func writeUnpromised(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
    try present().write([bytes], at: offset)
  }

  package func byteCount() throws(StorageError) -> UInt64 { try present().byteCount() }

  package func setByteCount(_ count: UInt64) throws(StorageError) {
    try present().setByteCount(count)
  }

  /// Takes all bytes away, those that wait for a sync too.
  package func empty() throws(StorageError) {
    try present().setByteCount(0)
    pool.noteEmptied(entry)
  }

  package func sync() throws(StorageError) { try pool.sync(entry, present()) }

  func map(byteCount: Int) throws(StorageError) -> Mapping? {
    let mapping = try present().map(0, byteCount: byteCount)
    if mapping != nil { pool.noteMapped(entry) }
    return mapping
  }
}
