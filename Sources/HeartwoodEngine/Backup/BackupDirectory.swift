/// The files of a backup directory.
struct BackupDirectory {
  let path: String
  let fileSystem: any FileSystem
  /// The files, in generation order.
  let names: [BackupName]
  /// A map from each restorable generation to the last of the files needed to restore it.
  private let lastSteps: [FrameNumber: BackupName]

  /// The file name suffix of incomplete files.
  static let partialSuffix = ".partial"
  /// The name of the file that a process locks before it writes to the directory.
  ///
  /// The file contains the series number.
  static let lockName = "lock"

  /// Creates a value from a list of the files in the directory at `path`.
  ///
  /// - Throws: `notAStore` if there is no directory, or if the directory contains foreign files but
  ///   no backups.
  init(_ path: String, on fileSystem: any FileSystem) throws(StorageError) {
    let trimmed = OpenSequence.trimmed(path)
    guard let found = try fileSystem.list(trimmed) else {
      throw StorageError(
        .notAStore, "There is no backup directory at this path. Check the path.", file: path)
    }
    let names = found.compactMap { BackupName($0) }
    if names.isEmpty,
      let foreign = found.filter({ !$0.hasSuffix(Self.partialSuffix) && $0 != Self.lockName }).min()
    {
      throw StorageError(
        .notAStore,
        "The directory contains files that are not backups, such as \(foreign). Use a separate "
          + "directory for backups.", file: path)
    }
    self.init(trimmed, names, fileSystem)
  }

  private init(_ path: String, _ names: [BackupName], _ fileSystem: any FileSystem) {
    self.path = path
    self.fileSystem = fileSystem
    self.names = names.sorted { ($0.frame, $0.base ?? 0) < ($1.frame, $1.base ?? 0) }
    var steps: [FrameNumber: BackupName] = [:]
    // The names are in ascending order, so a base comes before the files that build on it.
    for name in self.names where steps[name.frame] == nil {
      guard let base = name.base, steps[base] == nil else {
        steps[name.frame] = name
        continue
      }
    }
    lastSteps = steps
  }

  /// Opens a backup file in the directory.
  func file(_ name: BackupName) throws(StorageError) -> BackupFile {
    try BackupFile(name, in: path, fileSystem)
  }

  /// Runs `body` while no other process can write to the directory.
  ///
  /// The argument of `body` contains the directory's current files.
  ///
  /// - Throws: `busy` if another process is writing to the directory.
  func withLock<Result>(_ body: (BackupDirectory) throws -> Result) throws -> Result {
    let file = try fileSystem.create(path + "/" + Self.lockName)
    guard try file.lock(.exclusive, 0..<1) else {
      throw StorageError(
        .busy,
        "Another process is writing to the backup directory. Wait until that process has finished, "
          + "and then try again.",
        file: path)
    }
    defer { _ = try? file.lock(.none, 0..<1) }
    // Read the names again, because another process may have added files before this process
    // acquired the lock.
    return try body(BackupDirectory(path, on: fileSystem))
  }

  /// Returns the series number for a directory that does not contain a complete file yet.
  ///
  /// The store keeps a generation under a name that contains this number. The method makes the
  /// number durable before the name is used, so the next backup finds the name even if this backup
  /// is interrupted.
  func firstSeries() throws(StorageError) -> UInt64 {
    let file = try fileSystem.create(path + "/" + Self.lockName)
    let block = ByteBlock(count: 8)
    defer { block.keep() }
    if try file.read(into: block.bytes, at: 0) == 8 { return block.bytes.bytes.load64(0) }
    block.bytes.store64(fileSystem.random(), 0)
    try file.write([block.bytes.bytes], at: 0)
    try file.sync()
    try fileSystem.syncDirectory(path)
    return block.bytes.bytes.load64(0)
  }

