/// The results of several engines that took turns at the same work.
struct Comparison {
  /// The rates of each engine.
  let slices: [Slices]
  /// The ratios of the first engine's rate to the other engines' rates, keyed by the names of those
  /// engines.
  ///
  /// The two rates in each ratio are from the same round.
  let shares: [String: Spread]
}

/// The rates of several engines, round by round.
struct Rounds {
  private let engines: [String]
  private let threadCount: Int
  private var rates: [[Double]]
  private var operationCounts: [Int]

  init(engines: [String], threadCount: Int = 1) {
    self.engines = engines
    self.threadCount = threadCount
    rates = engines.map { _ in [] }
    operationCounts = engines.map { _ in 0 }
  }

  /// Adds the result of an engine's turn.
  mutating func add(operationCount: Int, rate: Double, _ engine: Int) {
    rates[engine].append(rate)
    operationCounts[engine] += operationCount
  }

  /// Adds the result of an engine's turn, given the measurements of each thread.
  mutating func add(_ stretches: [Runner.Stretch], _ engine: Int) {
    add(
      operationCount: stretches.reduce(0) { $0 + $1.operationCount },
      rate: stretches.reduce(0) { $0 + Double($1.operationCount) / $1.seconds }, engine)
  }

  var comparison: Comparison {
    let shares = engines.indices.dropFirst().map { engine in
      (engines[engine], Spread(zip(rates[0], rates[engine]).map { $0 / $1 }))
    }
    return Comparison(
      slices: zip(rates, operationCounts).map { rates, operationCount in
        Slices(rates: rates, operationCount: operationCount, threadCount: threadCount)
      },
      shares: Dictionary(uniqueKeysWithValues: shares))
  }
}
