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

  package init(
    fileSystem: any FileSystem, directory: String, geometry: Geometry, identity: StoreIdentity,
    isMapped: Bool, isWritable: Bool
  ) {
    self.fileSystem = fileSystem
    self.directory = directory
    self.geometry = geometry
    self.identity = identity
    self.isMapped = isMapped
    self.isWritable = isWritable
  }

  package func path(_ segment: UInt64) -> String {
    directory + "/" + geometry.segmentName(segment)
  }

  /// The numbers of the segments there are, ascending.
  package func existing() throws(StorageError) -> [UInt64] {
    let names = try fileSystem.list(directory) ?? []
    return names.compactMap { geometry.segment(named: $0) }.sorted()
  }

  /// Opens the segments that exist from `first` on.
  ///
  /// Gaps end a table: what lies behind one can only be reached by a lineage jump, and no jump ever
  /// leaves a gap, because new lineages start right after the last existing segment.
  package func openAll(from first: UInt64) throws(StorageError) -> SegmentTable {
    var segments: [Segment] = []
    for number in try existing() where number >= first {
      if let last = segments.last, last.number + 1 != number {
        throw .corrupt(
          "A log segment is missing between \(geometry.segmentName(last.number)) and this one.",
          file: geometry.segmentName(number))
      }
      guard let file = try fileSystem.open(path(number), isWritable ? .write : .read)
      else { continue }
      if isWritable, try file.byteCount() < UInt64(geometry.segmentByteCount) {
        // A crash took the length back, or somebody cut the file. Touching a mapping past the end
        // is fatal; zeros in its place are recognised as what they are.
        try file.setByteCount(UInt64(geometry.segmentByteCount))
      }
      segments.append(
        try Segment(number: number, file: file, geometry: geometry, isMapped: isMapped))
    }
    return SegmentTable(segments)
  }

  /// Makes the file of a segment, at full length and written through, with its header.
  ///
  /// What an earlier attempt left there is overwritten: its creator died before the name was
  /// durable, so no frame in it was ever acknowledged. The name is not durable yet when this
  /// returns. Zeros are written, not left as a hole, so that a commit later changes no metadata and
  /// a full disk is met here, not in the middle of a commit.
  package func create(_ number: UInt64, lineage: UInt64) throws(StorageError) -> Segment {
    guard let file = try fileSystem.open(path(number), .create) else {
      throw StorageError(.io, "The log segment vanished while it was made.", file: path(number))
    }
    let header = SegmentHeader(
      geometry: geometry, identity: identity, lineage: lineage,
      firstFrame: geometry.firstFrame(of: number), time: fileSystem.wallClockMilliseconds)
    let chunkByteCount = min(geometry.segmentByteCount, 1 << 20)
    let chunk = ByteBlock(count: chunkByteCount)
    header.encode(to: chunk.bytes)
    var offset = 0
    while offset < geometry.segmentByteCount {
      try file.write([chunk.bytes.bytes], at: UInt64(offset))
      if offset == 0 { chunk.bytes.clear(0, SegmentLayout.byteCount) }
      offset += chunkByteCount
    }
    return try Segment(number: number, file: file, geometry: geometry, isMapped: isMapped)
  }

  package func remove(_ number: UInt64) throws(StorageError) {
    try fileSystem.remove(path(number))
  }

  package func syncDirectory() throws(StorageError) {
    try fileSystem.syncDirectory(directory)
  }
}
