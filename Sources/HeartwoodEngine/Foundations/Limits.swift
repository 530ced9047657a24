/// Every bound of the format and the engine, each with its reason.
///
/// A row of `Docs/Limits.md` for each; a test compares the two.
package enum Limits {
  /// Smallest page: one block of the common file systems, so that a page never shares a block.
  package static let minPageByteCount = 4096
  /// Largest page: offsets within a page fit 16 bits.
  package static let maxPageByteCount = 65_536
  /// Longest encoded key: four entries with such keys fit the smallest page, which keeps every
  /// branch at a fan-out that makes a tree shallow and every split possible.
  package static let maxKeyByteCount = 960
  /// Longest value: its overflow index stays two levels deep, and a copy stays addressable on
  /// 32-bit platforms.
  package static let maxValueByteCount = 1 << 30
  /// Longest value `withValue` copies together when it does not lie in one page; larger ones are
  /// read by range, so that one call never allocates without bound.
  package static let maxCopiedValueByteCount = 64 << 20
  /// Highest level of a node: with a fan-out of at least four this covers every page number twice
  /// over; bytes from a file that claim more are damaged.
  package static let maxTreeLevel = 32
  /// Longest keyspace name in UTF-8 bytes: a name is a key of the catalog.
  package static let maxKeyspaceNameByteCount = 255
  /// Longest name of a kept generation in UTF-8 bytes: names are for people.
  package static let maxKeptNameByteCount = 255
  /// Most pages in the page file: page numbers are 32 bits and the last value stands for "none".
  package static let maxPageCount = UInt64(UInt32.max)
  /// Most entries a keyspace can count: more than all pages have room for, and few enough that
  /// counts can be added up; a catalog that counts more is damaged.
  package static let maxEntryCount: UInt64 = 1 << 48
  /// Largest frame number: far beyond what any medium can take, and small enough that all sums of
  /// frame numbers, lock bytes included, fit.
  package static let maxFrame: UInt64 = 1 << 56
  /// Lineages a header slot remembers; tokens older than the oldest expire.
  package static let maxLineageCount = 64
  /// Largest log segment: its table of frames stays small beside it, and it can be mapped on any
  /// platform with room for 64-bit addresses.
  package static let maxSegmentByteCount = 1 << 30
  /// Log segments from the oldest needed to the newest: far more than any log has, and few enough
  /// that a table of them can be made from whatever names a folder holds.
  package static let maxSegmentSpan: UInt64 = 1 << 20
  /// Descriptors a store has open on log segments at a time: more than are read together, and few
  /// beside what a process is allowed.
  package static let maxOpenSegmentCount = 32
  /// Log segments whose descriptors wait for a sync; a transaction that writes to more of them has
  /// the oldest synced before it goes on.
  package static let maxUnsyncedSegmentCount = 16
  /// Bounds the decision record can list; with more, a pass reclaims less.
  package static let maxDecisionBoundCount = 200
  /// Rows in the file `holders`: who comes when all are taken is known by its program's name.
  package static let maxHolderRowCount = 256
  /// Generations a process marks as held: each mark is one more lock that the kernel has to walk
  /// over, and people look at the oldest.
  package static let maxMarkedGenerationCount = 256
  /// Attempts of a loop that starts over when another process changes what it reads: each needs a
  /// change within microseconds, so this many in a row have another cause.
  package static let maxAttemptCount = 1000
}
