/// A process that has a store open.
///
/// For people: what is told of a process ends with it, but nothing of it is certain where processes
/// do not see each other's numbers, as in containers.
public struct StoreHolder: Hashable, Sendable {
  /// The number of the process, as it sees itself.
  public var processID: Int32
  /// What it called itself by ``StoreOptions/name``, else the name of its program.
  ///
  /// `nil` if neither is known. Characters that a terminal would not show as they are have been
  /// replaced.
  public var name: String?
  /// Whether it has opened the store for reading only.
  public var isReadOnly: Bool
  /// How long ago it opened the store, by the wall clock; `nil` where not known, as of those that
  /// only read, who leave no trace in any file.
  public var age: Duration?
  /// Whether it is the process that asks.
  public var isThisProcess: Bool
}

/// Who uses a store: what the locks and the file `holders` tell at one moment.
struct HolderSurvey {
  private let own: HolderEntry
  private let marks: [HolderMark]
  private let rows: [HolderRow]
  private let now: UInt64

  init(files: StoreFiles, own: HolderEntry) {
    self.own = own
    marks = files.locks.marksElsewhere()
    rows = HolderFile(log: files.log, locks: files.locks).rows()
    now = files.fileSystem.wallClockMilliseconds
  }

  /// Every process that has the store open: this one first, the others by their number.
  func all() -> [StoreHolder] {
    let others = Set(marks.filter(\.isOpen).map(\.process)).subtracting([own.row.process])
    return [this] + others.sorted().map(holder)
  }

  /// The processes that hold a generation, in the same order.
  func holders(of generation: FrameNumber, isHeldHere: Bool) -> [StoreHolder] {
    let others = Set(
      marks.filter { $0 == .holding(generation, $0.process) }.map(\.process))
    let isHeldHere = isHeldHere || others.contains(own.row.process)
    return (isHeldHere ? [this] : [])
      + others.subtracting([own.row.process]).sorted().map(holder)
  }

  private var this: StoreHolder {
    StoreHolder(
      processID: own.row.process, name: VisibleText.of(own.row.name), isReadOnly: own.isReadOnly,
      age: age(since: own.row.opened), isThisProcess: true)
  }

  private func holder(_ process: Int32) -> StoreHolder {
    StoreHolder(
      processID: process, name: HolderFile.name(of: process, among: rows),
      isReadOnly: !marks.contains(.open(process, isReadOnly: false)),
      age: rows.first { $0.process == process }.map { age(since: $0.opened) },
      isThisProcess: false)
  }

  private func age(since time: UInt64) -> Duration {
    .milliseconds(now > time ? now - time : 0)
  }
}

extension Store {
  /// The processes that have the store open, this one first, where known.
  ///
  /// It is advice for people and never an error: who the system does not tell is missing.
  ///
  /// - Throws: `closed`, or `forked` in a child of the process that opened the store.
  /// - Complexity: No page is read; some questions about locks for each process and each generation
  ///   it holds, and one read of the file `holders`.
  public func holders() throws -> [StoreHolder] {
    try requireOpen()
    return HolderSurvey(files: files, own: core.holder).all()
  }
}
