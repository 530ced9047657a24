/// The workloads with byte keys in which Heartwood and the peers take turns on loaded stores.
///
/// The stores are loaded when the first of these workloads runs, with values of 1,000 bytes. Each
/// workload uses the stores as left by the previous workload.
final class EntryWorkloads {
  /// The engines: Heartwood first, then the peers.
  let engines: [any EntryEngine]
  let entryCount: Int
  private let directory: StoreDirectory
  private let seconds: Double
  private let progress: Progress
  private var loaded: [any EntryStore] = []
  private lazy var zipf = Zipf(count: entryCount)
  private let maker = EntryMaker(valueByteCount: valueByteCount)

  static let valueByteCount = 1000
  /// The size of a key and its value in bytes.
  static let entryByteCount = EntryMaker.keyByteCount + valueByteCount
  private static let entriesPerTransaction = 10_000

  init(
    _ engines: [any EntryEngine], _ directory: StoreDirectory, entryCount: Int, seconds: Double,
    _ progress: Progress
  ) {
    self.engines = engines
    self.directory = directory
    self.entryCount = entryCount
    self.seconds = seconds
    self.progress = progress
  }

  private func harness(_ workload: Workload) -> Harness {
    Harness(name: workload.rawValue, seconds: seconds, progress: progress)
  }

  /// Measures a YCSB workload with one thread.
  func runYCSB(_ workload: Workload, _ mix: YCSBMix) throws -> Harness.Outcome {
    let first = insertedCount
    insertedCount += YCSBMix.insertGap
    return try harness(workload).run(
      try stores().enumerated().map { engine, store in
        let work = ycsb(
          store, try store.reader(isPinned: false), mix, from: first, seed: workload.seed)
        return Harness.Contestant(engine: engines[engine].name, groups: [[work]])
      })
  }

  /// The number of entries, including those inserted by previous workloads.
  private lazy var insertedCount = entryCount

  private func ycsb(
    _ store: any EntryStore, _ reader: some EntryReader, _ mix: YCSBMix, from first: Int,
    seed: UInt64
  ) -> any Work {
    YCSBWork(
      store, reader, mix, zipf, entryCount: entryCount, insertsFrom: first, maker, seed: seed)
  }

  /// Measures random point reads in which every entry is equally likely.
  func runReads(_ workload: Workload) throws -> Harness.Outcome {
    try harness(workload).run(
      try stores().enumerated().map { engine, store in
        let work = reads(try store.reader(isPinned: true))
        return Harness.Contestant(engine: engines[engine].name, groups: [[work]])
      })
  }

  private func reads(_ reader: some EntryReader) -> any Work {
    EntryReads(reader, entryCount: entryCount, maker, seed: 5)
  }

  /// Measures reads of the newest state while another thread commits and an otherwise idle reader
  /// pins the first state.
  func readWhileHeld(_ workload: Workload) throws -> Harness.Outcome {
    let stores = try stores()
    let pins = try stores.map { try $0.reader(isPinned: true) }
    defer { withExtendedLifetime(pins) {} }
    let contestants = try stores.enumerated().map { engine, store in
      Harness.Contestant(
        engine: engines[engine].name,
        groups: [
          [reads(try store.reader(isPinned: false))],
          [EntryCommits(store, entryCount: entryCount, maker, seed: workload.seed)],
        ],
        checkpointCount: { store.checkpointCount },
        byteCount: { [directory, name = storeName(engine)] in
          (try? directory.allocatedByteCount(name)) ?? 0
        })
    }
    return try harness(workload).run(contestants, hasTimeline: true)
  }

  /// Returns the loaded stores.
  private func stores() throws -> [any EntryStore] {
    guard loaded.isEmpty else { return loaded }
    loaded = try engines.indices.map { engine in
      let name = storeName(engine)
      try directory.remove(name)
      let store = try engines[engine].makeStore(
        in: directory.path + "/" + name, valueByteCount: Self.valueByteCount)
      try load(store, engines[engine].name)
      return store
    }
    return loaded
  }

  private func load(_ store: any EntryStore, _ engine: String) throws {
    var maker = maker
    for start in stride(from: 0, to: entryCount, by: Self.entriesPerTransaction) {
      progress.show("loading \(engine)", fraction: Double(start) / Double(entryCount))
      try store.write(isDurable: false) { writer in
        for number in start..<min(start + Self.entriesPerTransaction, entryCount) {
          maker.make(number)
          try writer.put(maker.key, maker.value.span.bytes)
        }
      }
    }
  }

  private func storeName(_ engine: Int) -> String { "entries-" + engines[engine].name }

  /// Checks the stores, and removes them.
  func finish() throws {
    for (engine, store) in loaded.enumerated() {
      progress.show("verifying \(engines[engine].name)", fraction: 0)
      try store.finish()
      try directory.remove(storeName(engine))
    }
    loaded = []
  }
}
