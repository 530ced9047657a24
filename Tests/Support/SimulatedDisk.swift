package import HeartwoodEngine

/// A disk, its page cache and the operating system above them, for tests of crashes and errors.
///
/// Reads see what was written last. What a power cut leaves is another matter: it depends on what
/// was synced, and of the rest on a ``CrashChoice``. Every call that changes something is numbered,
/// and a ``FaultPlan`` can make one of them go wrong. Chance and time come from the seed, so that
/// the same seed and the same calls give the same disk.
///
/// Renames stay within one directory, and stores to mapped memory are no calls.
///
/// - Note: `@unchecked` because everything that changes is used under `lock` only, except the plan
///   and the hooks, which belong to the one thread that runs the test.
package final class SimulatedDisk: FileSystem, @unchecked Sendable {
  let lock = Lock()
  var content: DiskContent
  private var generator: SeededGenerator
  private var faultGenerator: SeededGenerator
  private var milliseconds: UInt64
  var openCounts: [Int: Int] = [:]
  var locks: [Int: RangeLocks] = [:]
  private var log = OperationLog()
  private var history: [FaultPlan.CallKind] = []
  var reads = 0
  private var opens = 0
  private var isPowerOff = false

  package let bootIdentity: UInt64?

  /// What goes wrong; may be changed at any time.
  package var faultPlan: FaultPlan
  /// Called before each hole is made; the disk may be asked about its state then.
  package var onPunch: ((_ path: String, _ range: Range<UInt64>) -> Void)?
  /// Bytes a file can have; a longer one needs more than the disk has.
  package var fileByteCountLimit = Int.max
  /// Bytes all files that have a name can have together, counted by their lengths.
  package var byteCountLimit = Int.max
  /// The type of the volume it says to be.
  package var volume = VolumeType.memory
  /// What is wrong with locks, if something is.
  package var lockFault: LockFault?
  /// Whether files can have holes made in them.
  package var canPunch = true
  /// Says of a file or directory that its syncs report success and do nothing.
  package var liesAboutSync: ((_ path: String) -> Bool)?
  /// The wall clock, in place of one that ticks.
  package var clock: (() -> UInt64)?
  /// Called before each write takes effect; the disk may be asked about its state then.
  package var onWrite: ((_ path: String, _ offset: UInt64, _ byteCount: Int) -> Void)?

  /// An empty disk.
  package convenience init(seed: UInt64 = 1, faultPlan: FaultPlan = FaultPlan()) {
    self.init(
      DiskContent(), SeededGenerator(seed: seed), milliseconds: 1_750_000_000_000, boot: nil,
      faultPlan)
  }

  private init(
    _ content: DiskContent, _ generator: SeededGenerator, milliseconds: UInt64, boot: UInt64?,
    _ faultPlan: FaultPlan = FaultPlan()
  ) {
    var generator = generator
    self.content = content
    self.milliseconds = milliseconds
    self.faultPlan = faultPlan
    faultGenerator = generator.forked()
    bootIdentity = boot ?? generator.next()
    self.generator = generator
  }

  /// What can be wrong with the locks of a file system.
  package enum LockFault: Hashable, Sendable {
    /// Calls fail with this kind of error.
    case failure(StorageError.Kind)
    /// Nobody sees the locks of another.
    case unseen
    /// They go when any opening of their file is closed, as those of processes do.
    case lostWhenClosed
  }

  // MARK: What tests ask

  /// The error of every call once the power is off.
  package static let powerIsOff = StorageError(.io, "The simulated power is off.")

  /// The kinds of all numbered calls; that of call *n* is at *n* - 1.
  package var calls: [FaultPlan.CallKind] { lock.withLock { history } }
  /// How many calls were numbered.
  package var callCount: Int { lock.withLock { history.count } }
  /// How many times a file was opened, or asked for.
  package var openCount: Int { lock.withLock { opens } }
  /// How many reads there were.
  package var readCount: Int { lock.withLock { reads } }
  /// Whether the plan has switched the power off.
  package var hasLostPower: Bool { lock.withLock { isPowerOff } }

  /// Whether the calls are logged as text; off by default, as it hashes all that is written.
  package var keepsLog: Bool {
    get { lock.withLock { log.isOn } }
    set { lock.withLock { log.isOn = newValue } }
  }
  /// The numbered calls as lines of text.
  package var operationLog: [String] { lock.withLock { log.lines } }
  /// A hash of the log: two runs with the same hash did the same.
  package var operationHash: UInt64 { lock.withLock { log.hash } }

  /// Whether every crash leaves the newest bytes in `byteRange` of a file, and the file's name.
  package func isDurable(_ path: String, _ byteRange: Range<Int>) -> Bool {
    lock.withLock {
      let location = MemoryPath(path)
      return content.isNameDurable(location)
        && content.file(at: location)?.isDurable(byteRange) == true
    }
  }

  /// Whether every crash leaves this name, for what it stands for now.
  package func isNameDurable(_ path: String) -> Bool {
    lock.withLock { content.isNameDurable(MemoryPath(path)) }
  }

  /// Bytes all files that have a name have together.
  package var usedByteCount: Int { lock.withLock { content.namedByteCount } }

  /// All bytes of a file, as no numbered call and without faults; `nil` if there is none.
  package func bytes(of path: String) -> [UInt8]? {
    lock.withLock {
      content.file(at: MemoryPath(path)).map { $0.newest.bytes(0..<$0.newest.count) }
    }
  }

  // MARK: Crashes

  /// The disk after a power cut: without locks, without faults, and with another boot identity.
  package func crashed(_ choice: CrashChoice) -> SimulatedDisk {
    lock.withLock { rebooted(content.crashed(choice)) }
  }

  /// The disk after each power cut that is possible now, if writes are kept as wholes and names in
  /// order; `nil` if there are more than `limit`.
  ///
  /// A write that made the file longer counts twice: its bytes and the length.
  package func exhaustiveCrashes(limit: Int) -> [SimulatedDisk]? {
    lock.withLock { content.exhaustiveCrashes(limit: limit)?.map { rebooted($0) } }
  }

  /// The disk after the death of the process: nothing but its locks is lost.
  package func killed() -> SimulatedDisk {
    lock.withLock {
      SimulatedDisk(
        content.afterProcessDeath(), generator, milliseconds: milliseconds, boot: bootIdentity)
    }
  }

  private func rebooted(_ content: DiskContent) -> SimulatedDisk {
    SimulatedDisk(content, generator, milliseconds: milliseconds, boot: nil)
  }

  // MARK: Names

  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      opens += 1
      if opens == faultPlan.failingOpen {
        throw .unchanged(.io, "Open \(opens) fails by plan.", file: path, errno: 24)
      }
      let location = MemoryPath(path)
      let number: Int
      switch content.entry(at: location) {
      case .directory:
        throw StorageError(.notAStore, "This is not a regular file.", file: path)
      case .file(let existing):
        number = existing
      case nil where access == .create:
        try requireDirectory(location.parent, for: path)
        number = try change(.create, path) { $0.createFile(location) }
      case nil:
        if case .file = content.entry(at: location.parent) { throw MemoryPath.isNoDirectory(path) }
        return nil
      }
      openCounts[number, default: 0] += 1
      return SimulatedFile(self, number: number, path: path, isWritable: access != .read)
    }
  }

  package func createDirectory(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let location = MemoryPath(path)
      switch content.entry(at: location) {
      case .directory: return
      case .file: throw MemoryPath.isNoDirectory(path)
      case nil:
        try requireDirectory(location.parent, for: path)
        try change(.createDirectory, path) { $0.createDirectory(location) }
      }
    }
  }

  package func list(_ path: String) throws(StorageError) -> [String]? {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let location = MemoryPath(path)
      let entry = content.entry(at: location)
      if case .file = entry { throw MemoryPath.isNoDirectory(path) }
      guard entry == .directory else { return nil }
      // Sorted, because the order of a dictionary differs from run to run.
      return content.directories[location]?.newest.keys.sorted()
    }
  }

  package func remove(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let location = MemoryPath(path)
      guard let entry = content.entry(at: location) else { return }
      guard entry != .directory else { throw MemoryPath.isNoFile("remove", path) }
      try change(.remove, path) { $0.remove(location, entry) }
    }
  }

  package func rename(_ source: String, to target: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let (old, new) = (MemoryPath(source), MemoryPath(target))
      precondition(old.parent == new.parent, "the simulated disk renames within one directory")
      guard let entry = content.entry(at: old) else {
        throw MemoryPath.isNoFile("rename", source)
      }
      let replaced = content.entry(at: new)
      guard replaced != .directory, entry != .directory || replaced == nil else {
        throw MemoryPath.isNoFile("replace", target)
      }
      try change(.rename, source, "to \(target)") { $0.rename(old, to: new.name, entry) }
    }
  }

  package func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      return content.entry(at: MemoryPath(path)) == .directory ? volume : nil
    }
  }

  package func syncDirectory(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let location = MemoryPath(path)
      try requireDirectory(location, for: path)
      let openFiles = Set(openCounts.keys)
      let lies = liesAboutSync?(path) ?? false
      try change(.syncDirectory, path, partly: { _, _, _ in }) {
        if !lies { $0.syncDirectory(location, openFiles: openFiles) }
      }
    }
  }

  /// Ticks by one with each look.
  package var wallClockMilliseconds: UInt64 {
    lock.withLock {
      milliseconds += 1
      return clock?() ?? milliseconds
    }
  }

  package func random() -> UInt64 { lock.withLock { generator.next() } }

  func requirePower() throws(StorageError) {
    if isPowerOff { throw Self.powerIsOff }
  }

  private func requireDirectory(_ location: MemoryPath, for path: String) throws(StorageError) {
    switch content.entry(at: location) {
    case .directory: return
    case .file: throw MemoryPath.isNoDirectory(path)
    case nil: throw MemoryPath.missingDirectory(path)
    }
  }

  // MARK: Numbered calls

  /// Numbers a call, logs it, and makes it happen or go wrong as the plan says.
  ///
  /// `partly` is what a call does that is cut off or fails; without it, it is the whole call when
  /// the power goes off, since a crash decides anyway whether a change of names is kept.
  func change<Result>(
    _ kind: FaultPlan.CallKind, _ path: String, _ detail: @autoclosure () -> String = "",
    partly: ((inout DiskContent, inout SeededGenerator, FaultPlan.Outcome) -> Void)? = nil,
    _ wholly: (inout DiskContent) -> Result
  ) throws(StorageError) -> Result {
    history.append(kind)
    let outcome = faultPlan.outcome(ofCall: history.count, kind)
    log.append("\(history.count) \(kind.rawValue) \(path) \(detail())", outcome)
    guard let outcome else { return wholly(&content) }
    if let partly {
      partly(&content, &faultGenerator, outcome)
    } else if outcome == .powerOff, faultPlan.leavesPart {
      _ = wholly(&content)
    }
    switch outcome {
    case .powerOff:
      isPowerOff = true
      throw Self.powerIsOff
    case .failure(let errorKind):
      throw StorageError(
        errorKind, "Call \(history.count) (\(kind.rawValue)) fails by plan.", file: path,
        errno: errorKind == .diskFull ? 28 : 5)
    }
  }
}