  /// Removes the given files and any files left by interrupted calls.
  func remove(_ removed: [BackupName]) throws(StorageError) {
    // Remove the newest files first, so that no file depends on a removed one after an
    // interruption.
    for name in removed.sorted(by: { $0.frame > $1.frame }) {
      try fileSystem.remove(path + "/" + name.text)
    }
    for name in try fileSystem.list(path) ?? [] where name.hasSuffix(Self.partialSuffix) {
      try fileSystem.remove(path + "/" + name)
    }
  }

  // MARK: Chains

  /// The generations that can be restored if no file is damaged, in ascending order.
  var frames: [FrameNumber] { lastSteps.keys.sorted() }

  /// Returns whether the directory contains every file that the given file builds on.
  func canRestore(with name: BackupName) -> Bool {
    name.base.map { lastSteps[$0] != nil } ?? true
  }

  /// Returns the newest generation in `frames` that the generation `frame` builds on, directly or
  /// indirectly.
  func base(of frame: FrameNumber, among frames: Set<FrameNumber>) -> FrameNumber? {
    var next = lastSteps[frame]?.base
    while let current = next, !frames.contains(current) { next = lastSteps[current]?.base }
    return next
  }

  /// Returns the files needed to restore a generation.
  ///
  /// The first file either contains all pages or builds on `base`.
  ///
  /// - Parameter base: A generation that the caller already has, or `nil` if there is none. The
  ///   files that lead up to `base` are not returned.
  /// - Throws: `generationExpired` if there is no such generation, or `corrupt` if a needed file is
  ///   missing.
  func chain(
    to frame: FrameNumber, after base: FrameNumber? = nil
  ) throws(StorageError) -> [BackupName] {
    var chain: [BackupName] = []
    var next: FrameNumber? = frame
    while let current = next, current != base {
      guard let step = lastSteps[current] else { throw missing(frame) }
      chain.append(step)
      next = step.base
    }
    return chain.reversed()
  }

  /// Opens the last of the files needed to restore a generation.
  func lastFile(to frame: FrameNumber) throws(StorageError) -> BackupFile {
    guard let name = lastSteps[frame] else { throw missing(frame) }
    return try file(name)
  }

  /// Returns the header of the last file for a generation, or `nil` if the header is damaged.
  func readableHeader(of frame: FrameNumber) throws(StorageError) -> BackupHeader? {
    do throws(StorageError) { return try lastFile(to: frame).header } catch {
      guard error.kind == .corrupt || error.kind == .notAStore else { throw error }
      return nil
    }
  }

  /// Returns the header of each generation's last file, in generation order.
  ///
  /// Damaged headers are omitted.
  func readableHeaders() throws -> [BackupHeader] {
    try frames.compactMap { try readableHeader(of: $0) }
  }

  func missing(_ frame: FrameNumber) -> StorageError {
    guard let present = names.last(where: { $0.frame == frame }), let base = present.base else {
      let frames = frames
      let near = [frames.last { $0 < frame }, frames.first { $0 > frame }].compactMap { $0 }
      return StorageError(
        .generationExpired,
        "The backup does not contain generation \(frame)."
          + (near.isEmpty
            ? "" : " Use generation \(near.map(String.init).joined(separator: " or ")) instead."),
        file: path)
    }
    return .corrupt(
      "The backup file \(present.text) depends on generation \(base), whose backup file is "
        + "missing. "
        + restorable(upTo: frame), file: path)
  }

  /// Returns a sentence for an error message.
  ///
  /// The sentence names a generation that can be restored without the file `damaged`, preferably
  /// the newest generation at or before `frame`.
  func restorable(
    upTo frame: FrameNumber, without damaged: BackupName? = nil
  ) -> String {
    let rest = BackupDirectory(path, names.filter { $0 != damaged }, fileSystem)
    guard let newest = rest.frames.last(where: { $0 <= frame }) else {
      return rest.frames.first.map { "Generation \($0) can still be restored." }
        ?? "Nothing can be restored from the other files."
    }
    return "Generation \(newest) can still be restored."
  }
}
