package import HeartwoodEngine

/// Simulates a disk, its page cache and the operating system above them, for tests of crashes and
/// errors.
///
/// A read returns the newest bytes. The state after a power cut depends on the syncs and, for all
/// unsynced changes, on a ``CrashChoice``. Every call that changes something is numbered, and a
/// ``FaultPlan`` can make any of these calls fail. Random numbers and the time depend only on the
/// seed, so the same seed and the same calls produce the same disk.
///
/// Files can be renamed only within their directory. Stores to mapped memory are not counted as
/// calls.
///
/// - Note: `@unchecked` because all mutable state is accessed under `lock`, except the plan and the
///   hooks, which belong to the thread that runs the test.
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
  /// The content at the time of the power cut.
  ///
  /// A copy is necessary because the code under test can still change shared memory after the cut.
  private var contentAtPowerCut: DiskContent?

  package let bootIdentity: UInt64?

  /// The planned faults, which may be changed at any time.
  package var faultPlan: FaultPlan
  /// Called before a hole is punched; the hook may read the disk.
  package var onPunch: ((_ path: String, _ range: Range<UInt64>) -> Void)?
  /// The maximum length of a file; extending a file beyond it fails as if the disk were full.
  package var fileByteCountLimit = Int.max
  /// The maximum total length of all files that have a name.
  package var byteCountLimit = Int.max
  /// The type of volume that the disk reports.
  package var volume = VolumeType.memory
  /// The defect in the simulated file locks, or `nil` if they work correctly.
  package var lockFault: LockFault?
  package var canPunch = true
  /// A function that returns whether a sync of the given file or directory reports success without
  /// syncing anything.
  package var liesAboutSync: ((_ path: String) -> Bool)?
  /// A function that returns the wall-clock time in milliseconds, or `nil` to use the default
  /// clock, which advances by one millisecond with each reading.
  package var clock: (() -> UInt64)?
  /// Called before a write takes effect; the hook may read the disk.
  package var onWrite: ((_ path: String, _ offset: UInt64, _ byteCount: Int) -> Void)?

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

  /// A defect in a file system's locks.
  package enum LockFault: Hashable, Sendable {
    /// Calls that set or release a lock fail with an error of this kind.
    case failure(StorageError.Kind)
    /// The locks of a process are invisible to other processes.
    case unseen
    /// Closing any descriptor of a file releases all locks on the file, as with POSIX locks, which
    /// belong to a process.
    case lostWhenClosed
  }

  // MARK: State for tests

  /// The error thrown by every call after the power cut.
  package static let powerIsOff = StorageError(.io, "The simulated machine has lost power.")

  /// The kinds of all numbered calls; the kind of call *n* is at index *n* - 1.
  package var calls: [FaultPlan.CallKind] { lock.withLock { history } }
  /// The number of calls that have been numbered so far.
  package var callCount: Int { lock.withLock { history.count } }
  package var openFileCount: Int { lock.withLock { openCounts.count } }

  /// The number of attempts to open a file so far.
  package var openCount: Int { lock.withLock { opens } }
  /// The number of reads so far.
  package var readCount: Int { lock.withLock { reads } }
  package var hasLostPower: Bool { lock.withLock { isPowerOff } }

  /// A Boolean value that indicates whether calls are logged as text.
  ///
  /// Logging is off by default, because it hashes all written bytes.
  package var keepsLog: Bool {
    get { lock.withLock { log.isOn } }
    set { lock.withLock { log.isOn = newValue } }
  }
  /// The logged calls, each as a line of text.
  package var operationLog: [String] { lock.withLock { log.lines } }
  /// A hash of the log; runs with equal hashes made the same calls.
  package var operationHash: UInt64 { lock.withLock { log.hash } }

  /// Returns whether the current bytes in `byteRange` of a file, and the name of the file, survive
  /// every crash.
  package func isDurable(_ path: String, _ byteRange: Range<Int>) -> Bool {
    lock.withLock {
      let location = MemoryPath(path)
      return content.isNameDurable(location)
        && content.file(at: location)?.isDurable(byteRange) == true
    }
  }

  /// Returns whether a name, and the file or directory it refers to, survives every crash.
  package func isNameDurable(_ path: String) -> Bool {
    lock.withLock { content.isNameDurable(MemoryPath(path)) }
  }

  /// The total length of all files that have a name.
  package var usedByteCount: Int { lock.withLock { content.namedByteCount } }

  /// Returns all bytes of a file, or `nil` if it does not exist.
  ///
  /// Reading the bytes is not a numbered call, and cannot fail.
  package func bytes(of path: String) -> [UInt8]? {
    lock.withLock {
      content.file(at: MemoryPath(path)).map { $0.newest.bytes(0..<$0.newest.count) }
    }
  }

  // MARK: Crashes

  /// Returns the disk after a power cut, without locks or faults and with a new boot identity.
  package func crashed(_ choice: CrashChoice) -> SimulatedDisk {
    lock.withLock { rebooted(content.crashed(choice)) }
  }

  /// Returns all states of the disk that a power cut can leave, or `nil` if there are more than
  /// `limit` of them.
  ///
  /// Writes are kept either completely or not at all, and changes to names are kept in order.
  ///
  /// A write that extends the file is treated as two changes, one to its bytes and one to its
  /// length.
  package func exhaustiveCrashes(limit: Int) -> [SimulatedDisk]? {
    lock.withLock { content.exhaustiveCrashes(limit: limit)?.map { rebooted($0) } }
  }

  /// Returns the disk as it is after this process has died.
  ///
  /// If the power was cut, the process is assumed to have died at that moment. Only the locks of
  /// the process are lost.
  package func killed() -> SimulatedDisk {
    lock.withLock {
      SimulatedDisk(
        (contentAtPowerCut ?? content).afterProcessDeath(), generator, milliseconds: milliseconds,
        boot: bootIdentity)
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
        throw .unchanged(.io, "Injected failure of open call \(opens).", file: path, errno: 24)
      }
      let location = MemoryPath(path)
      let number: Int
      switch content.entry(at: location) {
      case .directory:
        throw StorageError(
          .notAStore, "This is not a regular file. Check the path of the store.", file: path)
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
      // Sort the names, because the order of a dictionary differs from run to run.
      return content.directories[location]?.newest.keys.sorted()
    }
  }

  package func remove(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let location = MemoryPath(path)
      guard let entry = content.entry(at: location) else { return }
      guard entry != .directory else { throw MemoryPath.isNoFile("remove the file", path) }
      try change(.remove, path) { $0.remove(location, entry) }
    }
  }

  package func removeDirectory(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let location = MemoryPath(path)
      guard content.entry(at: location) != nil else { return }
      guard content.directories[location]?.newest.isEmpty == true else {
        throw MemoryPath.isTaken(path)
      }
      try change(.remove, path) { $0.remove(location, .directory) }
    }
  }

  package func rename(_ source: String, to target: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let (old, new) = (MemoryPath(source), MemoryPath(target))
      precondition(old.parent == new.parent, "only renames within a directory are simulated")
      guard let entry = content.entry(at: old) else {
        throw MemoryPath.isNoFile("rename the file", source)
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

  /// The time of the wall clock, which by default advances by one millisecond with each reading.
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

  /// Numbers and logs a call, and then executes it or makes it fail as planned.
  ///
  /// - Parameter partly: A function that applies the partial effect of a call that fails or is
  ///   interrupted by the power cut. Calls that change names pass `nil`. At a power cut, they can
  ///   take effect completely, because the crash decides whether the change is kept.
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
      contentAtPowerCut = content.afterProcessDeath()
      throw Self.powerIsOff
    case .failure(let errorKind):
      throw StorageError(
        errorKind, "Injected failure of call \(history.count) (\(kind.rawValue)).", file: path,
        errno: errorKind == .diskFull ? 28 : 5)
    }
  }
}
