import HeartwoodEngine

/// Measures the time it takes to open a store that has a long log and was not closed.
struct Openings {
  let directory: StoreDirectory
  let rows: QuakeRows
  let progress: Progress
  /// The time, in seconds, to spend on repeatedly opening the store.
  ///
  /// The store is opened at least three times, even if that takes longer.
  let seconds: Double
  let logByteCount: Int

  private static let fewestRounds = 3
  /// The number of commits per sync.
  ///
  /// Each sync makes all earlier commits durable too.
  private static let commitsPerSync = 64

  /// The rate at which the store was opened, and a summary of the recovery report.
  struct Result {
    let slices: Slices
    let summary: String
  }

  /// Writes the log, and then opens the store repeatedly.
  ///
  /// - Parameter pagesPerCommit: The number of rows changed by each commit. Each row is in a
  ///   different page if the store has enough pages.
  func measure(pagesPerCommit: Int) throws -> Result {
    try writeLog(pagesPerCommit)
    var rates: [Double] = []
    var reports: [RecoveryReport] = []
    let begin = ContinuousClock.now
    repeat {
      let elapsed = try ContinuousClock().measure {
        // Do not close the store, because closing it would change the log. The store is released at
        // the end of this block.
        reports.append(try directory.openStore(StoreDirectory.scratch).recovery)
      }
      rates.append(1 / elapsed.inSeconds)
    } while rates.count < Self.fewestRounds
      || (ContinuousClock.now - begin).inSeconds < seconds
    try directory.remove(StoreDirectory.scratch)
    let slices = Slices(rates: rates, operationCount: rates.count)
    return Result(slices: slices, summary: Self.summary(slices, reports[0]))
  }

  private static func summary(_ slices: Slices, _ report: RecoveryReport) -> String {
    "\((1000 / slices.median).grouped) ms for \(report.commitCount.grouped) commits, "
      + "\(report.segmentFooterCount.grouped) segments read by their footers, "
      + "\(report.verifiedCommitCount.grouped) commits verified"
  }

  /// Creates the store, writes the log, and returns without closing the store, as after a crash.
  private func writeLog(_ pagesPerCommit: Int) throws {
    let store = try directory.makeStore(StoreDirectory.scratch, checkpointsItself: false)
    try store.write(durability: .normal) { transaction in
      try transaction.keyspace(KeyspaceName.quakes).load(sorted: rows.sortedByNumber())
    }
    try store.checkpoint()
    let start = store.statistics.activity.loggedByteCount
    var written = 0
    var number = 0
    while written < logByteCount {
      let isSynced = number % Self.commitsPerSync == 0
      try store.write(durability: isSynced ? .full : .normal) { transaction in
        let quakes = try transaction.keyspace(KeyspaceName.quakes)
        let distance = max(rows.count / pagesPerCommit, 1)
        let other = rows.row(Int64(number % rows.count))
        for row in 0..<min(pagesPerCommit, rows.count) {
          try quakes.put(Int64((number * 97 + row * distance) % rows.count), other)
        }
      }
      number += 1
      written = store.statistics.activity.loggedByteCount - start
      progress.show(Workload.openLog.rawValue, fraction: Double(written) / Double(logByteCount))
    }
    try store.write(durability: .full) {
      try $0.keyspace(KeyspaceName.quakes).put(Int64(0), rows.row(0))
    }
  }
}
