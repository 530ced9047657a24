import HeartwoodEngine

/// The numbers of bytes of the pages that belong to each keyspace.
struct KeyspaceSizes {
  private let pageCounts: [String: Int]
  private let pageByteCount: Int

  init(of snapshot: Snapshot, in store: Store) throws {
    pageCounts = try store.pageCounts(of: snapshot)
    pageByteCount = store.statistics.pageByteCount
  }

  /// The number of bytes of a keyspace's pages, or 0 if it has none.
  subscript(name: String) -> Int { (pageCounts[name] ?? 0) * pageByteCount }
}
