import HeartwoodEngine
import HeartwoodTestSupport

/// The contents of a store after a commit: for each keyspace, its keys and values.
typealias Content = [String: [Int64: [UInt8]]]

/// One step of a history.
enum Step: Sendable {
  /// A transaction with operations that are derived from the seed and from the number of the
  /// commit.
  case write(StoreOptions.Durability, operationCount: Int, valueByteCount: Int)
  /// A transaction that changes something and then throws.
  case abandonedWrite
  /// A transaction that changes more than it can keep in memory and then throws.
  case abandonedSpill
  /// A transaction with nested savepoints, some of which are rolled back.
  case savepoints(StoreOptions.Durability, operationCount: Int, valueByteCount: Int)
  case checkpoint
  /// Compacts the store, moving a few pages at a time to free pages nearer the start of the file.
  case compact
  /// Takes a snapshot and holds it.
  case pin
  /// Releases the oldest held snapshot.
  case unpin
  case removeKeyspace
  /// Names the newest generation.
  case keep(String)
  /// Releases a name.
  case release(String)
  /// Closes and reopens the store.
  case reopen
  /// Kills all processes, and opens the store in a new process.
  case kill
  /// Continues in the other of two processes that both have the store open.
  case switchProcess
}

/// Performs steps with a store on a simulated disk, and compares the store with a model.
///
/// Each commit also writes its own number, so a check can find the expected contents of the store.
final class CrashHistory {
  private(set) var disk: SimulatedDisk
  /// The number of calls made by processes that have died.
  private var earlierCallCount = 0
  private(set) var store: Store?
  /// The store in the waiting process, if there are two processes.
  private var otherStore: Store?
  /// The contents after each attempted commit, indexed by its number.
  ///
  /// Number 0 is the empty store.
  private(set) var contents: [Content] = [[:]]
  /// The number of the last commit that a power cut must not undo.
  private(set) var durableCount = 0
  /// The number of the last commit that the death of the process must not undo.
  private(set) var acknowledgedCount = 0
  private(set) var pinned: [(number: Int, snapshot: Snapshot)] = []
  /// The number of the commit that each named generation contains.
  private(set) var kept: [String: Int] = [:]
  /// The name whose `keep` or `release` was not acknowledged, and which therefore may or may not
  /// exist.
  private var uncertainName: String?
  private let seed: UInt64
  private let options: StoreOptions

  /// The newest generation observed so far.
  private(set) var newestGeneration = Generation(frame: 0)

  struct Abandoned: Error {}

  /// The number of calls that change something, made by all processes.
  var callCount: Int { earlierCallCount + disk.callCount }

  static func options(pageByteCount: Int = 4096, memoryPageCount: Int? = nil) -> StoreOptions {
    var options = StoreOptions()
    if let memoryPageCount { options.transactionMemoryByteCount = memoryPageCount * pageByteCount }
    options.pageByteCount = pageByteCount
    options.segmentByteCount = pageByteCount * 8
    options.access = .buffered
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    options.cacheByteCount = 1 << 18
    return options
  }

  init(disk: SimulatedDisk, seed: UInt64, options: StoreOptions = CrashHistory.options()) {
    self.disk = disk
    self.seed = seed
    self.options = options
  }

  func open() throws { store = try openElsewhere() }

  /// Runs the steps until one of them throws, usually because of a planned fault.
  func run(_ steps: [Step]) throws {
    if store == nil { try open() }
    for step in steps { try run(step) }
  }

