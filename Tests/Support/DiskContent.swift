import HeartwoodEngine

/// The content of a simulated disk and of the page cache above it.
struct DiskContent {
  private(set) var files: [Int: FileHistory] = [:]
  private(set) var directories: [MemoryPath: DirectoryHistory] = [
    MemoryPath(""): DirectoryHistory()
  ]
  private var lastFile = 0
  /// The number of changes to files so far, which is also the sequence number of the latest change.
  private(set) var changeCount = 0

  // MARK: Names

  /// Returns the file or directory at `location`, or `nil` if there is none.
  func entry(at location: MemoryPath) -> DirectoryEntry? {
    location.isRoot ? .directory : directories[location.parent]?.newest[location.name]
  }

  func file(at location: MemoryPath) -> FileHistory? {
    guard case .file(let number) = entry(at: location) else { return nil }
    return files[number]
  }

  /// Returns whether the name at `location` survives every crash.
  func isNameDurable(_ location: MemoryPath) -> Bool {
    guard !location.isRoot else { return true }
    guard let directory = directories[location.parent] else { return false }
    return directory.isDurable(location.name) && isNameDurable(location.parent)
  }

  /// The total length of all files that have a name.
  var namedByteCount: Int {
    directories.values.flatMap { $0.newest.values }.reduce(0) { count, entry in
      guard case .file(let number) = entry else { return count }
      return count + (files[number]?.newest.count ?? 0)
    }
  }

  /// Creates an empty file in an existing directory and returns the file's number.
  mutating func createFile(_ location: MemoryPath) -> Int {
    lastFile += 1
    files[lastFile] = FileHistory()
    directories[location.parent]?.make(.create(location.name, .file(lastFile)))
    return lastFile
  }

  mutating func createDirectory(_ location: MemoryPath) {
    directories[location.parent]?.make(.create(location.name, .directory))
    directories[location] = DirectoryHistory()
  }

  mutating func remove(_ location: MemoryPath, _ entry: DirectoryEntry) {
    directories[location.parent]?.make(.remove(location.name, entry))
  }

  /// Renames a file or directory within its directory.
  mutating func rename(_ source: MemoryPath, to target: String, _ entry: DirectoryEntry) {
    directories[source.parent]?.make(.rename(source.name, target, entry))
    guard entry == .directory else { return }
    // Keep the contents of the directory under both names, because a crash may undo the rename.
    let moved = MemoryPath(source.parent.text + "/" + target)
    directories[moved] = directories[source]
    for (location, names) in directories {
      guard let rest = location.rest(below: source) else { continue }
      directories[MemoryPath(moved.text + "/" + rest)] = names
    }
  }

  mutating func syncDirectory(_ location: MemoryPath, openFiles: Set<Int>) {
    directories[location]?.sync()
    // Discard removed directories. Their removal is now durable, so they can never be reached
    // again.
    let lost = directories.keys.filter {
      !$0.isRoot && $0.parent == location && entry(at: $0) != .directory
    }
    for directory in lost {
      directories = directories.filter {
        $0.key != directory && $0.key.rest(below: directory) == nil
      }
    }
    // Discard files that no directory can refer to any more. A removed file is kept until its
    // directory is synced, because a crash may undo the removal.
    var used = openFiles
    for directory in directories.values {
      for case .file(let number) in directory.entries { used.insert(number) }
    }
    files = files.filter { used.contains($0.key) }
  }

  // MARK: Files

  mutating func write(_ source: Bytes, to file: Int, at offset: Int) {
    changeCount += 1
    files[file]?.write(source, at: offset, order: changeCount)
  }

  /// Writes only those sectors of `source` for which `keeps` returns `true`.
  mutating func writeInPart(
    _ source: Bytes, to file: Int, at offset: Int, _ keeps: () -> Bool
  ) {
    let size = FileChange.sectorByteCount
    var start = 0
    changeCount += 1
    while start < source.count {
      let end = min(source.count, ((offset + start) / size + 1) * size - offset)
      if keeps() {
        let sector = source.slice(start, end - start)
        files[file]?.write(sector, at: offset + start, order: changeCount)
      }
      start = end
    }
  }

  mutating func setByteCount(_ count: Int, of file: Int) {
    changeCount += 1
    files[file]?.setByteCount(count, order: changeCount)
  }

  mutating func sync(_ file: Int) { files[file]?.sync() }

  mutating func dropUnsynced(_ file: Int) { files[file]?.dropUnsynced() }

  mutating func share(_ file: Int, _ byteCount: Int) -> ByteBlock? { files[file]?.share(byteCount) }

  // MARK: Crashes

  /// Returns the content as seen by the next process after this process has died.
  func afterProcessDeath() -> DiskContent {
    var content = self
    content.files = files.mapValues { $0.afterProcessDeath() }
    return content
  }

