/// The benchmark table in redb's README: the same phases in the same order, with 24-byte random
/// keys and 150-byte random values.
///
/// With 5,000,000 entries, the number of operations in each phase matches redb's benchmark. With
/// fewer entries, the number is reduced proportionally. In each phase, the engines take turns.
final class RedbTable {
  /// The result of one phase.
  struct Phase {
    let name: String
    let unit: String
    let comparison: Comparison
    /// A Boolean value that indicates whether the values are rates, which can be compared by their
    /// ratio.
    let isRate: Bool
  }

  let engines: [any EntryEngine]
  private let directory: StoreDirectory
  private let progress: Progress
  private let loadedCount: Int
  /// The number of entries, including the entries added since the load.
  private var entryCount = 0
  private var stores: [any EntryStore] = []
  private var phases: [Phase] = []
  /// A hash of the results of all reads.
  private(set) var hash: UInt64 = 0

  private static let valueByteCount = 150
  private static let entriesPerBatch = 1000
  private static let entriesPerScan = 10
  private static let threadCounts = [4, 8, 16, 32]
  private static let roundCount = 5
  /// The number of times that all entries are read, as in redb's benchmark.
  private static let readRoundCount = 2

  init(
    _ engines: [any EntryEngine], _ directory: StoreDirectory, entryCount: Int, _ progress: Progress
  ) {
    self.engines = engines
    self.directory = directory
    self.progress = progress
    loadedCount = entryCount
  }

  /// Runs all phases and removes the stores.
  func run() throws -> [Phase] {
    defer { for engine in engines.indices { try? directory.remove(storeName(engine)) } }
    stores = try engines.indices.map { engine in
      try directory.remove(storeName(engine))
      return try engines[engine].makeStore(
        in: directory.path + "/" + storeName(engine), valueByteCount: Self.valueByteCount)
    }
    try load()
    try prepare(isDurable: true)
    try write("commits", commitCount: loadedCount / 5000, putsPerCommit: 1, isDurable: true)
    try write(
      "batches", commitCount: loadedCount / 50_000, putsPerCommit: Self.entriesPerBatch,
      isDurable: true)
    try prepare(isDurable: false)
    try write("nosync", commitCount: loadedCount / 100, putsPerCommit: 1, isDurable: false)
    try read()
    try readRanges()
    for threadCount in Self.threadCounts { try read(threadCount: threadCount) }
    try remove()
    try measureSize("size")
    try measure("compaction", "entries/s") { store, _, _ in
      try store.compact()
      return (self.entryCount - self.entryCount / 2, 0)
    }
    try measureSize("compacted-size")
    for store in stores { try store.finish() }
    stores = []
    return phases
  }

  private func storeName(_ engine: Int) -> String { "redb-" + engines[engine].name }

  private func prepare(isDurable: Bool) throws {
    for store in stores { try store.prepare(isDurable: isDurable) }
  }

  /// Measures one phase in several rounds, in which the engines take turns.
  ///
  /// - Parameter body: A closure that runs one round of an engine, and returns the number of its
  ///   operations and a hash of their results.
  private func measure(
    _ name: String, _ unit: String, roundCount: Int = 1,
    _ body: (_ store: any EntryStore, _ engine: Int, _ round: Int) throws -> (Int, UInt64)
  ) throws {
    let names = engines.map(\.name)
    var rounds = Rounds(engines: names)
    for round in 0..<roundCount {
      progress.show("redb-\(name)", fraction: Double(round) / Double(roundCount))
      var found = names.map { _ in UInt64(0) }
      for position in stores.indices {
        let engine = (position + round) % stores.count
        var count = 0
        let elapsed = try ContinuousClock().measure {
          (count, found[engine]) = try body(stores[engine], engine, round)
        }
        rounds.add(operationCount: count, rate: Double(count) / elapsed.inSeconds, engine)
      }
      try requireEqual(found, of: names)
      hash = fold(hash, found[0])
    }
    phases.append(
      Phase(name: "redb-" + name, unit: unit, comparison: rounds.comparison, isRate: true))
  }

