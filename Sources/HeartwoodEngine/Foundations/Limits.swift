/// The limits of the file format and the engine, each with its reason.
///
/// `Docs/Reference/Limits.md` has a row for each limit. A test compares the rows with this file.
package enum Limits {
  /// The smallest page size: one block of common file systems, so that two pages never share a
  /// block.
  package static let minPageByteCount = 4096
  /// The largest page size: every offset within a page fits in 16 bits.
  package static let maxPageByteCount = 65_536
  /// The maximum length of an encoded key: four entries with such keys fit in the smallest page.
  ///
  /// This guarantees each branch a fan-out that keeps trees shallow, and makes every split
  /// possible.
  package static let maxKeyByteCount = 960
  /// The maximum length of a value.
  ///
  /// Its overflow index has at most two levels, and a copy of the value fits in the address space
  /// of 32-bit platforms.
  package static let maxValueByteCount = 1 << 30
  /// The maximum length of a value that `withValue` copies into one buffer if the value spans
  /// pages.
  ///
  /// Larger values are read by range, so that no single call allocates without bound.
  package static let maxCopiedValueByteCount = 64 << 20
  /// The highest level of a node.
  ///
  /// With a fan-out of at least four, half as many levels reach every page number.
  ///
  /// A page with a higher level is corrupt.
  package static let maxTreeLevel = 32
  /// The maximum length of a keyspace name in UTF-8 bytes.
  ///
  /// The name is a key of the catalog.
  package static let maxKeyspaceNameByteCount = 255
  /// The maximum length of the name of a generation in UTF-8 bytes.
  ///
  /// The names are meant for people.
  package static let maxGenerationNameByteCount = 255
  /// The maximum number of pages in the page file.
  ///
  /// Page numbers have 32 bits, and the last value means "none".
  package static let maxPageCount = UInt64(UInt32.max)
  /// The maximum number of entries in a keyspace: more than all pages could hold, yet small enough
  /// that adding counts cannot overflow.
  ///
  /// A catalog with a larger count is corrupt.
  package static let maxEntryCount: UInt64 = 1 << 48
  /// The largest frame number: far more frames than any storage device can hold, yet small enough
  /// that sums with frame numbers, such as lock bytes, cannot overflow.
  package static let maxFrame: UInt64 = 1 << 56
  /// The maximum number of lineages in a header slot.
  ///
  /// Tokens of older lineages expire.
  package static let maxLineageCount = 64
  /// The size of the largest log segment.
  ///
  /// Its table of frames is small in comparison, and every 64-bit platform can map the segment.
  package static let maxSegmentByteCount = 1 << 30
  /// The maximum number of log segments from the oldest needed one to the newest.
  ///
  /// It is more than any log has, yet small enough to build a table from arbitrary names in a
  /// directory.
  package static let maxSegmentSpan: UInt64 = 1 << 20
  /// The maximum number of log segments that a store has open at a time.
  ///
  /// It is more than are read together, yet small compared with the descriptor limit of a process.
  package static let maxOpenSegmentCount = 32
  /// The maximum number of log segments whose descriptors wait for a sync.
  ///
  /// A transaction that writes to more segments syncs the oldest one before it continues.
  package static let maxUnsyncedSegmentCount = 16
  /// The maximum number of retained generations in the decision record.
  ///
  /// If there are more, a maintenance run reclaims less.
  package static let maxRetainedGenerationCount = 200
  /// The number of rows in the file `holders`.
  ///
  /// A process that finds no free row is reported by the name of its program.
  package static let maxHolderRowCount = 256
  /// The maximum number of generations for which a process takes a holder lock.
  ///
  /// Every lock slows down the kernel's other lock calls, and users mostly need to see the oldest
  /// generations.
  package static let maxHeldGenerationLockCount = 256
  /// The maximum number of attempts of a loop that starts over when another process changes what it
  /// reads.
  ///
  /// Each new attempt needs a change within microseconds, so this many in a row have another cause.
  package static let maxAttemptCount = 1000
}

extension Limits {
  /// Checks the length of a value.
  ///
  /// - Throws: `tooLarge` if the value exceeds the limit.
  package static func requireValue(byteCount: Int) throws(StorageError) {
    guard byteCount > maxValueByteCount else { return }
    throw StorageError(
      .tooLarge, "The value has \(byteCount) bytes; the limit is \(maxValueByteCount).")
  }
}
