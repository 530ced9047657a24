/// The segments of one store's log as files in its folder.
///
/// Thread-safe: it holds no state beyond what it was made with.
package final class LogFiles: Sendable {
  package let fileSystem: any FileSystem
  package let directory: String
  package let geometry: Geometry
  package let identity: StoreIdentity
  package let isMapped: Bool
  package let isWritable: Bool
  private let pool: SegmentFilePool

  package convenience init(
    fileSystem: any FileSystem, directory: String, geometry: Geometry, identity: StoreIdentity,
    isMapped: Bool, isWritable: Bool
  ) {
    self.init(
      fileSystem: fileSystem, directory: directory, geometry: geometry, identity: identity,
      isMapped: isMapped, isWritable: isWritable, pool: SegmentFilePool(fileSystem: fileSystem))
  }

  private init(
    fileSystem: any FileSystem, directory: String, geometry: Geometry, identity: StoreIdentity,
    isMapped: Bool, isWritable: Bool, pool: SegmentFilePool
  ) {
    self.pool = pool
    self.fileSystem = fileSystem
    self.directory = directory
    self.geometry = geometry
    self.identity = identity
    self.isMapped = isMapped
    self.isWritable = isWritable
  }

  /// The same files, to be mapped or not.
  package func mapped(_ isMapped: Bool) -> LogFiles {
    LogFiles(
      fileSystem: fileSystem, directory: directory, geometry: geometry, identity: identity,
      isMapped: isMapped, isWritable: isWritable, pool: pool)
  }

  package func path(_ segment: UInt64) -> String {
    directory + "/" + geometry.segmentName(segment)
  }

  /// The numbers of the segments there are, ascending.
  package func existing() throws(StorageError) -> [UInt64] {
    let names = try fileSystem.list(directory) ?? []
    return names.compactMap { geometry.segment(named: $0) }.sorted()
  }

  /// Opens the segments that exist from `first` on, in order.
  ///
  /// Segments that a checkpoint deletes meanwhile are left out, and so are empty ones: their writer
  /// gave up, for want of space or before he began.
  ///
  /// - Parameters:
  ///   - last: The last segment of interest.
  ///   - known: Segments that are open already.
  ///   - isMapped: Only for segments of full length: touching a mapping past the end of its file is
  ///     fatal.
  package func openAll(
    from first: UInt64, through last: UInt64 = .max, knowing known: SegmentTable? = nil,
    isMapped: Bool
  ) throws(StorageError) -> SegmentTable {
    var segments: [Segment] = []
    for number in try existing() where number >= first {
      guard number - first <= Limits.maxSegmentSpan else {
        throw .corrupt(
          "The name of this log segment is far from those that belong to the store.",
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

  /// Opens a segment that is ready for frames, whoever made it; `nil` if it is missing, was given
  /// back, or belongs to another lineage.
  package func whole(_ number: UInt64, lineage: UInt64) throws(StorageError) -> Segment? {
    guard let file = try pool.open(path(number), .write), try isWhole(file, number, lineage)
    else { return nil }
    return try segment(number, file, .write, isMapped: isMapped)
  }

  /// Closes the descriptors of mapped segments in which nothing is behind a durable frame.
  package func closeMapped(upTo durable: FrameNumber) {
    pool.closeMapped(below: geometry.segment(of: geometry.next(after: durable)))
  }

  /// A segment whose file is open already.
  func segment(
    _ number: UInt64, _ file: any File, _ access: FileAccess, isMapped: Bool
  ) throws(StorageError) -> Segment {
    try Segment(
      number: number, file: SegmentFile(number, file, access, in: pool), geometry: geometry,
      isMapped: isMapped)
  }

  /// Whether a segment is ready for frames.
  package func isWhole(_ number: UInt64, lineage: UInt64) throws(StorageError) -> Bool {
    guard let file = try pool.open(path(number), .read) else { return false }
    return try isWhole(file, number, lineage)
  }

  private func isWhole(
    _ file: any File, _ number: UInt64, _ lineage: UInt64
  ) throws(StorageError) -> Bool {
    guard try file.byteCount() == UInt64(geometry.segmentByteCount),
      let header = try header({ target throws(StorageError) in try file.read(into: target, at: 0) })
    else { return false }
    return header.identity == identity && header.geometry == geometry
      && header.lineage == lineage && header.firstFrame == geometry.firstFrame(of: number)
  }

  /// Gives segments their full length back, where a crash took it; the rest reads as zeros.
  package func lengthen(_ table: SegmentTable) throws(StorageError) {
    for segment in table.segments
    where try segment.file.byteCount() < UInt64(geometry.segmentByteCount) {
      try segment.file.setByteCount(UInt64(geometry.segmentByteCount))
    }
  }

  /// Makes the file of a segment, at full length, with its header.
  ///
  /// What an earlier attempt left there is overwritten: its creator died before the name was
  /// durable, so no frame in it was ever acknowledged. The name is not durable yet when this
  /// returns. A segment made ahead gets zeros written through, so that a commit later changes no
  /// metadata; one that is about to be filled does without.
  package func create(
    _ number: UInt64, lineage: UInt64, isAhead: Bool
  ) throws(StorageError) -> Segment {
    guard let file = try pool.open(path(number), .create) else {
      throw StorageError(.io, "The log segment vanished while it was made.", file: path(number))
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

  func header(_ number: UInt64, lineage: UInt64) -> SegmentHeader {
    SegmentHeader(
      geometry: geometry, identity: identity, lineage: lineage,
      firstFrame: geometry.firstFrame(of: number), time: fileSystem.wallClockMilliseconds)
  }

  /// What a segment says about itself, or `nil` if its header is not whole.
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

  /// Takes the bytes of the segments from `first` on away, and leaves their names.
  ///
  /// - Parameter known: Some of them. The newest go first: their descriptors are open, and closing
  ///   them makes room for others.
  package func emptySegments(
    from first: UInt64, knowing known: [Segment]
  ) throws(StorageError) {
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

  package func syncDirectory() throws(StorageError) {
    try fileSystem.syncDirectory(directory)
  }
}
