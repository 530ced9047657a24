/// The result of salvaging a damaged store.
package struct SalvageReport: Sendable {
  /// A range of keys in which entries are missing.
  package struct MissingRange: Hashable, Sendable {
    /// The last salvaged key before the range, or `nil` if there is none.
    package let after: [UInt8]?
    /// The first salvaged key after the range, or `nil` if there is none.
    package let before: [UInt8]?
    /// A Boolean value that indicates whether some entries in the range were salvaged, for example
    /// because only the branch above them is lost.
    package let isPartial: Bool
  }

  package struct Keyspace: Sendable {
    /// The name of the keyspace in the new store.
    package var name: String
    /// A Boolean value that indicates whether the original name was lost with the keyspace's row in
    /// the catalog.
    package var hasLostName = false
    /// A Boolean value that indicates whether the entries were recomputed from other entries.
    ///
    /// No entries can be missing from a rebuilt keyspace.
    package var isRebuilt = false
    /// The number of salvaged entries.
    package var entryCount = 0
    /// The number of entries according to the catalog, or `nil` if the keyspace's row is lost.
    package var expectedCount: Int?
    /// The ranges in which entries are missing, in key order.
    ///
    /// At most ``maxListedCount`` ranges are listed.
    package var missing: [MissingRange] = []
    package var missingRangeCount = 0
    /// The keys of entries whose large values are damaged.
    ///
    /// At most ``maxListedCount`` keys are listed.
    package var damagedValues: [[UInt8]] = []
    package var damagedValueCount = 0
    /// The number of entries from leaves that may be stale.
    package var doubtfulCount = 0
    /// The number of entries that were omitted because their keys were out of order.
    package var misplacedCount = 0

    package init(name: String) { self.name = name }

    /// A Boolean value that indicates whether every entry, and nothing else, was salvaged.
    package var isComplete: Bool {
      if isRebuilt { return true }
      return !hasLostName && missingRangeCount == 0 && damagedValueCount == 0
        && doubtfulCount == 0 && misplacedCount == 0 && expectedCount == entryCount
    }

    mutating func append(_ range: MissingRange) {
      missingRangeCount += 1
      if missing.count < SalvageReport.maxListedCount { missing.append(range) }
    }

    mutating func appendDamagedValue(_ key: [UInt8]) {
      damagedValueCount += 1
      if damagedValues.count < SalvageReport.maxListedCount { damagedValues.append(key) }
    }
  }

  /// The maximum number of ranges or keys to list for one keyspace.
  package static let maxListedCount = 10_000

  /// The salvaged generation.
  package var generation = Generation(frame: 0)
  /// The commit time of ``generation``, in milliseconds since 1970, or 0 if it is unknown.
  package var time: UInt64 = 0
  /// The keyspaces, sorted by name.
  package var keyspaces: [Keyspace] = []
  /// The number of pages in the damaged store, including free pages.
  package var pageCount = 0
  /// The number of damaged pages that were, or may have been, in use.
  package var damagedPageCount = 0
  /// A Boolean value that indicates whether any catalog rows, which name the keyspaces, are lost.
  package var hasLostNames = false
  /// A Boolean value that indicates whether commits after ``generation`` are lost.
  package var hasLostCommits = false
  /// A Boolean value that indicates whether objects may be inconsistent because the data that
  /// describes them is damaged.
  package var hasInconsistentObjects = false
  /// Notes about the damage, each in one sentence.
  package var notes: [String] = []

  /// A Boolean value that indicates whether the new store contains all data of the newest
  /// generation.
  package var isComplete: Bool {
    !hasLostNames && !hasLostCommits && !hasInconsistentObjects
      && keyspaces.allSatisfy(\.isComplete)
  }
}
