/// The reserve, which is disk space for one segment that is set aside in case the disk becomes
/// full.
///
/// With the reserve, a transaction that frees as many pages as it needs can commit even on a full
/// disk. The next maintenance run allocates the reserve again.
extension LogFiles {
  package static let reserveName = "reserve"
  private var reservePath: String { directory + "/" + Self.reserveName }

  /// Returns whether the reserve exists and has not yet become a segment.
  package func hasReserve() throws(StorageError) -> Bool {
    try fileSystem.open(reservePath, .read) != nil
  }

  /// Allocates the reserve if it does not exist yet.
  ///
  /// - Returns: `false` if there is no space for the reserve, or `true` otherwise.
  package func fillReserve() throws(StorageError) -> Bool {
    let wanted = UInt64(geometry.segmentByteCount)
    if let file = try fileSystem.open(reservePath, .read), try file.byteCount() == wanted {
      return true
    }
    // Sync the directory before creating a new reserve, because the previous one may have become a
    // segment whose name is not durable yet. Once a reserve exists again, processes that add
    // segments no longer sync the directory.
    if try !hasReserve() { try syncDirectory() }
    guard let file = try fileSystem.open(reservePath, .create) else { return false }
    do throws(StorageError) {
      try file.reserve(byteCount: wanted)
      if try file.byteCount() > wanted { try file.setByteCount(wanted) }
      return true
    } catch {
      guard error.kind == .diskFull else { throw error }
      try fileSystem.remove(reservePath)
      return false
    }
  }

  /// Turns the reserve into a segment, or returns `nil` if there is no complete reserve.
  ///
  /// The segment's name is not durable until the directory is synced. While there is no reserve,
  /// every process syncs the directory before it writes to a new segment.
  package func createFromReserve(
    _ number: UInt64, lineage: UInt64
  ) throws(StorageError) -> Segment? {
    guard let reserve = try fileSystem.open(reservePath, .write),
      try reserve.byteCount() == UInt64(geometry.segmentByteCount)
    else { return nil }
    let block = ByteBlock(count: geometry.pageByteCount)
    defer { block.keep() }
    header(number, lineage: lineage).encode(to: block.bytes)
    try reserve.write([block.bytes.bytes], at: 0)
    try fileSystem.rename(reservePath, to: path(number))
    guard let file = try fileSystem.open(path(number), .write) else { return nil }
    return try segment(number, file, .write, isMapped: isMapped)
  }
}
