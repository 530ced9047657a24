/// The workloads on orders, whose model is typical: strings, dates, optional values, an enumeration
/// and a relationship.
final class OrderWorkloads {
  private let engines: [any OrderEngine]
  private let directory: StoreDirectory
  private let progress: Progress
  private let seconds: Double
  private lazy var orders = (0..<Order.count).map { Order($0) }
  /// The loaded stores, keyed by the index of the engine.
  ///
  /// Each store is created when it is first used.
  private var loaded: [Int: any OrderStore] = [:]

  private static let rangesPerTurn = 4
  private static let changesPerTurn = 10_000

  init(
    _ engines: [any OrderEngine], _ directory: StoreDirectory, seconds: Double,
    _ progress: Progress
  ) {
    self.engines = engines
    self.directory = directory
    self.seconds = seconds
    self.progress = progress
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
    if workload == .ordersInsert { return try insert(engine) }
    let store = try loadedStore(of: engine)
    switch workload {
    case .ordersRead: return try Alternation.Turn(orders.count) { try store.readAll() }
    case .ordersRange:
      let ranges = ranges(of: round)
      return try Alternation.Turn(ranges.count) { try store.readHighest(in: ranges) }
    case .ordersMembers: return try Alternation.Turn(orders.count) { try store.sumByCustomer() }
    case .ordersUpdate:
      let end = orders[min(Self.changesPerTurn, orders.count) - 1].number + 1
      return try Alternation.Turn(min(Self.changesPerTurn, orders.count)) {
        try store.change(below: end, freight: Double(round))
        return 0
      }
    default: preconditionFailure("\(workload.rawValue) is not a workload on orders.")
    }
  }

  /// Returns the time ranges of a round, each of which contains about a quarter of the orders.
  private func ranges(of round: Int) -> [Range<Double>] {
    var random = RandomNumbers(seed: UInt64(round))
    let (first, last) = (orders[0].ordered, orders[orders.count - 1].ordered)
    return (0..<Self.rangesPerTurn).map { _ in
      let start = first + (last - first) * Double(random.next() % 750) / 1000
      return start..<start + (last - first) / 4
    }
  }

  private func insert(_ engine: Int) throws -> Alternation.Turn {
    let name = StoreDirectory.graph("new-orders-" + engines[engine].name)
    let store = try engines[engine].makeOrderStore(in: directory.path + "/" + name)
    defer { try? directory.remove(name) }
    let filling = try Alternation.Turn(orders.count) {
      try store.insert(orders)
      return 0
    }
    let turn = Alternation.Turn(orders.count, filling.duration, hash: try store.readAll())
    try store.finish()
    return turn
  }

  private func loadedStore(of engine: Int) throws -> any OrderStore {
    if let store = loaded[engine] { return store }
    let name = StoreDirectory.graph("orders-" + engines[engine].name)
    let store = try engines[engine].makeOrderStore(in: directory.path + "/" + name)
    try store.insert(orders)
    try store.checkpoint()
    loaded[engine] = store
    return store
  }

  /// Checks and removes the stores that are still open.
  func finish() throws {
    for (engine, store) in loaded {
      try store.finish()
      try directory.remove(StoreDirectory.graph("orders-" + engines[engine].name))
    }
    loaded = [:]
  }
}
