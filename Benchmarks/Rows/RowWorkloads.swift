import HeartwoodEngine

/// The row workloads, in which Heartwood and the peers take turns.
///
/// Reads and commits use fully loaded stores, which are created when the first of these workloads
/// runs. Each workload uses these stores as left by the previous workload. Loads and checkpoints
/// use separate stores.
final class RowWorkloads {
  /// The engines: Heartwood first, then the peers.
  let engines: [any RowEngine]
  private let rows: QuakeRows
  private let directory: StoreDirectory
  private let seconds: Double
  private let progress: Progress
  private var loaded: [any RowStore] = []

  private static let rowsPerTransaction = 10_000

  init(
    _ engines: [any RowEngine], _ rows: QuakeRows, _ directory: StoreDirectory, seconds: Double,
    _ progress: Progress
  ) {
    self.engines = engines
    self.rows = rows
    self.directory = directory
    self.seconds = seconds
    self.progress = progress
  }

  private var names: [String] { engines.map(\.name) }

  /// Measures loads in key order or in random order.
  func load(_ workload: Workload, isSorted: Bool) throws -> Alternation.Outcome {
    let block = isSorted ? [] : rows.shuffledBlock()
    let alternation = Alternation(name: workload.rawValue, seconds: seconds, progress: progress)
    return try alternation.run(engineNames: names) { engine, _ in
      try withNewStore(engine) { store in
        let load = isSorted ? try store.loading() : { try self.putAll(block, into: store) }
        let turn = try Alternation.Turn(rows.count) {
          try load()
          return 0
        }
        var scan = try store.scans()
        _ = try scan.turn()
        return Alternation.Turn(rows.count, turn.duration, hash: scan.hash)
      }
    }
  }

  private func putAll(_ block: [UInt8], into store: any RowStore) throws {
    for start in stride(from: 0, to: rows.count, by: Self.rowsPerTransaction) {
      try store.put(start..<min(start + Self.rowsPerTransaction, rows.count), of: block)
    }
  }

  private func withNewStore(
    _ engine: Int, _ body: (any RowStore) throws -> Alternation.Turn
  ) throws -> Alternation.Turn {
    let name = StoreDirectory.scratch + "-" + engines[engine].name
    try directory.remove(name)
    defer { try? directory.remove(name) }
    let store = try engines[engine].makeStore(in: directory.path + "/" + name, rows)
    let turn = try body(store)
    try store.finish()
    return turn
  }

  /// Measures the work that `groups` creates for each engine.
  ///
  /// Each `Work` has its own thread.
  func run(
    _ workload: Workload, _ groups: (any RowStore) throws -> [any Work]
  ) throws -> Harness.Outcome {
    try harness(workload).run(
      try stores().enumerated().map { engine, store in
        Harness.Contestant(engine: names[engine], groups: [try groups(store)])
      })
  }

  /// Measures point reads of a pinned state while another thread commits.
  ///
  /// Checkpoints run automatically.
  func readWhileWriting(_ workload: Workload, readerCount: Int) throws -> Harness.Outcome {
    let contestants = try stores().enumerated().map { engine, store in
      Harness.Contestant(
        engine: names[engine],
        groups: [
          try integerReads(of: store, threadCount: readerCount),
          [try store.commits(.normal, seed: workload.seed)],
        ],
        checkpointCount: { store.checkpointCount })
    }
    return try harness(workload).run(contestants, hasTimeline: true)
  }

  /// Creates point reads by row number for several threads that start at different rows.
  func integerReads(of store: any RowStore, threadCount: Int) throws -> [any Work] {
    try (0..<threadCount).map { try store.integerReads(from: $0 * rows.count / threadCount) }
  }

  /// Returns the fully loaded stores.
  private func stores() throws -> [any RowStore] {
    guard loaded.isEmpty else { return loaded }
    loaded = try engines.map { engine in
      progress.show("loading \(engine.name)", fraction: 0)
      let store = try engine.makeStore(in: directory.path + "/" + Self.storeName(engine.name), rows)
      try store.loading()()
      try store.loadCodes()
      try store.checkpoint()
      return store
    }
    return loaded
  }

  /// Returns the name of an engine's store.
  ///
  /// The name of a peer's store contains the peer's name. Heartwood's store has a fixed name,
  /// because it remains in the directory specified with `--path`.
  private static func storeName(_ engine: String) -> String {
    engine == Engine.heartwood ? StoreDirectory.measured : StoreDirectory.measured + "-" + engine
  }

  private func harness(_ workload: Workload) -> Harness {
    Harness(name: workload.rawValue, seconds: seconds, progress: progress)
  }

  /// Checks the stores, and removes the peers' stores.
  func finish() throws {
    for (engine, store) in loaded.enumerated() {
      progress.show("verifying \(names[engine])", fraction: 0)
      try store.finish()
      if engine > 0 { try directory.remove(Self.storeName(names[engine])) }
    }
    loaded = []
  }

  /// Measures checkpoints of newly loaded stores, for Heartwood only.
  func checkpoints() throws -> Slices {
    var rounds = Rounds(engines: [Engine.heartwood])
    for round in 0..<Harness.roundCount {
      progress.show(
        Workload.checkpoint.rawValue, fraction: Double(round) / Double(Harness.roundCount))
      let store = try directory.makeStore(StoreDirectory.scratch, checkpointsItself: false)
      try HeartwoodRowStore(store, rows).loading()()
      var pageCount = 0
      let elapsed = try ContinuousClock().measure {
        pageCount = try store.checkpoint().pageCount
      }
      rounds.add(operationCount: pageCount, rate: Double(pageCount) / elapsed.inSeconds, 0)
      try store.close()
      try directory.remove(StoreDirectory.scratch)
    }
    return rounds.comparison.slices[0]
  }
}