  func run(_ step: Step) throws {
    guard let store else { return }
    switch step {
    case .write(let durability, let operationCount, let valueByteCount):
      try write(store, durability, operationCount, valueByteCount)
    case .abandonedWrite:
      do {
        try store.write { transaction in
          try transaction.keyspace("a").put(Int64(1), [0xFF])
          throw Abandoned()
        }
      } catch is Abandoned {}
    case .abandonedSpill:
      do {
        try store.write { transaction in
          // Change pages that the next transaction will not change, because it will write its own
          // pages to the same frames.
          for key in 0..<30 as Range<Int64> {
            try transaction.keyspace("c").put(key, [UInt8](repeating: 0xFF, count: 900))
          }
          throw Abandoned()
        }
      } catch is Abandoned {}
    case .savepoints(let durability, let operationCount, let valueByteCount):
      try savepoints(store, durability, operationCount, valueByteCount)
    case .checkpoint:
      _ = try store.checkpoint()
      durableCount = acknowledgedCount
    case .compact:
      _ = try store.compact(stepByteCount: options.pageByteCount * 6)
      durableCount = acknowledgedCount
    case .pin:
      pinned.append((acknowledgedCount, try store.snapshot()))
    case .unpin:
      if !pinned.isEmpty { pinned.removeFirst() }
    case .removeKeyspace:
      try removeKeyspace(store)
    case .keep(let name):
      try keep(store, name)
    case .release(let name):
      uncertainName = name
      try store.release(name)
      kept[name] = nil
      uncertainName = nil
    case .reopen:
      pinned = []
      try store.close()
      // The last process to close the store makes all commits durable.
      if otherStore == nil { durableCount = acknowledgedCount }
      self.store = nil
      try open()
    case .switchProcess:
      let other = try otherStore ?? openElsewhere()
      (self.store, otherStore) = (other, store)
    case .kill:
      abandon()
      let plan = disk.faultPlan
      let usedCalls = disk.callCount
      disk = disk.killed()
      earlierCallCount += usedCalls
      if let call = plan.call, call > usedCalls {
        disk.faultPlan = plan
        disk.faultPlan.call = call - usedCalls
      }
      try open()
      // Opening the store syncs the commits that it finds, and only then shows them to readers.
      durableCount = acknowledgedCount
    }
  }

