/// The limits of the file format and the engine, each with its reason.
///
/// `Docs/Reference/Limits.md` has a row for each limit. A test compares the table with this file.
package enum Limits {
  /// The smallest page size.
  ///
  /// It equals the block size of common file systems, so that two pages never share a block.
  package static let minPageByteCount = 4096
  /// The largest page size for which every offset within a page fits in 16 bits.
  package static let maxPageByteCount = 65_536
  /// The maximum length of an encoded key, chosen so that four entries with such keys fit in the
  /// smallest page.
  ///
  /// This limit keeps trees shallow, and guarantees that every node can be split.
  package static let maxKeyByteCount = 960
  /// The maximum length of a value.
  ///
  /// A value of this length has an overflow index of at most two levels, and a copy of the value
  /// fits in the address space of 32-bit platforms.
  package static let maxValueByteCount = 1 << 30
  /// The maximum length of a multi-page value that `withValue` copies into one buffer.
  ///
  /// Larger values must be read by range, so that no single call allocates an unbounded amount of
  /// memory.
  package static let maxCopiedValueByteCount = 64 << 20
  /// The highest possible level of a node.
  ///
  /// If each node had only four children, half as many levels would suffice for the largest
  /// possible page file. A page with a higher level is corrupt.
  package static let maxTreeLevel = 32
  /// The maximum length of a keyspace name in UTF-8 bytes.
  ///
  /// The name must fit in a key, because the catalog is keyed by name.
  package static let maxKeyspaceNameByteCount = 255
  /// The maximum length of the name of a generation in UTF-8 bytes.
  ///
  /// Such names are meant to be read by people, so a higher limit is not needed.
  package static let maxGenerationNameByteCount = 255
  /// The maximum number of pages in the page file.
  ///
  /// Page numbers have 32 bits, and the largest value means "none".
  package static let maxPageCount = UInt64(UInt32.max)
  /// The maximum number of entries in a keyspace: more than all pages could hold, yet small enough
  /// that adding counts cannot overflow.
  ///
  /// A catalog with a larger count is corrupt.
  package static let maxEntryCount: UInt64 = 1 << 48
  /// The largest frame number: far more frames than any storage device can hold, yet small enough
  /// that sums of frame numbers and other numbers, such as the offsets of lock bytes, cannot
  /// overflow.
  package static let maxFrame: UInt64 = 1 << 56
  /// The maximum number of lineages in a header slot.
  ///
  /// If a store has more lineages, the oldest ones are not listed, and tokens of their generations
  /// expire.
  package static let maxLineageCount = 64
  /// The size of the largest log segment.
  ///
  /// At this size, the segment's table of frames is comparatively small, and every 64-bit platform
  /// can map the segment.
  package static let maxSegmentByteCount = 1 << 30
  /// The maximum difference between the numbers of the newest log segment and the oldest one that
  /// is still needed.
  ///
  /// The limit bounds the size of the table of segments if the directory contains files with
  /// arbitrary numbers in their names. No real log reaches it.
  package static let maxSegmentSpan: UInt64 = 1 << 20
  /// The maximum number of log segments that a store has open at a time.
  ///
  /// The limit exceeds the number of segments that are usually read at the same time, but is small
  /// compared with a process's descriptor limit.
  package static let maxOpenSegmentCount = 32
  /// The maximum number of log segments that may be waiting for a sync at the same time.
  ///
  /// These segments are kept open until they are synced. If another segment must be written, the
  /// segment that has waited longest is synced first.
  package static let maxUnsyncedSegmentCount = 16
  /// The maximum number of retained generations, besides the newest, that the decision record in
  /// the shared counters can list.
  ///
  /// If more generations are retained, maintenance runs reclaim less log space.
  package static let maxRetainedGenerationCount = 200
  /// The number of rows in the `holders` file.
  ///
  /// A process that finds no free row cannot record its own name, and is shown with the name of its
  /// program instead.
  package static let maxHolderRowCount = 256
  /// The maximum number of generations for which a process takes a holder lock.
  ///
  /// Each lock slows down all other lock calls in the kernel, and users rarely need to see more
  /// than the oldest generations that a process holds.
  package static let maxHeldGenerationLockCount = 256
  /// The maximum number of attempts that a loop makes if another process keeps changing what the
  /// loop reads.
  ///
  /// A new attempt is needed only if a change happens at exactly the wrong moment. Reaching this
  /// limit therefore means that the files contradict each other, or that another program keeps
  /// changing them.
  package static let maxAttemptCount = 1000
}

extension Limits {
  /// Checks the length of a value.
  ///
  /// - Throws: `tooLarge` if the value exceeds the limit.
  package static func requireValue(byteCount: Int) throws(StorageError) {
    guard byteCount > maxValueByteCount else { return }
    throw StorageError(
      .tooLarge,
      "The value has \(byteCount) bytes, but the limit is \(maxValueByteCount). Split the value "
        + "across several keys.")
  }
}
