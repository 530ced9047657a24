import Foundation

/// The object workloads, in which all engines take turns with the same data.
///
/// As in GRDB's benchmark, 200,000 items of ten integers are read, and 50,000 are inserted.
final class GraphWorkloads {
  /// The engines: Heartwood first, then the peers.
  let engines: [any GraphEngine]
  private let directory: StoreDirectory
  private let progress: Progress
  private let seconds: Double
  private let rows: QuakeRows
  private let objectCount: Int
  private(set) lazy var quakes = (0..<Int64(min(rows.count, objectCount))).map { rows.quake($0) }
  private lazy var shuffledCodes: [String] = {
    var random = RandomNumbers(seed: 2)
    return quakes.map(\.code).shuffled(using: &random)
  }()
  /// The fully loaded stores, keyed by the index of the engine.
  ///
  /// Each store is created when it is first used.
  private var loaded: [Int: any GraphStore] = [:]

  private static let lookupsPerTurn = 1024
  private static let queriesPerTurn = 4
  private static let countsPerTurn = 16
  private static let savesPerTurn = 100
  private static let deletionsPerTurn = 5000
  private static let texts = ["km N of", "Alaska", "xyz"]
  /// The minimum magnitude in the workload that fetches the newest quakes.
  private static let magnitude: Float = 4.5

  init(
    _ engines: [any GraphEngine], _ rows: QuakeRows, objectCount: Int,
    _ directory: StoreDirectory, seconds: Double, _ progress: Progress
  ) {
    self.engines = engines
    self.directory = directory
    self.progress = progress
    self.seconds = seconds
    self.rows = rows
    self.objectCount = objectCount
  }

  /// Measures one workload.
  func measure(_ workload: Workload) throws -> Alternation.Outcome {
    let alternation = Alternation(name: workload.rawValue, seconds: seconds, progress: progress)
    return try alternation.run(engineNames: engines.map(\.name)) { engine, round in
      try turn(workload, engine, round)
    }
  }

  private func turn(
    _ workload: Workload, _ engine: Int, _ round: Int
  ) throws -> Alternation.Turn {
    switch workload {
    case .graphInsert:
      let count = max(quakes.count / 4, 1)
      return try insert(engine, count) { store in
        try store.insertItems(count)
      } check: { store in
        try store.readItems()
      }
    case .graphBatchInsert:
      let quakes = quakes
      return try insert(engine, quakes.count) { store in
        try store.insertQuakes(quakes)
      } check: { store in
        try store.findQuakes(shuffledCodes.prefix(Self.lookupsPerTurn))
      }
    case .graphRead:
      let store = try loadedStore(of: engine)
      return try Alternation.Turn(quakes.count) { try store.readItems() }
    case .graphFind:
      let store = try loadedStore(of: engine)
      let codes = codes(of: round)
      return try Alternation.Turn(codes.count) { try store.findQuakes(codes) }
    case .graphLookup:
      let store = try loadedStore(of: engine)
      let codes = codes(of: round)
      return try Alternation.Turn(codes.count) { try store.lookUpQuakes(codes) }
    case .graphNewest:
      let store = try loadedStore(of: engine)
      return try Alternation.Turn(Self.queriesPerTurn) {
        try store.findNewest(magnitude: Self.magnitude, times: Self.queriesPerTurn)
      }
    case .graphCount:
      let store = try loadedStore(of: engine)
      return try Alternation.Turn(Self.countsPerTurn) {
        try store.countQuakes(in: timeRanges(of: round))
      }
    case .graphContains:
      let store = try loadedStore(of: engine)
      return try Alternation.Turn(Self.texts.count) {
        try store.countQuakes(containing: Self.texts)
      }
    case .graphSave:
      let store = try loadedStore(of: engine)
      let codes = codes(of: round).prefix(Self.savesPerTurn)
      return try Alternation.Turn(codes.count) {
        try store.changeQuakes(codes, depth: Float(round))
        return 0
      }
    case .graphDelete:
      let codes = shuffledCodes.prefix(Self.deletionsPerTurn)
      return try change(engine, codes.count) { try $0.deleteQuakes(codes) }
    default: preconditionFailure("\(workload.rawValue) is not an object workload.")
    }
  }

  /// Returns the time ranges of a round, each of which contains about a tenth of the quakes.
  private func timeRanges(of round: Int) -> [Range<Double>] {
    var random = RandomNumbers(seed: UInt64(round))
    return (0..<Self.countsPerTurn).map { _ in
      let first = Double(random.next() % 900) / 1000
      return moment(first)..<moment(first + 0.1)
    }
  }

  /// Returns the time at a given fraction of the interval between the first and the last quake.
  private func moment(_ share: Double) -> Double {
    let (first, last) = times
    return first + (last - first) * share
  }

  private lazy var times: (first: Double, last: Double) = {
    let all = quakes.map(\.seconds)
    return (all.min() ?? 0, all.max() ?? 1)
  }()

  /// Returns the codes of the quakes to find in a round.
  private func codes(of round: Int) -> ArraySlice<String> {
    let start = round * Self.lookupsPerTurn % shuffledCodes.count
    return shuffledCodes[start...].prefix(Self.lookupsPerTurn)
  }

  /// Checks and removes the stores that are still open.
  func finish() throws {
    for (engine, store) in loaded {
      progress.show("verifying", fraction: 0)
      try store.finish()
      try directory.remove(StoreDirectory.graph(engines[engine].name))
    }
    loaded = [:]
  }

  /// Runs a turn that inserts objects into a new store, and times only the insertions.
  private func insert(
    _ engine: Int, _ count: Int, _ body: (any GraphStore) throws -> Void,
    check: (any GraphStore) throws -> UInt64
  ) throws -> Alternation.Turn {
    let name = StoreDirectory.graph("new-" + engines[engine].name)
    let store = try engines[engine].makeStore(in: directory.path + "/" + name)
    defer { try? directory.remove(name) }
    let filling = try Alternation.Turn(count) {
      try body(store)
      return 0
    }
    let turn = Alternation.Turn(count, filling.duration, hash: try check(store))
    try store.finish()
    return turn
  }

  /// Runs a turn that changes the quakes of a new store, and times only the change.
  private func change(
    _ engine: Int, _ count: Int, _ body: (any GraphStore) throws -> Void
  ) throws -> Alternation.Turn {
    let name = StoreDirectory.graph("new-" + engines[engine].name)
    let store = try engines[engine].makeStore(in: directory.path + "/" + name)
    defer { try? directory.remove(name) }
    try store.insertQuakes(quakes)
    try store.checkpoint()
    let turn = try Alternation.Turn(count) {
      try body(store)
      return 0
    }
    try store.finish()
    return turn
  }

  /// Returns the fully loaded store of an engine.
  private func loadedStore(of engine: Int) throws -> any GraphStore {
    if let store = loaded[engine] { return store }
    let name = engines[engine].name
    progress.show("loading \(name)", fraction: 0)
    let store = try engines[engine].makeStore(in: directory.path + "/" + StoreDirectory.graph(name))
    try store.insertItems(quakes.count)
    try store.insertQuakes(quakes)
    try store.checkpoint()
    loaded[engine] = store
    return store
  }
}
