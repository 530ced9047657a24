/// The rates of one workload in several rounds or windows of time.
struct Slices {
  /// The operations per second in each window.
  private let rates: Spread
  /// The number of timed operations in all windows.
  let operationCount: Int
  /// The number of threads that shared the work.
  let threadCount: Int

  /// Creates a summary of the rates of all windows.
  ///
  /// - Precondition: There is at least one rate.
  init(rates: [Double], operationCount: Int, threadCount: Int = 1) {
    self.rates = Spread(rates)
    self.operationCount = operationCount
    self.threadCount = threadCount
  }

  /// The reported rate, which is the median of all windows.
  var median: Double { rates.median }
  var lowest: Double { rates.lowest }
  var highest: Double { rates.highest }

  /// The average duration of one operation on the thread that runs it.
  var nanosecondsPerOperation: Double { Double(threadCount) * 1e9 / median }
}

/// Several measurements of the same quantity.
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
