/// A live, pinned view of a store: one generation, unchanged for as long as it is held.
///
/// Its generation is locked until the last reference to the snapshot is gone, and then released
/// automatically. Readers never wait for writers, and writers never wait for readers. While a
/// snapshot lives, the log keeps the frames it needs; see `Docs/Guides/Caveats.md` on long-lived
/// snapshots.
///
/// Thread-safe: any number of threads may read through one snapshot concurrently.
public final class Snapshot: Sendable {
  package let state: GenerationState
  private let entry: LiveEntry
  private let table: GenerationTable
  private let origin = ProcessOrigin()

  package init(_ pin: Pin, table: GenerationTable) {
    state = pin.state
    entry = pin.entry
    self.table = table
  }

  // In a child made by `fork`, the lock of the generation belongs to the parent.
  deinit { if !origin.isInherited { table.unpin(entry) } }

  /// - Throws: `forked` in a child of the process that took the snapshot; `generationExpired` if
  ///   the store was suspended since.
  package func requireCurrent() throws(StorageError) { try state.view.requireCurrent() }

  /// Returns whether it was taken from the store with this table.
  package func belongs(to table: GenerationTable) -> Bool { self.table === table }

  /// The generation of this snapshot.
  public var generation: Generation { Generation(frame: state.generation) }
}
