import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The files of a small store that contains every kind of page and file, and the history that wrote
/// them.
struct WrittenStore {
  static let pageByteCount = 4096
  let files: [String: [UInt8]]
  /// The history, whose disk still has the counters of the process in memory.
  let history: CrashHistory

  /// Creates a store in the state that a process leaves behind when it dies.
  ///
  /// The last commits are only in the log.
  ///
  /// - Parameter seed: Stores with different seeds have different identities and contents.
  init(seed: UInt64) throws {
    history = CrashHistory(disk: SimulatedDisk(seed: seed), seed: seed)
    try history.run([
      .write(.full, operationCount: 60, valueByteCount: 500),
      .write(.full, operationCount: 3, valueByteCount: 9000), .checkpoint, .keep("x"),
      .write(.full, operationCount: 3, valueByteCount: 9000),
      .write(.full, operationCount: 20, valueByteCount: 300), .checkpoint, .keep("y"),
      .write(.full, operationCount: 20, valueByteCount: 300), .checkpoint,
    ])
    // Fill the segments with small commits, so that the segments get footers.
    try history.run(
      [Step](repeating: .write(.full, operationCount: 1, valueByteCount: 100), count: 6))
    history.abandon()
    var files: [String: [UInt8]] = [:]
    for name in try history.disk.list("/store") ?? [] where name != "locks" {
      files[name] = history.disk.bytes(of: "/store/" + name)
    }
    self.files = files
  }

  /// The result of opening a store with changed files.
  enum Outcome: Equatable {
    /// The store has the contents of the given commit, and verification succeeds.
    case right(commit: Int)
    /// An error was thrown or verification failed, as the text describes.
    case noticed(String)
    case wrong(String)
  }

  /// Opens, reads and verifies a store with these files, as if on another machine.
  func outcome(of files: [String: [UInt8]]) throws -> Outcome {
    let disk = SimulatedDisk(seed: 77)
    try disk.createDirectory("/store")
    for (name, bytes) in files {
      let file = try #require(try disk.open("/store/" + name, .create))
      try file.setByteCount(UInt64(bytes.count))
      if !bytes.isEmpty { try file.write(bytes, at: 0) }
    }
    return outcome(on: disk)
  }

  /// Opens, reads and verifies the store that is on the given disk.
  func outcome(on disk: SimulatedDisk) -> Outcome {
    do {
      let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
      return try read(store)
    } catch let error as StorageError {
      return .noticed("\(error.kind)")
    } catch {
      return .wrong("\(error)")
    }
  }

  private func read(_ store: Store) throws -> Outcome {
    let newest = try CrashHistory.number(of: store.snapshot())
    var snapshots = [try store.snapshot()]
    for generation in try store.namedGenerations().values {
      snapshots.append(try store.snapshot(at: generation))
    }
    for snapshot in snapshots {
      let number = try CrashHistory.number(of: snapshot)
      guard number < history.contents.count,
        try CrashHistory.content(of: snapshot)
          == history.contents[number].filter({ !$0.value.isEmpty })
      else { return .wrong("what commit \(number) shows") }
    }
    let findings = try store.verify().findings
    return findings.isEmpty ? .right(commit: newest) : .noticed(findings[0])
  }

  /// Returns whether the page that contains `offset` consists only of zeros.
  ///
  /// All positions in such a page are equivalent, so tests skip most of them.
  func isEmptyPage(_ name: String, at offset: Int) -> Bool {
    guard let bytes = files[name] else { return true }
    let start = offset / Self.pageByteCount * Self.pageByteCount
    return bytes[start..<min(start + Self.pageByteCount, bytes.count)].allSatisfy { $0 == 0 }
  }
}
