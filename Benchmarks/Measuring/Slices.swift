/// The rates of one workload in several windows of time, or of several rounds.
struct Slices {
  /// Operations per second, one number for each window.
  private let rates: Spread
  /// Operations timed in all windows together.
  let operationCount: Int
  /// Threads that shared the work.
  let threadCount: Int

  /// There must be at least one rate.
  init(rates: [Double], operationCount: Int, threadCount: Int = 1) {
    self.rates = Spread(rates)
    self.operationCount = operationCount
    self.threadCount = threadCount
  }

  /// The value that is reported: half of the windows were slower, half faster.
  var median: Double { rates.median }
  var lowest: Double { rates.lowest }
  var highest: Double { rates.highest }

  /// How long one operation took the thread that did it.
  var nanosecondsPerOperation: Double { Double(threadCount) * 1e9 / median }
}

/// Several measurements of the same thing.
struct Spread {
  private let sorted: [Double]

  init(_ values: [Double]) { sorted = values.sorted() }

  var median: Double {
    guard !sorted.isEmpty else { return 0 }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  var lowest: Double { sorted.first ?? 0 }
  var highest: Double { sorted.last ?? 0 }
}

extension Duration {
  /// The duration in seconds.
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
