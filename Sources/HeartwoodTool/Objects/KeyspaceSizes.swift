import HeartwoodEngine

/// The sizes of a snapshot's keyspaces.
///
/// The size of a keyspace is the total size of its pages in bytes.
struct KeyspaceSizes {
  private let pageCounts: [String: Int]
  private let pageByteCount: Int

  init(of snapshot: Snapshot, in store: Store) throws {
    pageCounts = try store.pageCounts(of: snapshot)
    pageByteCount = store.statistics.pageByteCount
  }

  /// The size, in bytes, of the keyspace with the given name, or 0 if it has no pages.
  subscript(name: String) -> Int { (pageCounts[name] ?? 0) * pageByteCount }
}