  func crashed(_ choice: CrashChoice) -> DiskContent {
    switch choice {
    case .nothing:
      return rebuilt(directories.mapValues(\.durable)) { _, file in file.durable }
    case .everything:
      return rebuilt(directories.mapValues(\.newest)) { _, file in
        Self.withShared(file.withEverything(), file)
      }
    case .seeded(let seed, let mode, let options):
      var dice = CrashDice(seed: seed, mode: mode, options: options)
      var names: [MemoryPath: [String: DirectoryEntry]] = [:]
      // Iterate in a fixed order, because all directories draw from the same random generator.
      for location in directories.keys.sorted(by: { $0.text < $1.text }) {
        names[location] = directories[location].map { Self.names($0, &dice) }
      }
      let newestOrder = changeCount
      return rebuilt(names) { _, file in
        let bytes = file.kept(by: &dice, newestOrder: newestOrder)
        return file.shared.map { Self.sharedFate($0, bytes, &dice) } ?? bytes
      }
    }
  }

  private static func names(
    _ directory: DirectoryHistory, _ dice: inout CrashDice
  ) -> [String: DirectoryEntry] {
    guard dice.options.contains(.unorderedNames) else {
      let count = dice.prefix(of: directory.changes.count)
      return directory.kept { $0 < count }
    }
    return directory.kept { _ in dice.keeps() }
  }

  /// Returns the bytes of a memory-mapped file after a crash, or `nil` if the file is lost.
  ///
  /// One of four outcomes is chosen at random: the file is lost, or it contains zeros, random
  /// bytes, or the content of `memory`.
  private static func sharedFate(
    _ memory: ByteBlock, _ bytes: ChunkedBytes, _ dice: inout CrashDice
  ) -> ChunkedBytes? {
    var result = ChunkedBytes()
    switch dice.generator.below(4) {
    case 0: return nil
    case 1: result.setCount(bytes.count)
    case 2: dice.generator.bytes(memory.bytes.count).withBytes { result.write($0, at: 0) }
    default: result.write(memory.bytes.bytes, at: 0)
    }
    return result
  }

  private static func withShared(_ bytes: ChunkedBytes, _ file: FileHistory) -> ChunkedBytes {
    guard let memory = file.shared else { return bytes }
    var result = bytes
    result.write(memory.bytes.bytes, at: 0)
    return result
  }

  /// Returns a disk that contains only the names that can be reached from the root, and the files
  /// that have these names.
  ///
  /// `bytes` is called once for each file, in a fixed order. If it returns `nil`, the file is lost.
  private func rebuilt(
    _ names: [MemoryPath: [String: DirectoryEntry]],
    _ bytes: (Int, FileHistory) -> ChunkedBytes?
  ) -> DiskContent {
    var content = self
    let reached = Self.reachable(names)
    content.files = [:]
    content.directories = [:]
    for number in Self.fileNumbers(reached) {
      guard let file = files[number], let kept = bytes(number, file) else { continue }
      content.files[number] = FileHistory(kept)
    }
    for (location, entries) in reached {
      content.directories[location] = DirectoryHistory(
        entries.filter { entry in
          guard case .file(let number) = entry.value else { return true }
          return content.files[number] != nil
        })
    }
    return content
  }

  private static func fileNumbers(_ names: [MemoryPath: [String: DirectoryEntry]]) -> [Int] {
    var numbers: Set<Int> = []
    for entries in names.values {
      for case .file(let number) in entries.values { numbers.insert(number) }
    }
    return numbers.sorted()
  }

  /// Returns the directories that can be reached from the root; all other directories are lost.
  private static func reachable(
    _ names: [MemoryPath: [String: DirectoryEntry]]
  ) -> [MemoryPath: [String: DirectoryEntry]] {
    var result: [MemoryPath: [String: DirectoryEntry]] = [:]
    var open = [MemoryPath("")]
    while let location = open.popLast() {
      let entries = names[location] ?? [:]
      result[location] = entries
      for (name, entry) in entries where entry == .directory {
        open.append(MemoryPath(location.text + "/" + name))
      }
    }
    return result
  }

  /// Returns every state that a crash can leave if each write is kept either completely or not at
  /// all, and changes to names are kept in order.
  ///
  /// - Returns: The states, or `nil` if there are more than `limit` of them.
  func exhaustiveCrashes(limit: Int) -> [DiskContent]? {
    guard let nameStates = allNames(limit: limit) else { return nil }
    var states: [DiskContent] = []
    for names in nameStates {
      var choices: [[Int: ChunkedBytes]] = [[:]]
      for number in Self.fileNumbers(Self.reachable(names)) {
        guard let file = files[number], let kept = file.allKept(limit: limit),
          choices.count * kept.count <= limit - states.count
        else { return nil }
        choices = choices.flatMap { choice in
          kept.map { choice.merging([number: Self.withShared($0, file)]) { _, new in new } }
        }
      }
      guard states.count + choices.count <= limit else { return nil }
      states += choices.map { choice in rebuilt(names) { number, _ in choice[number] } }
    }
    return states
  }

  private func allNames(limit: Int) -> [[MemoryPath: [String: DirectoryEntry]]]? {
    var states: [[MemoryPath: [String: DirectoryEntry]]] = [[:]]
    for (location, directory) in directories.sorted(by: { $0.key.text < $1.key.text }) {
      guard states.count * (directory.changes.count + 1) <= limit else { return nil }
      states = states.flatMap { state in
        (0...directory.changes.count).map { count in
          state.merging([location: directory.kept { $0 < count }]) { _, new in new }
        }
      }
    }
    return states
  }
}
