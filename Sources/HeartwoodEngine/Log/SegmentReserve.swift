/// One segment's worth of space that is taken while there is some, and used when there is none.
///
/// On a full disk it lets those transactions through that need no more pages than they give back,
/// so that deleting stays possible; the pass that follows returns the space.
extension LogFiles {
  package static let reserveName = "reserve"

  private var reservePath: String { directory + "/" + Self.reserveName }

  /// Whether there is a reserve that was not made a segment of.
  package func hasReserve() throws(StorageError) -> Bool {
    try fileSystem.open(reservePath, .read) != nil
  }

  /// Takes the space, if it is not taken already; false if there is none.
  package func fillReserve() throws(StorageError) -> Bool {
    let wanted = UInt64(geometry.segmentByteCount)
    if let file = try fileSystem.open(reservePath, .read), try file.byteCount() == wanted {
      return true
    }
    // While there is none, whoever enters a segment syncs the directory: it may be the one that was
    // made of the last reserve.
    if try !hasReserve() { try syncDirectory() }
    guard let file = try fileSystem.open(reservePath, .create) else { return false }
    do throws(StorageError) {
      try file.reserve(byteCount: wanted)
      if try file.byteCount() > wanted { try file.setByteCount(wanted) }
      return true
    } catch {
      guard error.kind == .full else { throw error }
      try fileSystem.remove(reservePath)
      return false
    }
  }

  /// A segment made of the reserve, or `nil` if there is none.
  ///
  /// The name may be one that was durable for another file. It leads to this one durably after the
  /// next sync of the directory, and until then, for every process, there is no reserve.
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
