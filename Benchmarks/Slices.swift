/// The rates of one workload in several windows of time, or of several rounds.
struct Slices {
  /// Operations per second, one number for each window.
  private let rates: [Double]
  /// Operations timed in all windows together.
  let operationCount: Int
  /// Threads that shared the work.
  let threadCount: Int

  /// There must be at least one rate.
  init(rates: [Double], operationCount: Int, threadCount: Int = 1) {
    self.rates = rates.sorted()
    self.operationCount = operationCount
    self.threadCount = threadCount
  }

  /// The value that is reported: half of the windows were slower, half faster.
  var median: Double {
    guard !rates.isEmpty else { return 0 }
    let middle = rates.count / 2
    return rates.count % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2
  }

  var lowest: Double { rates.first ?? 0 }
  var highest: Double { rates.last ?? 0 }

  /// How long one operation took the thread that did it.
  var nanosecondsPerOperation: Double { Double(threadCount) * 1e9 / median }
}

extension Duration {
  /// The duration in seconds.
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
