/// A process that has a store open.
///
/// Use this information for display only. It is unreliable where processes cannot see each other's
/// PIDs, as in containers. Lists of holders do not include processes that have ended.
public struct StoreHolder: Hashable, Sendable {
  /// The PID of the process, as seen by the process itself.
  public var processID: Int32
  /// The ``StoreOptions/name`` of the process or, if that name is not set, the name of the program.
  ///
  /// The value is `nil` if neither name is known.
  ///
  /// Characters that are invisible or could garble a terminal's output are replaced by U+FFFD.
  public var name: String?
  /// A Boolean value that indicates whether the process has opened the store for reading only.
  public var isReadOnly: Bool
  /// The time that has passed since the process opened the store, according to the wall clock.
  ///
  /// The value is `nil` if the time is unknown. For example, it is unknown for other read-only
  /// processes, because they cannot record it in the `holders` file.
  public var age: Duration?
  /// A Boolean value that indicates whether the process is the calling process.
  public var isThisProcess: Bool
}

/// The processes that have a store open, according to the store's locks and `holders` file.
struct HolderSurvey {
  private let holderLocks: Set<HolderLock>
  private let own: StoreHolder
  /// The other processes that own a holder lock, sorted by PID.
  private let others: [StoreHolder]

  init(files: StoreFiles, own entry: HolderEntry) {
    let holderLocks = Set(files.locks.holderLocksElsewhere())
    let rows = HolderFile(log: files.log, locks: files.locks).rows()
    let now = files.fileSystem.wallClockMilliseconds
    func age(_ row: HolderRow) -> Duration {
      .milliseconds(now > row.opened ? now - row.opened : 0)
    }
    let processes = Set(holderLocks.map(\.process)).subtracting([entry.row.process])
    self.holderLocks = holderLocks
    own = StoreHolder(
      processID: entry.row.process, name: VisibleText.of(entry.row.name),
      isReadOnly: entry.isReadOnly, age: age(entry.row), isThisProcess: true)
    others = processes.sorted().map { process in
      StoreHolder(
        processID: process, name: HolderFile.name(of: process, among: rows),
        isReadOnly: !holderLocks.contains(.open(process, isReadOnly: false)),
        age: rows.first { $0.process == process }.map(age), isThisProcess: false)
    }
  }

  /// Returns this process, followed by the other processes that have the store open, sorted by PID.
  func all() -> [StoreHolder] {
    [own]
      + others.filter { holder in
        [false, true].contains { holderLocks.contains(.open(holder.processID, isReadOnly: $0)) }
      }
  }

  /// Returns the processes that hold a generation, in the same order as ``all()``.
  func holders(of generation: FrameNumber, isHeldHere: Bool) -> [StoreHolder] {
    func holds(_ holder: StoreHolder) -> Bool {
      holderLocks.contains(.holding(generation, holder.processID))
    }
    // Check the lock too, because another `Store` object in this process may hold the generation.
    return (isHeldHere || holds(own) ? [own] : []) + others.filter(holds)
  }
}

extension Store {
  /// Returns the processes that are known to have the store open, starting with this process.
  ///
  /// The list does not include processes that the operating system hides from this process.
  ///
  /// - Throws: `closed`, `suspended`, or `forked` in a child of the process that opened the store.
  /// - Complexity: A few lock queries for each process and each generation that the process holds,
  ///   and one read of the `holders` file. Reads no page.
  public func holders() throws -> [StoreHolder] {
    try requireOpen()
    try table.requireActive()
    return HolderSurvey(files: files, own: core.holder).all()
  }
}