  private func write(
    _ store: Store, _ durability: StoreOptions.Durability, _ operationCount: Int,
    _ valueByteCount: Int
  ) throws {
    let number = contents.count
    var generator = SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(number))
    var content = contents[acknowledgedCount]
    try attempt(durability, number) {
      self.newestGeneration = try store.write(durability: durability) { transaction in
        for _ in 0..<operationCount {
          try Self.change(&transaction, number, valueByteCount, &generator, &content)
        }
        try self.writeNumber(&transaction, number)
      }
    } content: {
      content
    }
  }

  private func savepoints(
    _ store: Store, _ durability: StoreOptions.Durability, _ operationCount: Int,
    _ valueByteCount: Int
  ) throws {
    let number = contents.count
    var generator = SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(number))
    var content = contents[acknowledgedCount]
    func nest(_ transaction: inout WriteTransaction, depth: Int) throws {
      for _ in 0..<operationCount {
        try Self.change(&transaction, number, valueByteCount, &generator, &content)
      }
      guard depth < 3 else { return }
      for isKept in [false, true] {
        let before = content
        do {
          try transaction.savepoint { inner in
            try nest(&inner, depth: depth + 1)
            if !isKept { throw Abandoned() }
          }
        } catch is Abandoned {
          content = before
        }
      }
    }
    try attempt(durability, number) {
      self.newestGeneration = try store.write(durability: durability) { transaction in
        try nest(&transaction, depth: 0)
        try self.writeNumber(&transaction, number)
      }
    } content: {
      content
    }
  }

  /// Changes a value in a keyspace of the transaction, and makes the same change in `content`.
  private static func change(
    _ transaction: inout WriteTransaction, _ number: Int, _ valueByteCount: Int,
    _ generator: inout SeededGenerator, _ content: inout Content
  ) throws {
    let name = ["a", "b", "c"][Int(generator.next() % 3)]
    let key = Int64(generator.next() % 40)
    let keyspace = try transaction.keyspace(name)
    if generator.next() % 4 == 0 {
      try keyspace.delete(key)
      content[name, default: [:]][key] = nil
    } else {
      let count = Int(generator.next() % UInt64(valueByteCount + 1))
      let value = (0..<count).map { UInt8(truncatingIfNeeded: Int(key) &+ number &+ $0) }
      try keyspace.put(key, value)
      content[name, default: [:]][key] = value
    }
  }

  private func removeKeyspace(_ store: Store) throws {
    let number = contents.count
    var content = contents[acknowledgedCount]
    content["b"] = nil
    try attempt(.full, number) {
      self.newestGeneration = try store.write { transaction in
        try transaction.removeKeyspace("b")
        try self.writeNumber(&transaction, number)
      }
    } content: {
      content
    }
  }

  private func keep(_ store: Store, _ name: String) throws {
    guard kept[name] == nil else { return }
    uncertainName = name
    try store.keep(try store.snapshot().generation, as: name)
    kept[name] = acknowledgedCount
    durableCount = acknowledgedCount
    uncertainName = nil
  }

  private func writeNumber(_ transaction: inout WriteTransaction, _ number: Int) throws {
    try transaction.keyspace("number").put(Int64(0), [UInt8(number & 0xFF), UInt8(number >> 8)])
  }

  /// Runs a commit, and records its contents even if it fails, because an unacknowledged commit may
  /// be found later.
  private func attempt(
    _ durability: StoreOptions.Durability, _ number: Int, _ commit: () throws -> Void,
    content: () -> Content
  ) throws {
    defer { if contents.count == number { contents.append(content()) } }
    try commit()
    contents.append(content())
    acknowledgedCount = number
    if durability == .full { durableCount = number }
  }

  // MARK: Checking

  /// Returns the number of the commit that wrote the contents of the snapshot, or 0 if the store is
  /// empty.
  static func number(of snapshot: Snapshot) throws -> Int {
    guard let value = try snapshot.keyspace("number")?.get(Int64(0)) else { return 0 }
    return Int(value[0]) | Int(value[1]) << 8
  }

  /// Returns the contents of a snapshot, except empty keyspaces and the keyspace that contains the
  /// number.
  static func content(of snapshot: Snapshot) throws -> Content {
    var content: Content = [:]
    for name in try snapshot.keyspaceNames where name != "number" {
      try snapshot.keyspace(name)?.forEach { key, value in
        let number = try Key.decode(key, as: Int64.self)
        content[name, default: [:]][number] = value.withUnsafeBytes { [UInt8]($0) }
        return true
      }
    }
    return content
  }

  /// Checks a store that was opened after a crash.
  ///
  /// - Returns: A description of a defect, or `nil`.
  func finding(in store: Store, atLeast least: Int) throws -> String? {
    if let finding = try findingInContent(store, atLeast: least) { return finding }
    let report = try store.verify()
    return report.findings.isEmpty ? nil : report.findings.joined(separator: "; ")
  }

  /// Checks the contents of the newest generation and of the named ones, without verifying the
  /// store.
  ///
  /// - Returns: A description of a defect, or `nil`.
  func findingInContent(_ store: Store, atLeast least: Int) throws -> String? {
    let snapshot = try store.snapshot()
    let number = try Self.number(of: snapshot)
    guard number >= least else { return "commit \(least) was acknowledged, but \(number) found" }
    guard number < contents.count else { return "commit \(number) was never attempted" }
    if try Self.content(of: snapshot) != contents[number].filter({ !$0.value.isEmpty }) {
      return "the contents are not those of commit \(number)"
    }
    return try findingInKept(store)
  }

  /// Checks that each name refers to the right contents.
  ///
  /// - Returns: A description of a defect, or `nil`.
  private func findingInKept(_ store: Store) throws -> String? {
    let found = try store.namedGenerations()
    for name in Set(found.keys).union(kept.keys).sorted() where name != uncertainName {
      guard let number = kept[name] else { return "\(name) was released, but still exists" }
      guard let generation = found[name] else { return "\(name) was kept, but is missing" }
      let snapshot = try store.snapshot(at: generation)
      guard try Self.number(of: snapshot) == number else { return "\(name) has another commit" }
    }
    for (name, generation) in found {
      let snapshot = try store.snapshot(at: generation)
      let number = try Self.number(of: snapshot)
      guard number < contents.count,
        try Self.content(of: snapshot) == contents[number].filter({ !$0.value.isEmpty })
      else { return "the contents of \(name) have changed" }
    }
    return nil
  }

  /// Checks that the held snapshots have not changed.
  ///
  /// - Returns: A description of a defect, or `nil`.
  func findingInPinned() throws -> String? {
    for (number, snapshot) in pinned {
      if try Self.content(of: snapshot) != contents[number].filter({ !$0.value.isEmpty }) {
        return "the snapshot of commit \(number) has changed"
      }
    }
    return nil
  }

  /// Releases the store without closing it, as if the process had crashed.
  func abandon() {
    pinned = []
    (store, otherStore) = (nil, nil)
  }

  /// Opens the store as a process that shares nothing with the other processes.
  private func openElsewhere() throws -> Store {
    try Store(at: "/store", options: options, fileSystem: OtherProcess(disk))
  }
}
