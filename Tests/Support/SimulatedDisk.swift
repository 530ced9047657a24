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
  private let lock = Lock()
  private var content: DiskContent
  private var generator: SeededGenerator
  private var faultGenerator: SeededGenerator
  private var milliseconds: UInt64
  private var openCounts: [Int: Int] = [:]
  private var locks: [Int: RangeLocks] = [:]
  private var log = OperationLog()
  private var history: [FaultPlan.CallKind] = []
  private var reads = 0
  private var isPowerOff = false

  package let bootIdentity: UInt64?

  /// What goes wrong; may be changed at any time.
  package var faultPlan: FaultPlan
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

  // MARK: What tests ask

  /// The error of every call once the power is off.
  package static let powerIsOff = StorageError(.io, "The simulated power is off.")

  /// The kinds of all numbered calls; that of call *n* is at *n* - 1.
  package var calls: [FaultPlan.CallKind] { lock.withLock { history } }
  /// How many calls were numbered.
  package var callCount: Int { lock.withLock { history.count } }
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
      let place = MemoryPath(path)
      return content.isNameDurable(place)
        && content.file(at: place)?.isDurable(byteRange) == true
    }
  }

  /// Whether every crash leaves this name, for what it stands for now.
  package func isNameDurable(_ path: String) -> Bool {
    lock.withLock { content.isNameDurable(MemoryPath(path)) }
  }

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
      let place = MemoryPath(path)
      let number: Int
      switch content.entry(at: place) {
      case .directory:
        throw StorageError(.notAStore, "This is no regular file.", file: path)
      case .file(let existing):
        number = existing
      case nil where access == .create:
        try requireDirectory(place.parent, for: path)
        number = try change(.create, path) { $0.createFile(place) }
      case nil:
        if case .file = content.entry(at: place.parent) { throw MemoryPath.isNoDirectory(path) }
        return nil
      }
      openCounts[number, default: 0] += 1
      return SimulatedFile(self, number: number, path: path, isWritable: access != .read)
    }
  }

  package func createDirectory(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let place = MemoryPath(path)
      switch content.entry(at: place) {
      case .directory: return
      case .file: throw MemoryPath.isNoDirectory(path)
      case nil:
        try requireDirectory(place.parent, for: path)
        try change(.createDirectory, path) { $0.createDirectory(place) }
      }
    }
  }

  package func list(_ path: String) throws(StorageError) -> [String]? {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let place = MemoryPath(path)
      if case .file = content.entry(at: place) { throw MemoryPath.isNoDirectory(path) }
      // Sorted, because the order of a dictionary differs from run to run.
      return content.directories[place]?.newest.keys.sorted()
    }
  }

  package func remove(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let place = MemoryPath(path)
      guard let entry = content.entry(at: place) else { return }
      guard entry != .directory else { throw MemoryPath.isNoFile("remove", path) }
      try change(.remove, path) { $0.remove(place, entry) }
    }
  }

  package func rename(_ source: String, to target: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let (old, new) = (MemoryPath(source), MemoryPath(target))
      precondition(old.parent == new.parent, "the simulated disk renames within one directory")
      guard let entry = content.entry(at: old), entry != .directory else {
        throw MemoryPath.isNoFile("rename", source)
      }
      guard content.entry(at: new) != .directory else {
        throw MemoryPath.isNoFile("replace", target)
      }
      try change(.rename, source, "to \(target)") { $0.rename(old, to: new.name, entry) }
    }
  }

  package func syncDirectory(_ path: String) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let place = MemoryPath(path)
      try requireDirectory(place, for: path)
      let openFiles = Set(openCounts.keys)
      try change(.syncDirectory, path, partly: { _, _, _ in }) {
        $0.syncDirectory(place, openFiles: openFiles)
      }
    }
  }

  /// Ticks by one with each look.
  package var wallClockMilliseconds: UInt64 {
    lock.withLock {
      milliseconds += 1
      return milliseconds
    }
  }

  package func random() -> UInt64 { lock.withLock { generator.next() } }

  private func requirePower() throws(StorageError) {
    if isPowerOff { throw Self.powerIsOff }
  }

  private func requireDirectory(_ place: MemoryPath, for path: String) throws(StorageError) {
    switch content.entry(at: place) {
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
  private func change<Result>(
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
        errno: errorKind == .full ? 28 : 5)
    }
  }
}

// MARK: - Calls of open files

extension SimulatedDisk {
  func read(_ file: SimulatedFile, _ target: MutableBytes, at offset: UInt64)
    throws(StorageError) -> Int
  {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      reads += 1
      if reads == faultPlan.failingRead {
        throw StorageError(.io, "Read \(reads) fails by plan.", file: file.path, errno: 5)
      }
      return content.files[file.number]?.newest.read(into: target, at: Int(offset)) ?? 0
    }
  }

  func write(_ file: SimulatedFile, _ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    let source = parts.flatMap { $0.copied() }
    onWrite?(file.path, offset, source.count)
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let leavesPart = faultPlan.leavesPart
      try source.withBytes { (bytes) throws(StorageError) in
        try change(
          .write, file.path, "\(offset)+\(bytes.count) \(OperationLog.hash(bytes))",
          partly: { content, generator, outcome in
            guard leavesPart, bytes.count > 0 else { return }
            if outcome == .powerOff {
              content.writeInPart(bytes, to: file.number, at: Int(offset)) {
                generator.isTrue(in256: 128)
              }
            } else {
              let prefix = bytes.slice(0, generator.below(bytes.count))
              content.write(prefix, to: file.number, at: Int(offset))
            }
          },
          { $0.write(bytes, to: file.number, at: Int(offset)) })
      }
    }
  }

  func byteCount(_ file: SimulatedFile) throws(StorageError) -> UInt64 {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      return UInt64(content.files[file.number]?.newest.count ?? 0)
    }
  }

  func setByteCount(_ file: SimulatedFile, _ count: UInt64) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      try change(.setByteCount, file.path, "\(count)") {
        $0.setByteCount(Int(count), of: file.number)
      }
    }
  }

  func sync(_ file: SimulatedFile) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      let drops = faultPlan.dropsUnsynced
      try change(
        .sync, file.path,
        partly: { content, _, outcome in
          if drops, outcome != .powerOff { content.dropUnsynced(file.number) }
        },
        { $0.sync(file.number) })
    }
  }

  func mapShared(_ file: SimulatedFile, _ byteCount: Int) throws(StorageError) -> Mapping {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      guard let memory = content.share(file.number, byteCount) else {
        throw StorageError(.io, "Cannot map: the file is shorter than that.", file: file.path)
      }
      return Mapping(memory.bytes.slice(0, byteCount)) { _ in withExtendedLifetime(memory) {} }
    }
  }

  func lock(_ file: SimulatedFile, _ kind: LockKind, _ range: Range<UInt64>)
    throws(StorageError) -> Bool
  {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      return locks[file.number, default: RangeLocks()]
        .set(kind, range, owner: ObjectIdentifier(file))
    }
  }

  func lockedByOthers(_ file: SimulatedFile, in range: Range<UInt64>)
    throws(StorageError) -> Range<UInt64>?
  {
    try lock.withLock { () throws(StorageError) in
      try requirePower()
      return locks[file.number]?.lockedByOthers(than: ObjectIdentifier(file), in: range)
    }
  }

  /// The last reference to an open file is gone: its locks go, and the file if it has no name.
  func close(number: Int, owner: ObjectIdentifier) {
    lock.withLock {
      locks[number]?.releaseAll(of: owner)
      let count = openCounts[number, default: 1] - 1
      openCounts[number] = count == 0 ? nil : count
    }
  }
}
