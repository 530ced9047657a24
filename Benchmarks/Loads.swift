import HeartwoodEngine

/// Loads into new stores, round after round, and the checkpoints after them.
struct Loads {
  let folder: StoreFolder
  let rows: QuakeRows
  let progress: Progress
  /// No round begins after this time; the first always does.
  let seconds: Double

  private static let roundCount = 5
  private static let rowsPerTransaction = 10_000

  /// What loading in key order brought: the figures, and the store of the last round.
  struct Sorted {
    let store: Store
    let load: Slices
    let checkpoint: Slices
  }

  /// Bottom-up loads in key order, each in one transaction and with a checkpoint after it.
  ///
  /// A single round where the figures are not wanted: the store is needed in any case.
  func sorted(isMeasured: Bool) throws -> Sorted {
    let pairs = rows.sortedByNumber()
    var loadRates: [Double] = []
    var checkpointRates: [Double] = []
    var pageCount = 0
    let begin = ContinuousClock.now
    repeat {
      progress.show(
        Workload.loadSorted.rawValue, fraction: fraction(loadRates.count, since: begin))
      // The store's own checkpoint would begin as the load ends, and take pages from the one that
      // is measured.
      let store = try folder.makeStore(StoreFolder.measured, checkpointsItself: false)
      let loading = try ContinuousClock().measure {
        _ = try store.write(durability: .normal) { transaction in
          try transaction.keyspace(KeyspaceName.quakes).load(sorted: pairs)
        }
      }
      loadRates.append(Double(rows.count) / loading.inSeconds)
      var copied = 0
      let checkpointing = try ContinuousClock().measure {
        copied = try store.checkpoint().pageCount
      }
      pageCount += copied
      checkpointRates.append(Double(copied) / checkpointing.inSeconds)
      try store.close()
    } while isMeasured && goesOn(loadRates.count, since: begin)
    return Sorted(
      store: try folder.openStore(StoreFolder.measured),
      load: Slices(rates: loadRates, operationCount: rows.count * loadRates.count),
      checkpoint: Slices(rates: checkpointRates, operationCount: pageCount))
  }

  /// Adds the keyspace of the codes, so that string keys can be read.
  func codes(into store: Store) throws {
    progress.show("loading codes", fraction: 0)
    let pairs = rows.sortedByCode()
    try store.write(durability: .normal) { transaction in
      try transaction.keyspace(KeyspaceName.codes).load(sorted: pairs)
    }
    try store.checkpoint()
  }

  /// Puts in random order, in transactions of 10,000 rows.
  func random() throws -> Slices {
    let block = rows.shuffledBlock()
    var rates: [Double] = []
    let begin = ContinuousClock.now
    repeat {
      let store = try folder.makeStore(StoreFolder.scratch)
      let elapsed = try ContinuousClock().measure {
        try putAll(block, into: store) { share in
          progress.show(Workload.loadRandom.rawValue, fraction: share)
        }
      }
      rates.append(Double(rows.count) / elapsed.inSeconds)
      try store.close()
    } while goesOn(rates.count, since: begin)
    try folder.remove(StoreFolder.scratch)
    return Slices(rates: rates, operationCount: rows.count * rates.count)
  }

  private func putAll(
    _ block: [UInt8], into store: Store, _ report: (_ share: Double) -> Void
  ) throws {
    var position = 0
    while position < rows.count {
      let end = min(position + Self.rowsPerTransaction, rows.count)
      try store.write(durability: .normal) { transaction in
        let quakes = try transaction.keyspace(KeyspaceName.quakes)
        let bytes = block.span.bytes
        for index in position..<end {
          let start = index * QuakeRow.byteCount
          let row = bytes.extracting(start..<start + QuakeRow.byteCount)
          try quakes.put(rows.shuffledNumbers[index], row)
        }
      }
      position = end
      report(Double(position) / Double(rows.count))
    }
  }

  private func goesOn(_ doneCount: Int, since begin: ContinuousClock.Instant) -> Bool {
    doneCount < Self.roundCount && (ContinuousClock.now - begin).inSeconds < seconds
  }

  /// Rounds end by count or by time, whichever comes first.
  private func fraction(_ doneCount: Int, since begin: ContinuousClock.Instant) -> Double {
    max(
      Double(doneCount) / Double(Self.roundCount),
      (ContinuousClock.now - begin).inSeconds / seconds)
  }
}