  private func load() throws {
    try measure("bulk-load", "rows/s") { store, engine, _ in
      let most = min(self.engines[engine].mostPutsPerTransaction, self.loadedCount)
      var maker = EntryMaker(valueByteCount: Self.valueByteCount)
      for start in stride(from: 0, to: self.loadedCount, by: most) {
        let range = start..<min(start + most, self.loadedCount)
        try store.put(range, &maker, isDurable: true)
      }
      return (self.loadedCount, 0)
    }
    entryCount = loadedCount
  }

  private func write(
    _ name: String, commitCount: Int, putsPerCommit: Int, isDurable: Bool
  ) throws {
    let perRound = max(commitCount / Self.roundCount, 1)
    let first = entryCount
    let unit = putsPerCommit == 1 ? "commits/s" : "rows/s"
    try measure(name, unit, roundCount: Self.roundCount) { store, _, round in
      var maker = EntryMaker(valueByteCount: Self.valueByteCount)
      for commit in 0..<perRound {
        let start = first + (round * perRound + commit) * putsPerCommit
        if putsPerCommit == 1 {
          maker.make(start)
          try store.put(maker.key, maker.value.span.bytes, isDurable: isDurable)
        } else {
          try store.put(start..<start + putsPerCommit, &maker, isDurable: isDurable)
        }
      }
      return (perRound * putsPerCommit, 0)
    }
    entryCount += Self.roundCount * perRound * putsPerCommit
  }

  private func read() throws {
    let count = max(loadedCount / 5, 1)
    try measure("reads", "reads/s", roundCount: Self.readRoundCount) { store, _, _ in
      (count, try Self.read(0..<count, try store.reader(isPinned: true)))
    }
  }

  private static func read(_ numbers: Range<Int>, _ reader: some EntryReader) throws -> UInt64 {
    var maker = EntryMaker(valueByteCount: valueByteCount)
    var hash: UInt64 = 0
    for number in numbers { hash = try reader.read(number, &maker, into: hash) }
    return hash
  }

  private func readRanges() throws {
    let count = max(loadedCount / 10, 1)
    try measure("ranges", "ranges/s", roundCount: Self.readRoundCount) { store, _, _ in
      (count, try Self.scan(0..<count, try store.reader(isPinned: true)))
    }
  }

  private static func scan(_ numbers: Range<Int>, _ reader: some EntryReader) throws -> UInt64 {
    var maker = EntryMaker(valueByteCount: valueByteCount)
    var hash: UInt64 = 0
    for number in numbers {
      hash = try reader.scan(from: number, count: entriesPerScan, &maker, into: hash)
    }
    return hash
  }

  /// Measures reads of all entries, divided among the threads.
  private func read(threadCount: Int) throws {
    let share = entryCount / threadCount
    try measure("reads-\(threadCount)", "reads/s") { store, _, _ in
      let hashes = try concurrently(threadCount) { thread in
        let numbers = thread * share..<(thread + 1) * share
        return try Self.read(numbers, try store.reader(isPinned: true))
      }
      return (share * threadCount, hashes.reduce(0, fold))
    }
  }

  private func remove() throws {
    try measure("removals", "rows/s") { store, _, _ in
      let count = self.entryCount / 2
      var maker = EntryMaker(valueByteCount: Self.valueByteCount)
      try store.write(isDurable: true) { writer in
        for number in 0..<count {
          maker.makeKey(of: number)
          try writer.remove(maker.key)
        }
      }
      return (count, 0)
    }
  }

  private func measureSize(_ name: String) throws {
    var rounds = Rounds(engines: engines.map(\.name))
    for engine in engines.indices {
      let byteCount = try directory.allocatedByteCount(storeName(engine))
      rounds.add(operationCount: 1, rate: Double(byteCount), engine)
    }
    phases.append(
      Phase(name: "redb-" + name, unit: "bytes", comparison: rounds.comparison, isRate: false))
  }
}

extension EntryStore {
  /// Puts a range of entries in one transaction.
  fileprivate func put(_ numbers: Range<Int>, _ maker: inout EntryMaker, isDurable: Bool) throws {
    try write(isDurable: isDurable) { writer in
      for number in numbers {
        maker.make(number)
        try writer.put(maker.key, maker.value.span.bytes)
      }
    }
  }
}
