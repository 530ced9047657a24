/// The segment files of the log.
///
/// This class is thread-safe, because all its properties are immutable.
package final class LogFiles: Sendable {
  package let fileSystem: any FileSystem
  package let directory: String
  package let geometry: Geometry
  package let identity: StoreIdentity
  package let isMapped: Bool
  package let isWritable: Bool
  private let pool: SegmentFilePool

  /// Creates an object for the log files in `directory`.
  ///
  /// If `pool` is `nil`, the initialiser creates a new pool.
  package init(
    fileSystem: any FileSystem, directory: String, geometry: Geometry, identity: StoreIdentity,
    isMapped: Bool, isWritable: Bool, pool: SegmentFilePool? = nil
  ) {
    self.pool = pool ?? SegmentFilePool(fileSystem: fileSystem)
    self.fileSystem = fileSystem
    self.directory = directory
    self.geometry = geometry
    self.identity = identity
    self.isMapped = isMapped
    self.isWritable = isWritable
  }

  /// Returns a copy of this object in which `isMapped` has the given value.
  ///
  /// The copy shares the pool of open descriptors.
  package func mapped(_ isMapped: Bool) -> LogFiles {
    LogFiles(
      fileSystem: fileSystem, directory: directory, geometry: geometry, identity: identity,
      isMapped: isMapped, isWritable: isWritable, pool: pool)
  }

  package func path(_ segment: UInt64) -> String {
    directory + "/" + geometry.segmentName(segment)
  }

  /// Returns the numbers of the existing segments, in ascending order.
  package func existing() throws(StorageError) -> [UInt64] {
    let names = try fileSystem.list(directory) ?? []
    return names.compactMap { geometry.segment(named: $0) }.sorted()
  }

  /// Opens the existing segments in ascending order, starting with `first`.
  ///
  /// The method skips segments that a checkpoint deletes during the call. It also skips empty
  /// segments left by transactions that ran out of disk space or were rolled back.
  ///
  /// - Precondition: If `isMapped` is true, the segments have their full length. Accessing a
  ///   mapping past the end of its file ends the process.
  package func openAll(
    from first: UInt64, through last: UInt64 = .max, knowing known: SegmentTable? = nil,
    isMapped: Bool
  ) throws(StorageError) -> SegmentTable {
    var segments: [Segment] = []
    for number in try existing() where number >= first {
      guard number - first <= Limits.maxSegmentSpan else {
        throw .corrupt(
          "The number of this log segment is far higher than those of the store's other segments. "
            + "If the file does not belong to the store, move it elsewhere. Otherwise, restore a "
            + "backup.",
          file: geometry.segmentName(number))
      }
      guard number <= last else { continue }
      if let segment = known?[number] {
        segments.append(segment)
        continue
      }
      let access: FileAccess = isWritable ? .write : .read
      guard let file = try pool.open(path(number), access), try file.byteCount() > 0
      else { continue }
      segments.append(try segment(number, file, access, isMapped: isMapped))
    }
    return SegmentTable(segments)
  }

  package func scanner(
    of table: SegmentTable, from point: CommitPoint
  ) throws(StorageError) -> LogScanner {
    try LogScanner(table: table, geometry: geometry, seed: identity.seed, from: point)
  }

  /// Opens a segment for writing.
  ///
  /// The result is `nil` if the segment is missing or incomplete, or belongs to another lineage.
  package func completeSegment(_ number: UInt64, lineage: UInt64) throws(StorageError) -> Segment? {
    guard let file = try pool.open(path(number), .write), try isComplete(file, number, lineage)
    else { return nil }
    return try segment(number, file, .write, isMapped: isMapped)
  }

  /// Closes the descriptors of mapped segments that contain only durable frames.
  package func closeMapped(upTo durable: FrameNumber) {
    pool.closeMapped(below: geometry.segment(of: geometry.next(after: durable)))
  }

  func segment(
    _ number: UInt64, _ file: any File, _ access: FileAccess, isMapped: Bool
  ) throws(StorageError) -> Segment {
    try Segment(
      number: number, file: SegmentFile(number, file, access, in: pool), geometry: geometry,
      isMapped: isMapped)
  }

  /// Returns whether frames of a lineage can be written to a segment.
  ///
  /// The segment must exist, have its full length, and have a valid header of that lineage.
  package func isComplete(_ number: UInt64, lineage: UInt64) throws(StorageError) -> Bool {
    guard let file = try pool.open(path(number), .read) else { return false }
    return try isComplete(file, number, lineage)
  }

  private func isComplete(
    _ file: any File, _ number: UInt64, _ lineage: UInt64
  ) throws(StorageError) -> Bool {
    guard try file.byteCount() == UInt64(geometry.segmentByteCount),
      let header = try header({ target throws(StorageError) in try file.read(into: target, at: 0) })
    else { return false }
    return header.identity == identity && header.geometry == geometry
      && header.lineage == lineage && header.firstFrame == geometry.firstFrame(of: number)
  }

  /// Restores the full length of segments that are too short after a crash.
  ///
  /// The added bytes are zeros.
  package func lengthen(_ table: SegmentTable) throws(StorageError) {
    for segment in table.segments
    where try segment.file.byteCount() < UInt64(geometry.segmentByteCount) {
      try segment.file.setByteCount(UInt64(geometry.segmentByteCount))
    }
  }

  /// Creates a segment file with its full length and its header.
  ///
  /// On return, the name of the new file is not yet durable.
  ///
  /// The method overwrites any contents left by an earlier attempt. This is safe, because the
  /// process that made that attempt ended before the file's name became durable, so no commit with
  /// a frame in the file was ever acknowledged.
  ///
  /// - Parameter isAhead: Whether the segment is created in advance. If so, the segment is filled
  ///   with zeros, so that later commits need not change the file's metadata.
  package func create(
    _ number: UInt64, lineage: UInt64, isAhead: Bool
  ) throws(StorageError) -> Segment {
    guard let file = try pool.open(path(number), .create) else {
      throw StorageError(
        .io, "The log segment disappeared while it was being created. Try again.",
        file: path(number))
    }
    let chunkByteCount = isAhead ? min(geometry.segmentByteCount, 1 << 20) : geometry.pageByteCount
    let chunk = ByteBlock(count: chunkByteCount)
    defer { chunk.keep() }
    header(number, lineage: lineage).encode(to: chunk.bytes)
    if try file.byteCount() > 0 { try file.setByteCount(0) }
    try file.reserve(byteCount: UInt64(geometry.segmentByteCount))
    try file.write([chunk.bytes.bytes], at: 0)
    chunk.bytes.clear(0, SegmentLayout.byteCount)
    var offset = chunkByteCount
    while isAhead, offset < geometry.segmentByteCount {
      try file.write([chunk.bytes.bytes], at: UInt64(offset))
      offset += chunkByteCount
    }
    return try segment(number, file, .write, isMapped: isMapped)
  }

  /// Opens or creates a segment without allocating disk space in advance.
  ///
  /// Writing an image to the segment allocates space only for that image.
  package func sparseSegment(_ number: UInt64, lineage: UInt64) throws(StorageError) -> Segment {
    guard let file = try pool.open(path(number), .create) else {
      throw StorageError(
        .io, "The log segment disappeared while it was being created. Try again.",
        file: path(number))
    }
    if try file.byteCount() != UInt64(geometry.segmentByteCount) {
      try file.setByteCount(0)
      try file.setByteCount(UInt64(geometry.segmentByteCount))
      let block = ByteBlock(count: SegmentLayout.byteCount)
      defer { block.keep() }
      header(number, lineage: lineage).encode(to: block.bytes)
      try file.write([block.bytes.bytes], at: 0)
    }
    return try segment(number, file, .write, isMapped: isMapped)
  }

  func header(_ number: UInt64, lineage: UInt64) -> SegmentHeader {
    SegmentHeader(
      geometry: geometry, identity: identity, lineage: lineage,
      firstFrame: geometry.firstFrame(of: number), time: fileSystem.wallClockMilliseconds)
  }

  package func header(of segment: Segment) throws(StorageError) -> SegmentHeader? {
    try header { target throws(StorageError) in try segment.file.read(into: target, at: 0) }
  }

  private func header(
    _ read: (MutableBytes) throws(StorageError) -> Int
  ) throws(StorageError) -> SegmentHeader? {
    let block = ByteBlock(count: SegmentLayout.byteCount)
    defer { block.keep() }
    guard try read(block.bytes) == SegmentLayout.byteCount else { return nil }
    return SegmentHeader.decode(block.bytes.bytes)
  }

  /// Truncates segment `first` and all later segments to zero bytes, without deleting the files.
  ///
  /// The method truncates the segments in `known` first, so that their descriptors can be closed to
  /// make room for those of the other segments.
  package func emptySegments(from first: UInt64, knowing known: [Segment]) throws(StorageError) {
    for segment in known.reversed() where segment.number >= first { try? segment.file.empty() }
    for number in try existing() where number >= first {
      guard let file = try pool.open(path(number), .write), try file.byteCount() > 0
      else { continue }
      try file.setByteCount(0)
    }
  }

  package func remove(_ number: UInt64) throws(StorageError) {
    try fileSystem.remove(path(number))
  }

  /// Makes the names of all files in the store's directory durable.
  ///
  /// If the sync fails, the method throws `io` even if the disk is full.
  package func syncDirectory() throws(StorageError) {
    do throws(StorageError) { try fileSystem.syncDirectory(directory) } catch {
      throw error.endingSync
    }
  }
}
