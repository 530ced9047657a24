/// A live, pinned view of a store: one generation, the same for as long as it is held.
///
/// Its generation is locked until the last reference to the snapshot is gone, then given back by
/// itself. Reading never waits for a writer, and no writer waits for it. While it lives, the log
/// keeps what it needs; see `Docs/Caveats.md` on long-lived snapshots.
///
/// Thread-safe: any number of threads may read through one snapshot at once.
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

  // In a child by `fork`, the lock of the generation is the parent's to give back.
  deinit { if !origin.isInherited { table.unpin(entry) } }

  /// - Throws: `forked` in a child of the process that took the snapshot; `generationExpired` if
  ///   the store was suspended since.
  package func requireCurrent() throws(StorageError) { try state.view.requireCurrent() }

  /// Whether it was taken from the store with this table.
  package func belongs(to table: GenerationTable) -> Bool { self.table === table }

  /// The generation this snapshot shows.
  public var generation: Generation { Generation(frame: state.generation) }
}
