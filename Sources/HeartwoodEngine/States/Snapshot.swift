/// A pinned, unchanging view of one generation of a store.
///
/// The generation is locked while the snapshot exists, and is released when the last reference to
/// the snapshot is released. While a snapshot exists, the log keeps the frames that the snapshot
/// needs. See `Docs/Guides/Caveats.md` for the effects of long-lived snapshots.
///
/// Snapshots are thread-safe: any number of threads may read through one snapshot concurrently.
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

  // Do not unpin the generation in a child process created by `fork`: the lock belongs to the
  // parent.
  deinit { if !origin.isInherited { table.unpin(entry) } }

  /// Throws an error if the snapshot can no longer be used.
  ///
  /// - Throws: `forked` in a child of the process that took the snapshot, or `generationExpired` if
  ///   the store has been suspended since the snapshot was taken.
  package func requireCurrent() throws(StorageError) { try state.view.requireCurrent() }
  package func belongs(to table: GenerationTable) -> Bool { self.table === table }

  /// The generation of this snapshot.
  public var generation: Generation { Generation(frame: state.generation) }
}
