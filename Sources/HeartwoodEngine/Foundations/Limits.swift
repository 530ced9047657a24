/// The limits of the file format and the engine, each with its reason.
///
/// `Docs/Reference/Limits.md` has a row for each; a test compares the two.
package enum Limits {
  /// Smallest page: one block of the common file systems, so that two pages never share a block.
  package static let minPageByteCount = 4096
  /// Largest page: offsets within a page fit 16 bits.
  package static let maxPageByteCount = 65_536
  /// Longest encoded key: four entries with such keys fit the smallest page.
  ///
  /// This guarantees each branch a fan-out that keeps trees shallow, and makes every split
  /// possible.
  package static let maxKeyByteCount = 960
  /// Longest value: its overflow index stays two levels deep, and a copy fits the address space of
  /// 32-bit platforms.
  package static let maxValueByteCount = 1 << 30
  /// Longest value that `withValue` copies into one buffer if it spans pages.
  ///
  /// Larger ones are read by range, so that no single call allocates without bound.
  package static let maxCopiedValueByteCount = 64 << 20
  /// Highest level of a node: with a fan-out of at least four this covers every page number twice
  /// over.
  ///
  /// Bytes from a file that claim a higher level are corrupt.
  package static let maxTreeLevel = 32
  /// The maximum length of a keyspace name in UTF-8 bytes: a name is a key of the catalog.
  package static let maxKeyspaceNameByteCount = 255
  /// The maximum length of the name of a generation in UTF-8 bytes: names are for people.
  package static let maxGenerationNameByteCount = 255
  /// The maximum number of pages in the page file: page numbers have 32 bits, and the last value
  /// means "none".
  package static let maxPageCount = UInt64(UInt32.max)
  /// The maximum number of entries in a keyspace: more than all pages could hold, yet small enough
  /// that adding counts cannot overflow.
  ///
  /// A catalog with a larger count is corrupt.
  package static let maxEntryCount: UInt64 = 1 << 48
  /// The largest frame number: far more than any storage device can hold, and small enough that all
  /// sums with frame numbers, lock bytes included, fit.
  package static let maxFrame: UInt64 = 1 << 56
  /// Lineages a header slot records; tokens older than the oldest one expire.
  package static let maxLineageCount = 64
  /// Largest log segment: its table of frames stays small in comparison, and every 64-bit platform
  /// can map it.
  package static let maxSegmentByteCount = 1 << 30
  /// Log segments from the oldest needed to the newest: far more than any log has, and few enough
  /// that a table of them can be built from arbitrary names in a directory.
  package static let maxSegmentSpan: UInt64 = 1 << 20
  /// Descriptors on log segments that a store has open at a time: more than are read together, and
  /// few compared with the limit of a process.
  package static let maxOpenSegmentCount = 32
  /// Log segments whose descriptors wait for a sync; a transaction that writes to more of them
  /// syncs the oldest before it continues.
  package static let maxUnsyncedSegmentCount = 16
  /// Retained generations that the decision record can list; with more, a maintenance run reclaims
  /// less.
  package static let maxRetainedGenerationCount = 200
  /// Rows in the file `holders`; a process that finds all of them taken is reported by its
  /// program's name.
  package static let maxHolderRowCount = 256
  /// The number of holder locks of a process: each is one more lock that the kernel has to search,
  /// and users look at the oldest generations.
  package static let maxHeldGenerationLockCount = 256
  /// Attempts of a loop that starts over when another process changes what it reads.
  ///
  /// Each needs a change within microseconds, so this many in a row have another cause.
  package static let maxAttemptCount = 1000
}

extension Limits {
  /// - Throws: `tooLarge` for a value over its limit.
  package static func requireValue(byteCount: Int) throws(StorageError) {
    guard byteCount > maxValueByteCount else { return }
    throw StorageError(
      .tooLarge, "The value has \(byteCount) bytes; the limit is \(maxValueByteCount).")
  }
}
