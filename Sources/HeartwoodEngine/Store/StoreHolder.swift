/// A process that has a store open.
///
/// For display only: the information about a process ends with it, but it is unreliable where
/// processes do not see each other's PIDs, as in containers.
public struct StoreHolder: Hashable, Sendable {
  /// The PID, as the process itself sees it.
  public var processID: Int32
  /// Its ``StoreOptions/name``, else the name of its program.
  ///
  /// `nil` if neither is known. Characters that could disturb a terminal are replaced.
  public var name: String?
  /// Whether it has opened the store for reading only.
  public var isReadOnly: Bool
  /// The time since it opened the store, by the wall clock; `nil` if unknown, as for read-only
  /// processes, which leave no trace in any file.
  public var age: Duration?
  /// Whether it is the calling process.
  public var isThisProcess: Bool
}

/// The users of a store, from the locks and the file `holders` at one moment.
struct HolderSurvey {
  private let holderLocks: Set<HolderLock>
  /// This process.
  private let own: StoreHolder
  /// The others that have set a holder lock, by PID.
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

  /// Returns every process that has the store open: this one first, the others by PID.
  func all() -> [StoreHolder] {
    [own]
      + others.filter { holder in
        [false, true].contains { holderLocks.contains(.open(holder.processID, isReadOnly: $0)) }
      }
  }

  /// Returns the processes that hold a generation, in the same order.
  func holders(of generation: FrameNumber, isHeldHere: Bool) -> [StoreHolder] {
    func holds(_ holder: StoreHolder) -> Bool {
      holderLocks.contains(.holding(generation, holder.processID))
    }
    // Another opening of this process may hold it too.
    return (isHeldHere || holds(own) ? [own] : []) + others.filter(holds)
  }
}

extension Store {
  /// Returns the processes that have the store open, this one first, where known.
  ///
  /// It is information for users and never an error: processes that the system does not reveal are
  /// missing.
  ///
  /// - Throws: `closed`; `suspended`; `forked` in a child of the process that opened the store.
  /// - Complexity: No page is read; some lock queries for each process and each generation it
  ///   holds, and one read of the file `holders`.
  public func holders() throws -> [StoreHolder] {
    try requireOpen()
    try table.requireActive()
    return HolderSurvey(files: files, own: core.holder).all()
  }
}
