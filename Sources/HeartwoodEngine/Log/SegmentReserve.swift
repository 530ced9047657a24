/// Manages the reserve, which is disk space for one segment that is allocated in advance for use
/// when the disk is full.
///
/// With the reserve, transactions that free as many pages as they need can commit on a full disk,
/// so that deleting remains possible. The next maintenance run frees the space again.
extension LogFiles {
  package static let reserveName = "reserve"

  private var reservePath: String { directory + "/" + Self.reserveName }

  /// Returns whether there is a reserve that has not yet become a segment.
  package func hasReserve() throws(StorageError) -> Bool {
    try fileSystem.open(reservePath, .read) != nil
  }

  /// Allocates the reserve if it does not exist yet.
  ///
  /// Returns `false` if there is no space for it.
  package func fillReserve() throws(StorageError) -> Bool {
    let wanted = UInt64(geometry.segmentByteCount)
    if let file = try fileSystem.open(reservePath, .read), try file.byteCount() == wanted {
      return true
    }
    // While there is no reserve, each process that adds a segment syncs the directory, because the
    // segment may have been created from the last reserve. Processes stop doing so once a new
    // reserve exists, so sync the directory before creating it.
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

  /// Turns the reserve into a segment, or returns `nil` if there is no reserve.
  ///
  /// The segment's name may already be durable but refer to another file. The name durably refers
  /// to this file only after the next directory sync; until then, no process sees a reserve.
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
