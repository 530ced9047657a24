/// How a store is made, opened and kept.
public struct StoreOptions: Sendable {
  /// What a commit promises when `write` returns.
  public enum Durability: Sendable {
    /// It survives a power cut.
    case full
    /// It survives the death of this process. A power cut may take back the newest commits, each
    /// one whole, from the end.
    case normal
  }

  /// How pages are read.
  public enum Access: Sendable {
    /// Files are mapped and pages are used where they lie: the fastest way.
    case mapped
    /// Pages are read into a bounded cache and verified there: nothing outside this process can
    /// disturb a reader, media errors included.
    case buffered
  }

  /// Bytes in a page: a power of two from 4096 to 65536, fixed when the store is made.
  ///
  /// An existing store keeps the size it was made with. `Docs/Performance.md` has the measurements
  /// behind the default.
  public var pageSize = 4096
  /// What commits promise unless they say otherwise.
  public var durability = Durability.full
  /// How pages are read; in-memory stores are always buffered.
  public var access = Access.mapped
  /// Opens for reading only: nothing is written, and writing throws.
  public var readOnly = false
  /// The permissions of a new store's files, such as 0o600, whatever the process masks; its
  /// directory, if that is made too, can be listed by those who may read the files.
  ///
  /// `nil` stands for 0o644, less what the process masks. An existing store keeps what it has: new
  /// files take the permissions and the group of the file `pages`.
  public var fileMode: UInt16?
  /// A name for this opener, shown to people who ask who uses the store.
  ///
  /// They see up to 216 bytes of it. If it is `nil`, and for who opens for reading only, they see
  /// the name of the program.
  public var name: String?
  /// How long `write` waits for other writers before it throws `busy`.
  public var busyTimeout = Duration.seconds(5)
  /// Bytes of pages `.buffered` reading keeps in memory.
  public var cacheByteCount = 64 << 20
  /// Bytes of changed pages a transaction keeps in memory.
  ///
  /// What goes beyond is written to the log before the commit and read back from there, so that a
  /// transaction may be larger than memory. One operation may exceed it by the pages it changes.
  public var transactionMemoryByteCount = 64 << 20
  /// Bytes of log after which a checkpoint runs by itself; 0 for never.
  public var checkpointLogByteCount = 16 << 20
  /// Called by the store's own thread when an automatic checkpoint has failed, once for each reason
  /// in a row.
  ///
  /// Writers continue, and the log grows until a checkpoint succeeds.
  ///
  /// `nil` writes a line to the standard error. ``StoreStatistics/lastCheckpointError`` has the
  /// reason too, in every process that has the store open.
  public var checkpointDidFail: (@Sendable (StorageError) -> Void)?
  /// Bytes of log, written while older generations are held, after which what none of them can read
  /// is given back to the file system; more where they hold more than eight times as much.
  public var reclaimLogByteCount = 1536 << 10
  /// Bytes in a log segment, fixed when the store is made; at least eight pages, a power of two.
  public var segmentByteCount = 4 << 20

  /// Who runs checkpoints and lets go of idle pins.
  package enum Upkeep: Sendable {
    /// A thread of the store's own.
    case background
    /// The caller of `write`, after its commit: for stores that must behave the same every time.
    case inline
  }
  package var upkeep = Upkeep.background

  /// The defaults.
  public init() {}

  var busyMilliseconds: UInt64 {
    let parts = busyTimeout.components
    let whole = UInt64(clamping: max(parts.seconds, 0)).multipliedReportingOverflow(by: 1000)
    return whole.overflow
      ? .max / 2 : whole.partialValue + UInt64(max(parts.attoseconds, 0) / 1_000_000_000_000_000)
  }
}
