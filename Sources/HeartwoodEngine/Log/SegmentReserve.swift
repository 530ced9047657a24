/// One segment's worth of space that is taken while there is some, and used when there is none.
///
/// On a full disk it lets those transactions through that need no more pages than they give back,
/// so that deleting stays possible; the pass that follows returns the space.
extension LogFiles {
  package static let reserveName = "reserve"

  private var reservePath: String { directory + "/" + Self.reserveName }

  /// Takes the space, if it is not taken already; false if there is none.
  package func fillReserve() throws(StorageError) -> Bool {
    let wanted = UInt64(geometry.segmentByteCount)
    if let file = try fileSystem.open(reservePath, .read), try file.byteCount() == wanted {
      return true
    }
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
  /// The name is not durable yet when this returns.
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
    return try Segment(number: number, file: file, geometry: geometry, isMapped: isMapped)
  }
}
