package import HeartwoodEngine

/// The file system as seen by one participant in a schedule.
///
/// All participants share the wrapped file system. Each call is a step of the schedule, and so is
/// each access to a shared counter. A participant maps its own copy of the counters, which is
/// synchronised with the shared memory whenever the turn passes to another participant. A killed
/// process can therefore unwind without visible effects.
package final class ScheduledProcess: FileSystem, @unchecked Sendable {
  // @unchecked because only the thread whose turn it is uses the variables.
  private let inner: any FileSystem
  private var schedule: Schedule?
  private var number = 0
  private var isDead = false
  /// The number of steps taken without a schedule.
  private var ownStepCount = 0
  private var openFiles: [(any File)] = []
  private var sharedCounters: [FileIdentity: SharedCopy] = [:]

  private struct SharedCopy {
    let original: Mapping
    let copy: ByteBlock
  }

  package init(_ inner: any FileSystem) { self.inner = inner }

  func join(_ schedule: Schedule, as number: Int) {
    self.schedule = schedule
    self.number = number
  }

  /// Turns all later calls into ordinary calls, which are not steps of the schedule.
  func leaveSchedule() { schedule = nil }

  // MARK: Turns

  /// Loads the values that other participants have stored in the shared counters.
  package func refresh() {
    for counters in sharedCounters.values {
      counters.copy.bytes.copy(counters.original.bytes.bytes, to: 0)
    }
  }

  /// Publishes the values that this participant has stored in the shared counters.
  func flush() {
    guard !isDead else { return }
    for counters in sharedCounters.values {
      counters.original.bytes.copy(counters.copy.bytes.bytes, to: 0)
    }
  }

  /// Runs `body` outside the schedule, with current values of the shared counters.
  package func alone<R>(_ body: () throws -> R) rethrows -> R {
    refresh()
    defer { flush() }
    return try body()
  }

  /// Ends the process as the system would, releasing all its locks.
  func die() {
    isDead = true
    for file in openFiles { _ = try? file.lock(.none, 0..<UInt64.max) }
    openFiles = []
  }

  /// Waits for the participant's turn to perform an operation.
  fileprivate func step(
    _ name: StaticString, _ target: String, reads: [UInt64] = [], writes: [UInt64] = []
  ) throws(StorageError) {
    if schedule == nil { ownStepCount += 1 }
    guard ownStepCount <= Schedule.stepLimit else {
      throw StorageError(.io, "This process has taken too many steps.", file: target)
    }
    var operation = Schedule.Operation(name: name, target: target, reads: reads, writes: writes)
    // Make the operation conflict with killing this participant, because a killed participant has
    // no further effects.
    if !writes.isEmpty { operation.reads.append(Self.lifeKey(number)) }
    guard !isDead, schedule?.waitForTurn(number, operation) ?? true else {
      throw StorageError(.io, "This process was killed.", file: target)
    }
  }

  /// Takes a step that announces that a commit by this participant has been acknowledged.
  package func acknowledge() throws(StorageError) {
    try step("acknowledge", "", writes: [Self.acknowledgementKey(number)])
  }

  /// Takes a step that reads the acknowledged commits of all participants.
  package func checkAcknowledged() throws(StorageError) {
    let count = schedule?.participantCount ?? 0
    try step("look at", "acknowledged", reads: (0..<count).map(Self.acknowledgementKey))
  }

  fileprivate func recordRefusal() { schedule?.recordRefusal(number) }
  fileprivate func recordReturn(_ keys: [UInt64]) { schedule?.recordReturn(keys) }

  // MARK: State keys

  /// Returns the key that represents the life of a participant.
  ///
  /// Killing the participant changes the state under this key.
  static func lifeKey(_ participant: Int) -> UInt64 { 1 << 63 | UInt64(participant) }

  /// The key that represents all locks together.
  ///
  /// Killing a process changes this state, because it releases the locks of the process.
  static let anyLockKey: UInt64 = 1 << 58

  private static func acknowledgementKey(_ participant: Int) -> UInt64 {
    1 << 59 | UInt64(participant)
  }

  private static func counterKey(_ offset: Int) -> UInt64 { 1 << 62 | UInt64(offset) }

  /// Returns the keys of a name and of its directory, which changes when names are added or
  /// removed.
  private static func nameKeys(_ path: String) -> [UInt64] {
    let location = MemoryPath(path)
    return [nameKey(location), nameKey(location.parent)]
  }

  private static func nameKey(_ path: MemoryPath) -> UInt64 {
    1 << 61 | path.text.utf8.reduce(UInt64(5381)) { ($0 &* 33 ^ UInt64($1)) & 0xFFFF_FFFF }
  }

  // MARK: Calls

  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    let keys = Self.nameKeys(path)
    if access == .create {
      try step("open", path, writes: keys)
    } else {
      try step("open", path, reads: [keys[0]])
    }
    guard let file = try inner.open(path, access) else { return nil }
    openFiles.append(file)
    return ScheduledFile(file, self, number: try file.identity().inode)
  }

  fileprivate func close(_ file: any File) { openFiles.removeAll { $0 === file } }

  package func createDirectory(_ path: String) throws(StorageError) {
    try step("make", path, writes: Self.nameKeys(path))
    try inner.createDirectory(path)
  }

  package func list(_ path: String) throws(StorageError) -> [String]? {
    try step("list", path, reads: [Self.nameKey(MemoryPath(path))])
    return try inner.list(path)
  }

  package func remove(_ path: String) throws(StorageError) {
    try step("remove", path, writes: Self.nameKeys(path))
    try inner.remove(path)
  }

  package func removeDirectory(_ path: String) throws(StorageError) {
    try step("remove", path, writes: Self.nameKeys(path))
    try inner.removeDirectory(path)
  }

  package func rename(_ source: String, to target: String) throws(StorageError) {
    try step("rename", target, writes: Self.nameKeys(source) + Self.nameKeys(target))
    try inner.rename(source, to: target)
  }

  package func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    try inner.volumeType(of: path)
  }

  package func syncDirectory(_ path: String) throws(StorageError) {
    try step("sync", path)
    try inner.syncDirectory(path)
  }

  package var bootIdentity: UInt64? { inner.bootIdentity }
  package var wallClockMilliseconds: UInt64 { inner.wallClockMilliseconds }
  package func random() -> UInt64 { inner.random() }

  /// Returns this participant's view of the counters in a file.
  fileprivate func map(_ file: any File, _ byteCount: Int) throws(StorageError) -> Mapping {
    let identity = try file.identity()
    if sharedCounters[identity] == nil {
      let original = try file.mapShared(byteCount: byteCount)
      let copy = ByteBlock(count: byteCount)
      copy.bytes.copy(original.bytes.bytes, to: 0)
      sharedCounters[identity] = SharedCopy(original: original, copy: copy)
    }
    guard let counters = sharedCounters[identity] else {
      return try file.mapShared(byteCount: byteCount)
    }
    let copy = counters.copy
    return Mapping(
      copy.bytes, onAccess: { [weak self] in self?.recordAccess($0, isWrite: $1) },
      unmap: { _ in withExtendedLifetime(copy) {} })
  }

  private func recordAccess(_ offset: Int, isWrite: Bool) {
    let name = CountersLayout.fields.last { $0.offset <= offset }?.name ?? ""
    let key = [Self.counterKey(offset)]
    if isWrite {
      try? step("store", name, writes: key)
    } else {
      try? step("load", name, reads: key)
    }
  }
}

