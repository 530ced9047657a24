/// The limits of the file format and the engine, each with its reason.
///
/// A test compares the limits with the table in `Docs/Reference/Limits.md`.
package enum Limits {
  /// The smallest page size.
  ///
  /// Common file systems use blocks of this size, so no two pages share a block.
  package static let minPageByteCount = 4096
  /// The largest page size.
  ///
  /// Every offset within a page of this size still fits in 16 bits.
  package static let maxPageByteCount = 65_536
  /// The maximum length of an encoded key.
  ///
  /// Four entries with keys of this length fit in the smallest page, so trees are shallow and every
  /// node can be split.
  package static let maxKeyByteCount = 960
  /// The maximum length of a value.
  ///
  /// The overflow index of a value of this length has at most two levels. A copy of the value fits
  /// in the address space of 32-bit platforms.
  package static let maxValueByteCount = 1 << 30
  /// The maximum length of a multi-page value that `withValue` copies into one buffer.
  ///
  /// Without this limit, a single call could allocate an unbounded amount of memory.
  package static let maxCopiedValueByteCount = 64 << 20
  /// The highest level that a tree node can have.
  ///
  /// This limit is twice the number of levels that the largest page file would need if each node
  /// had only four children.
  package static let maxTreeLevel = 32
  /// The maximum length of a keyspace name in UTF-8 bytes.
  ///
  /// The name must fit in a key of the catalog.
  package static let maxKeyspaceNameByteCount = 255
  /// The maximum length of a generation's name in UTF-8 bytes.
  package static let maxGenerationNameByteCount = 255
  /// The maximum number of pages.
  ///
  /// Page numbers have 32 bits, and the largest page number means "none".
  package static let maxPageCount = UInt64(UInt32.max)
  /// The maximum number of entries in a keyspace.
  ///
  /// A store runs out of pages before it reaches this limit. Entry counts are small enough that
  /// adding them cannot overflow.
  package static let maxEntryCount: UInt64 = 1 << 48
  /// The largest frame number.
  ///
  /// No device can hold this many frames. Frame numbers are small enough that adding another
  /// number, such as the offset of a lock byte, cannot overflow.
  package static let maxFrame: UInt64 = 1 << 56
  /// The maximum number of lineages in a header slot.
  ///
  /// Older lineages are not listed, and tokens for their generations expire.
  package static let maxLineageCount = 64
  /// The maximum size of a log segment.
  ///
  /// The table of frames in a segment of this size remains small, and every 64-bit platform can map
  /// the segment.
  package static let maxSegmentByteCount = 1 << 30
  /// The maximum difference between the numbers of the newest segment and the oldest segment that
  /// is still needed.
  ///
  /// The limit bounds the table of segments in case the directory contains files with arbitrary
  /// numbers in their names.
  package static let maxSegmentSpan: UInt64 = 1 << 20
  /// The maximum number of open log segments.
  ///
  /// A process usually reads from fewer segments at a time. The limit is far below the number of
  /// descriptors that a process may have open.
  package static let maxOpenSegmentCount = 48
  /// The maximum number of log segments that stay open until they are synced.
  ///
  /// At this limit, the writer syncs the segment that has waited longest before it writes to
  /// another segment.
  ///
  /// At the default segment size, the longest log that can await a checkpoint fits in this many
  /// segments. Therefore, only a transaction that is larger than this waits for the disk before it
  /// commits.
  package static let maxUnsyncedSegmentCount = 32
  /// The maximum number of retained generations in the shared counters, excluding the newest one.
  ///
  /// If more generations are held, maintenance reclaims less log space.
  package static let maxRetainedGenerationCount = 200
  /// The number of rows in the `holders` file.
  ///
  /// A process without a row cannot record its name, so users see the name of its program instead.
  package static let maxHolderRowCount = 256
  /// The maximum number of generations for which one process takes holder locks.
  ///
  /// Each held lock makes every lock call slower, and users rarely need to see more than the oldest
  /// held generations.
  package static let maxHeldGenerationLockCount = 256
  /// The maximum number of attempts to read data that another process keeps changing.
  ///
  /// An attempt fails only if a change happens at exactly the wrong moment. Reaching this limit
  /// means that the files contradict each other, or that another program keeps changing them.
  package static let maxAttemptCount = 1000
}

extension Limits {
  /// Throws `tooLarge` if a value of the given length exceeds the limit.
  package static func requireValue(byteCount: Int) throws(StorageError) {
    guard byteCount > maxValueByteCount else { return }
    throw StorageError(
      .tooLarge,
      "The value is \(byteCount) bytes long, but the limit is \(maxValueByteCount) bytes. Split "
        + "the value across several keys.")
  }
}
