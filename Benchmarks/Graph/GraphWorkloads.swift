import Foundation

/// The workloads of objects, each done by all engines in turn on the same data.
///
/// Items are GRDB's measure: ten integers, of which a program reads 200,000 and inserts 50,000.
final class GraphWorkloads {
  /// Heartwood first, then the peers.
  let engines: [any GraphEngine]
  private let folder: StoreFolder
  private let progress: Progress
  private let seconds: Double
  private let quakes: [Quake]
  private let shuffledCodes: [String]
  /// Stores with all items and quakes, one for each engine, made when they are needed.
  private var loaded: [any GraphStore] = []

  private static let mostRows = 200_000
  private static let lookupsPerTurn = 1024
  private static let queriesPerTurn = 4
  /// What a quake must have to be among the newest strong ones.
  private static let magnitude: Float = 4.5

  init(
    _ engines: [any GraphEngine], _ rows: QuakeRows, _ folder: StoreFolder, seconds: Double,
    _ progress: Progress
  ) {
    self.engines = engines
    self.folder = folder
    self.progress = progress
    self.seconds = seconds
    let count = min(rows.count, Self.mostRows)
    quakes = (0..<Int64(count)).map { rows.quake($0) }
    var random = RandomNumbers(seed: 2)
    shuffledCodes = quakes.map(\.code).shuffled(using: &random)
  }

  /// Measures one workload.
  func measure(_ workload: Workload) throws -> Alternation.Outcome {
    let alternation = Alternation(name: workload.rawValue, seconds: seconds, progress: progress)
    let names = engines.map(\.name)
    switch workload {
    case .graphInsert:
      let count = max(quakes.count / 4, 1)
      return try alternation.run(engineNames: names) { engine, _ in
        try insert(engine, count) {
          try $0.insertItems(count)
        } check: {
          try $0.readItems()
        }
      }
    case .graphBatchInsert:
      let sample = quakes.map(\.code).prefix(Self.lookupsPerTurn)
      return try alternation.run(engineNames: names) { engine, _ in
        try insert(engine, quakes.count) { [quakes] in
          try $0.insertQuakes(quakes)
        } check: {
          try $0.findQuakes(sample)
        }
      }
    case .graphRead:
      let stores = try loadedStores()
      return try alternation.run(engineNames: names) { engine, _ in
        try Alternation.Turn(quakes.count) { try stores[engine].readItems() }
      }
    case .graphFind:
      let stores = try loadedStores()
      return try alternation.run(engineNames: names) { engine, round in
        let start = round * Self.lookupsPerTurn % shuffledCodes.count
        let codes = shuffledCodes[start...].prefix(Self.lookupsPerTurn)
        return try Alternation.Turn(codes.count) { try stores[engine].findQuakes(codes) }
      }
    case .graphNewest:
      let stores = try loadedStores()
      return try alternation.run(engineNames: names) { engine, _ in
        try Alternation.Turn(Self.queriesPerTurn) {
          try stores[engine].findNewest(magnitude: Self.magnitude, times: Self.queriesPerTurn)
        }
      }
    default: preconditionFailure("\(workload.rawValue) is no workload of objects")
    }
  }

  /// Checks the stores that are still open, and removes them.
  func finish() throws {
    for (engine, store) in zip(engines, loaded) {
      progress.show("verifying", fraction: 0)
      try store.finish()
      try folder.remove(StoreFolder.graph(engine.name))
    }
    loaded = []
  }

  /// A turn that fills a store made for it; only the filling is timed.
  private func insert(
    _ engine: Int, _ count: Int, _ body: (any GraphStore) throws -> Void,
    check: (any GraphStore) throws -> UInt64
  ) throws -> Alternation.Turn {
    let name = StoreFolder.graph("new-" + engines[engine].name)
    let store = try engines[engine].makeStore(in: folder.path + "/" + name)
    defer { try? folder.remove(name) }
    let filling = try Alternation.Turn(count) {
      try body(store)
      return 0
    }
    let turn = Alternation.Turn(count, filling.duration, hash: try check(store))
    try store.finish()
    return turn
  }

  private func loadedStores() throws -> [any GraphStore] {
    guard loaded.isEmpty else { return loaded }
    for engine in engines {
      progress.show("loading \(engine.name)", fraction: 0)
      let store = try engine.makeStore(in: folder.path + "/" + StoreFolder.graph(engine.name))
      loaded.append(store)
      try store.insertItems(quakes.count)
      try store.insertQuakes(quakes)
      try store.settle()
    }
    return loaded
  }
}