/// An open file of a participant.
private final class ScheduledFile: File {
  private let inner: any File
  private let process: ScheduledProcess
  private let number: UInt64

  init(_ inner: any File, _ process: ScheduledProcess, number: UInt64) {
    self.inner = inner
    self.process = process
    self.number = number
  }

  deinit { process.close(inner) }

  var path: String { inner.path }

  /// Returns a key for each block of 4,096 bytes that the range touches.
  private func keys(_ offset: UInt64, _ count: Int) -> [UInt64] {
    guard count > 0 else { return [] }
    return (offset >> 12...(offset + UInt64(count) - 1) >> 12).map { number << 32 | $0 }
  }

  private var lengthKey: UInt64 { number << 32 | 0xFFFF_FFFF }

  /// Returns a key for each of the first 1,000 bytes of a range that is locked or queried.
  private func lockKeys(_ range: Range<UInt64>) -> [UInt64] {
    range.prefix(1000).map { 1 << 60 | $0 }
  }

  private func target(_ range: Range<UInt64>) -> String {
    range.lowerBound < LockByte.live
      ? "byte \(range.lowerBound)" : "live \(range.lowerBound - LockByte.live)+\(range.count)"
  }

  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    try process.step("read", path, reads: keys(offset, target.count) + [lengthKey])
    return try inner.read(into: target, at: offset)
  }

  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    let count = parts.reduce(0) { $0 + $1.count }
    // Read the length before waiting for the turn. If the file grows in between, `lengthKey` may be
    // added unnecessarily, which only adds conflicts. If a participant truncates the file in
    // between, a conflict may be missed.
    let isLonger = try offset + UInt64(count) > inner.byteCount()
    try process.step(
      "write", path, writes: keys(offset, count) + (isLonger ? [lengthKey] : []))
    try inner.write(parts, at: offset)
  }

  func byteCount() throws(StorageError) -> UInt64 {
    try process.step("length", path, reads: [lengthKey])
    return try inner.byteCount()
  }

  func setByteCount(_ count: UInt64) throws(StorageError) {
    try process.step("cut", path, writes: [lengthKey])
    try inner.setByteCount(count)
  }

  func reserve(byteCount: UInt64) throws(StorageError) {
    try process.step("reserve", path, writes: [lengthKey])
    try inner.reserve(byteCount: byteCount)
  }

  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool {
    try process.step("punch", path, writes: keys(range.lowerBound, range.count))
    return try inner.punch(range)
  }

  func allocatedByteCount() throws(StorageError) -> UInt64 { try inner.allocatedByteCount() }

  func sync() throws(StorageError) {
    try process.step("sync", path)
    try inner.sync()
  }

  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping? { nil }

  func mapShared(byteCount: Int) throws(StorageError) -> Mapping {
    try process.map(inner, byteCount)
  }

  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool {
    let name: StaticString = kind == .none ? "unlock" : kind == .shared ? "share" : "lock"
    try process.step(
      name, target(range), reads: [ScheduledProcess.anyLockKey], writes: lockKeys(range))
    let isLocked = try inner.lock(kind, range)
    if !isLocked { process.recordRefusal() }
    // Unlocking a byte or downgrading its lock to shared may unblock participants that wait for the
    // byte.
    if isLocked, kind != .exclusive, range.lowerBound < LockByte.live {
      process.recordReturn(lockKeys(range))
    }
    return isLocked
  }

  func waitForLock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) {
    while try !lock(kind, range) {}
  }

  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>? {
    try process.step(
      "ask", target(range), reads: lockKeys(range) + [ScheduledProcess.anyLockKey])
    let found = try inner.lockedByOthers(in: range)
    // A participant that finds one of these bytes locked repeats its query.
    if found != nil, range.lowerBound < LockByte.live { process.recordRefusal() }
    return found
  }

  func identity() throws(StorageError) -> FileIdentity { try inner.identity() }
}
