/// Options for creating, opening and maintaining a store.
public struct StoreOptions: Sendable {
  /// The durability of a commit when `write` returns.
  public enum Durability: Sendable {
    /// The commit survives a power cut.
    case full
    /// The commit survives the death of this process.
    ///
    /// A power cut may undo the newest commits. No commit is undone partially, and newer commits
    /// are undone first.
    case normal
  }

  /// The method used to read pages.
  public enum Access: Sendable {
    /// Files are mapped into memory, and pages are read in place.
    ///
    /// Mapping is faster if the files fit in memory. If the files do not fit, the system may read
    /// 32 pages for each page that is needed.
    case mapped
    /// Pages are read into a bounded cache and verified there.
    ///
    /// Nothing outside this process, not even a media error, can change a page after it has been
    /// verified. Use this mode for a store that does not fit in memory.
    case buffered
  }

  /// The page size of a new store in bytes.
  ///
  /// The size must be a power of two from 4096 to 65536. An existing store keeps the page size that
  /// it was created with. `Docs/DesignNotes/Experiments.md` contains the measurements behind the
  /// default.
  public var pageByteCount = 4096
  /// The durability of commits that do not specify one.
  public var durability = Durability.full
  /// The method used to read pages.
  ///
  /// An in-memory store always uses `.buffered`.
  public var access = Access.mapped
  /// A Boolean value that indicates whether to open the store for reading only.
  ///
  /// If the value is `true`, the store does not change any files, and writing throws an error.
  public var isReadOnly = false
  /// The permissions of a new store's files, such as 0o600, regardless of the process's umask.
  ///
  /// If opening also creates the store's directory, all users who may read the files can also list
  /// the directory.
  ///
  /// If `fileMode` is `nil`, the permissions are 0o644, modified by the umask. An existing store
  /// keeps its permissions: new files have the same permissions and group as the `pages` file.
  public var fileMode: UInt16?
  /// A name for this process, shown to users who list the holders of the store.
  ///
  /// Up to 216 bytes of the name are shown. If the name is `nil`, or if the process is read-only,
  /// the name of the program is shown instead.
  public var name: String?
  /// The maximum time that `write` waits for other writers before it throws `busy`.
  ///
  /// Other waits that can fail with `busy`, such as those in ``Store/suspend()``, have this limit
  /// too.
  public var busyTimeout = Duration.seconds(5)
  /// The size in bytes of the page cache for `.buffered` reading.
  public var cacheByteCount = 64 << 20
  /// The maximum size in bytes of the changed pages that a transaction keeps in memory.
  ///
  /// When a transaction exceeds this size, it writes changed pages to the log before the commit,
  /// and reads them back from the log if necessary. A transaction may therefore be larger than
  /// memory. A single operation may exceed the limit by the size of the pages that it changes.
  public var transactionMemoryByteCount = 64 << 20
  /// The length of the log, in bytes, at which a checkpoint runs automatically.
  ///
  /// The value 0 disables automatic checkpoints. If the value is `nil`, the store uses the length
  /// of the page file, but at least 16 MiB and at most 128 MiB. In a large store, a page that
  /// changes repeatedly is therefore written to the page file less often.
  public var checkpointLogByteCount: Int?
  /// A closure that the store calls on its background thread when an automatic checkpoint fails.
  ///
  /// If consecutive checkpoints fail with the same error, the error is reported only once. Writers
  /// continue, and the log grows until a checkpoint succeeds.
  ///
  /// If this closure is `nil`, the store writes a line to standard error. In every process that has
  /// the store open, ``StoreStatistics/lastCheckpointError`` also contains the error.
  public var checkpointDidFail: (@Sendable (StorageError) -> Void)?
  /// The number of bytes that can be written to the log before the store again reclaims frames that
  /// no generation needs.
  ///
  /// This limit applies only while older generations are held. If the pages retained for the held
  /// generations and the newest generation take up more space, that space is the limit instead.
  public var reclaimLogByteCount = 12 << 20
  /// The size of a new store's log segments in bytes.
  ///
  /// The size must be a power of two, and at least eight pages. An existing store keeps the segment
  /// size that it was created with.
  public var segmentByteCount = 4 << 20

  /// The thread that runs checkpoints and releases idle pins.
  package enum MaintenanceMode: Sendable {
    /// A background thread of the store.
    case background
    /// The thread that calls `write`.
    ///
    /// Maintenance is performed after each commit, which makes the behaviour deterministic.
    case inline
  }
  package var maintenance = MaintenanceMode.background

  /// The reason why a process opens a store for writing.
  package enum Role: Sendable {
    /// Writing to a store that is not a replica.
    case writer
    /// Adding the generations of a backup to a replica, or promoting the replica.
    case follower
  }
  package var role = Role.writer

  /// Creates the default options.
  public init() {}

  var busyMilliseconds: UInt64 { busyTimeout.milliseconds }
}

extension Duration {
  /// The duration in milliseconds, or 0 if it is negative.
  var milliseconds: UInt64 {
    let milliseconds = UInt64(clamping: max(components.seconds, 0)).multipliedReportingOverflow(
      by: 1000)
    return milliseconds.overflow
      ? .max / 2
      : milliseconds.partialValue + UInt64(max(components.attoseconds, 0) / 1_000_000_000_000_000)
  }
}
