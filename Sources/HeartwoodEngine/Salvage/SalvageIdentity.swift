/// The identity and geometry of a damaged store, read from any file that still contains them.
struct SalvageIdentity {
  let geometry: Geometry
  let identity: StoreIdentity
  /// The intact header slots.
  let slots: [HeaderSlot]
  /// Notes about data that was inferred because headers are damaged, each in one sentence.
  private(set) var notes: [String] = []

  /// The newest intact header slot.
  var header: HeaderSlot? { HeaderSlot.newest(slots) }

  /// Creates an identity from the header slots or, if both are damaged, from the headers of the log
  /// segments.
  ///
  /// If the segment headers are damaged too, the initialiser searches the damaged headers for the
  /// identity and sizes that match the most page hashes.
  ///
  /// - Throws: `notAStore` if nothing in the directory identifies a store, or `incompatibleFormat`
  ///   if an intact header has a version that this program does not support.
  init(of directory: String, in files: DamagedFiles, _ names: Set<String>) throws(StorageError) {
    let pages = try files.open(directory + "/pages", .read)
    slots = try pages.map { pages throws(StorageError) in try Self.slots(in: pages) } ?? []
    if let header = HeaderSlot.newest(slots) {
      geometry = header.geometry
      identity = header.identity
      // Sequence number 1 means that the other slot has not been written yet. Report a damaged slot
      // only if the number is higher.
      if slots.count == 1, header.sequence > 1 {
        notes.append("One of the page file's two header slots is damaged.")
      }
      return
    }
    let segments = names.filter { $0.hasPrefix("wal-") }.sorted()
    for name in segments {
      guard let header = try Self.header(of: directory + "/" + name, name, in: files) else {
        continue
      }
      geometry = header.geometry
      identity = header.identity
      notes.append(
        "Both header slots of the page file are damaged, so the identity of the store was read "
          + "from \(name).")
      return
    }
    var guess = IdentityGuess(segments)
    try guess.collect(from: directory, in: files)
    guard let found = try guess.best(for: pages) else {
      throw StorageError(
        .notAStore,
        "No Heartwood store could be identified in this directory, because all file headers are "
          + "missing or damaged. Check the path. If the path is correct, restore a backup.",
        file: directory)
    }
    (identity, geometry) = found
    notes.append(
      "All file headers are damaged, so the identity of the store was determined from the hashes "
        + "of its pages.")
  }

  private static func slots(in pages: any File) throws(StorageError) -> [HeaderSlot] {
    var slots: [HeaderSlot] = []
    for offset in HeaderSlotLayout.offsets {
      let slot = try pages.withBytes(HeaderSlotLayout.byteCount, at: offset) {
        bytes throws(StorageError) -> HeaderSlot? in
        do throws(StorageError) { return try HeaderSlot.decode(bytes) } catch {
          // Treat a slot with impossible frame numbers as damaged.
          guard error.kind == .corrupt else { throw error }
          return nil
        }
      }
      if let slot { slots.append(slot) }
    }
    return slots
  }

  /// Returns the intact header of the segment with the given name, or `nil` if there is none.
  static func header(
    of path: String, _ name: String, in files: DamagedFiles
  ) throws(StorageError) -> SegmentHeader? {
    guard let file = try files.open(path, .read) else { return nil }
    let header = try file.withBytes(SegmentLayout.byteCount, at: 0) { bytes throws(StorageError) in
      SegmentHeader.decode(bytes)
    }
    guard let header, let number = header.geometry.segment(named: name),
      header.geometry.firstFrame(of: number) == header.firstFrame
    else { return nil }
    return header
  }
}

extension File {
  /// Calls `body` with the `count` bytes of the file that start at `offset`.
  ///
  /// Bytes beyond the end of the file are zero.
  func withBytes<R>(
    _ count: Int, at offset: UInt64, _ body: (Bytes) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    let block = ByteBlock(count: count)
    defer { block.keep() }
    _ = try read(into: block.bytes, at: offset)
    return try body(block.bytes.bytes)
  }
}
