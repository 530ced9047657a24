import HeartwoodEngine

/// One run of the benchmark, which measures the workloads and collects the results.
struct Session {
  private let options: BenchOptions
  private let rows: QuakeRows
  private let directory: StoreDirectory
  private let progress: Progress
  private let peers: Peers
  private let rowWorkloads: RowWorkloads
  private let graph: GraphWorkloads
  private let orders: OrderWorkloads
  private let texts: TextWorkloads
  private let entries: EntryWorkloads
  private(set) var table = ResultTable()
  /// Results that are not in the table.
  ///
  /// Each result is a sentence on one line.
  private(set) var notes: [String] = []
  /// A hash of the results of all reads.
  private(set) var hash: UInt64 = 0

  init(
    _ options: BenchOptions, _ rows: QuakeRows, _ directory: StoreDirectory, _ progress: Progress
  ) throws {
    self.options = options
    self.rows = rows
    self.directory = directory
    self.progress = progress
    peers = try Peers(wanted: options.hasPeers, readsAhead: options.entriesFitInMemory)
    rowWorkloads = RowWorkloads(
      [HeartwoodRows(options: options.store)] + peers.rowEngines, rows, directory,
      seconds: options.seconds, progress)
    graph = GraphWorkloads(
      [HeartwoodGraph(options: options.store)] + peers.graphEngines, rows,
      objectCount: options.objectCount, directory, seconds: options.seconds, progress)
    orders = OrderWorkloads(
      [HeartwoodGraph(options: options.store)] + peers.orderEngines, directory,
      seconds: options.seconds, progress)
    texts = TextWorkloads(
      [HeartwoodGraph(options: options.store)] + peers.textEngines, count: options.objectCount,
      places: try options.feed.map { try QuakeFeed.read(path: $0).map(\.place) } ?? [], directory,
      seconds: options.seconds, progress)
    entries = EntryWorkloads(
      [HeartwoodEntries(options: options.entryStore)] + peers.entryEngines, directory,
      entryCount: options.entryCount, seconds: options.seconds, progress)
  }

  /// Measures one workload and adds its lines to the table.
  mutating func measure(_ workload: Workload) throws {
    let all = rowWorkloads
    switch workload {
    case .loadSorted: try add(workload, "rows/s", all.load(workload, isSorted: true))
    case .loadRandom: try add(workload, "rows/s", all.load(workload, isSorted: false))
    case .checkpoint: add(workload.rawValue, "pages/s", try all.checkpoints())
    case .openLog: try openLog(workload)
    case .readInt: try read(workload) { try all.integerReads(of: $0, threadCount: 1) }
    case .readIntTwice: try read(workload) { try all.integerReads(of: $0, threadCount: 2) }
    case .getMany: try read(workload) { [try $0.integerReadsTogether()] }
    case .readString: try read(workload) { [try $0.stringReads()] }
    case .scan: try run(workload, "rows/s") { [try $0.scans()] }
    case .beginGetEnd: try read(workload) { [try $0.snapshotPerRead()] }
    case .readWhileWriting: try readWhileWriting(workload, readerCount: 1, idle: .readInt)
    case .readWhileWritingTwice:
      try readWhileWriting(workload, readerCount: 2, idle: .readIntTwice)
    case .commitNormal: try commit(workload, .normal, threadCount: 1)
    case .commitFull: try commit(workload, .full, threadCount: 1)
    case .commitFullEight: try commit(workload, .full, threadCount: 8)
    case .overwrite: try overwrite()
    case .scaling: try scale()
    case .pinnedImport: try importWhilePinned(workload)
    case .liveResults: try takeOverChanges(workload)
    case .feed: try followChanges(workload)
    case .redb: try runRedbTable()
    case .ycsbA, .ycsbB, .ycsbC, .ycsbD, .ycsbE, .ycsbF: try runYCSB(workload)
    case .uniformReads: add(workload, "reads/s", try entries.runReads(workload))
    case .readWhileHeld: try readWhileHeld(workload)
    case .graphInsert, .graphBatchInsert, .graphRead:
      try add(workload, "rows/s", graph.measure(workload), engines: graph.engines.map(\.name))
    case .graphFind, .graphLookup, .graphNewest, .graphCount, .graphContains, .graphSave,
      .graphDelete:
      try add(workload, "fetches/s", graph.measure(workload), engines: graph.engines.map(\.name))
    case .ordersInsert, .ordersRead, .ordersMembers, .ordersUpdate:
      try add(workload, "rows/s", orders.measure(workload), engines: graph.engines.map(\.name))
    case .textBuild, .textUpdate:
      try add(workload, "texts/s", texts.measure(workload), engines: graph.engines.map(\.name))
    case .textWord, .textBoth, .textPhrase, .textPrefix:
      try add(workload, "fetches/s", texts.measure(workload), engines: graph.engines.map(\.name))
    case .ordersRange:
      try add(workload, "fetches/s", orders.measure(workload), engines: graph.engines.map(\.name))
    }
  }

  /// The comparison of Heartwood with its peers, as a table and sentences, or `nil` if there is
  /// nothing to compare.
  var comparison: String? {
    guard options.hasPeers, table.measurements.contains(where: \.isCompared) else { return nil }
    return """
      \(table.comparison(with: Engine.peers))

      ratio: Heartwood's rate divided by the peer's in the same round; median, min and max
      \(engineDescriptions.joined(separator: "\n"))
      """
  }

  /// A line with the configuration of each engine, and a line for each missing engine.
  var engineDescriptions: [String] {
    rowWorkloads.engines.map { "\($0.name), rows: \($0.description)" }
      + graph.engines.map { "\($0.name), objects: \($0.description)" } + peers.missing
  }

  /// Checks the stores and closes them.
  mutating func finish() throws {
    try graph.finish()
    try orders.finish()
    notes += texts.notes
    try texts.finish()
    try entries.finish()
    try rowWorkloads.finish()
  }
}

extension Session {
  private var rowEngineNames: [String] { rowWorkloads.engines.map(\.name) }

  private mutating func read(
    _ workload: Workload, _ work: (any RowStore) throws -> [any Work]
  ) throws {
    try run(workload, "reads/s", work)
  }

  private mutating func commit(
    _ workload: Workload, _ durability: StoreOptions.Durability, threadCount: Int
  ) throws {
    try run(workload, "commits/s") { store in
      try (0..<threadCount).map { try store.commits(durability, seed: workload.seed + UInt64($0)) }
    }
  }

  private mutating func run(
    _ workload: Workload, _ unit: String, _ work: (any RowStore) throws -> [any Work]
  ) throws {
    let outcome = try rowWorkloads.run(workload, work)
    hash = fold(hash, outcome.hash)
    // Do not report latencies for scans: a turn is a complete scan, so individual operations cannot
    // be timed.
    let latencies = workload == .scan ? [] : outcome.latencies
    add(
      workload.rawValue, unit, outcome.groups[0], engines: rowEngineNames, latencies: latencies)
  }

  private mutating func readWhileWriting(
    _ workload: Workload, readerCount: Int, idle: Workload
  ) throws {
    let outcome = try rowWorkloads.readWhileWriting(workload, readerCount: readerCount)
    hash = fold(hash, outcome.hash)
    add(
      workload.rawValue, "reads/s", outcome.groups[0], engines: rowEngineNames,
      latencies: outcome.latencies, curves: outcome.timelines.map(\.curves), idle: idle)
    let suffix = readerCount == 1 ? "" : "-\(readerCount)"
    add("writer-commits" + suffix, "commits/s", outcome.groups[1], engines: rowEngineNames)
  }

  private var entryEngineNames: [String] { entries.engines.map(\.name) }

  private mutating func runYCSB(_ workload: Workload) throws {
    guard let mix = YCSBMix(workload) else { return }
    add(workload, "operations/s", try entries.runYCSB(workload, mix))
  }

  private mutating func readWhileHeld(_ workload: Workload) throws {
    let name = workload.rawValue
    let outcome = try entries.readWhileHeld(workload)
    hash = fold(hash, outcome.hash)
    add(
      name, "reads/s", outcome.groups[0], engines: entryEngineNames, latencies: outcome.latencies,
      curves: outcome.timelines.map(\.curves))
    add(name + "-commits", "commits/s", outcome.groups[1], engines: entryEngineNames)
    for (engine, timeline) in zip(entryEngineNames, outcome.timelines) {
      let greatest = timeline.moments.compactMap(\.byteCount).max() ?? 0
      notes.append("\(name): \(engine) occupied at most \(greatest.grouped) bytes")
    }
  }

  private mutating func runRedbTable() throws {
    let redb = RedbTable(
      entries.engines, directory, entryCount: options.entryCount, progress)
    for phase in try redb.run() {
      guard !phase.isRate else {
        add(phase.name, phase.unit, phase.comparison, engines: entryEngineNames)
        continue
      }
      for (engine, slices) in zip(entryEngineNames, phase.comparison.slices) {
        table.append(
          Measurement(workload: phase.name, engine: engine, unit: phase.unit, slices: slices))
        notes.append("\(phase.name): \(engine) occupied \(slices.median.grouped) bytes")
      }
    }
    hash = fold(hash, redb.hash)
  }

  private mutating func scale() throws {
    var count = Workload.smallestScale
    while count <= max(options.largest ?? rows.count, Workload.smallestScale) {
      let rows = count == rows.count ? rows : QuakeRows(generated: count, progress: progress)
      let sized = RowWorkloads(
        rowWorkloads.engines, rows, try directory.inner("scaling"), seconds: options.seconds,
        progress)
      let outcome = try sized.run(.scaling) { try sized.integerReads(of: $0, threadCount: 1) }
      try sized.finish()
      try directory.remove("scaling")
      hash = fold(hash, outcome.hash)
      add(
        "\(Workload.scaling.rawValue)-\(count)", "reads/s", outcome.groups[0],
        engines: rowEngineNames, latencies: outcome.latencies)
      count *= 10
    }
  }

  private mutating func overwrite() throws {
    let overwrites = Overwrites(
      engines: rowWorkloads.engines, rows: rows, directory: directory, progress: progress)
    for outcome in try overwrites.run() {
      let name = Workload.overwrite.rawValue + (outcome.isPinned ? "" : "-unpinned")
      var measurement = Measurement(
        workload: name, engine: outcome.engine, unit: "bytes",
        slices: Slices(rates: [Double(outcome.greatest)], operationCount: outcome.overwriteCount))
      measurement.curves = [outcome.curve]
      table.append(measurement)
      notes.append(
        "\(name): \(outcome.engine) used at most \(outcome.greatest.grouped) bytes for "
          + "\(outcome.overwriteCount.grouped) overwrites")
    }
  }

  private mutating func openLog(_ workload: Workload) throws {
    let openings = Openings(
      directory: directory, rows: rows, progress: progress, seconds: options.seconds,
      logByteCount: options.logByteCount)
    for pagesPerCommit in [1, 100] {
      let name = workload.rawValue + (pagesPerCommit == 1 ? "" : "-\(pagesPerCommit)")
      let result = try openings.measure(pagesPerCommit: pagesPerCommit)
      add(name, "opens/s", result.slices)
      notes.append("\(name): \(result.summary)")
    }
  }

  private mutating func importWhilePinned(_ workload: Workload) throws {
    let name = workload.rawValue
    let outcome = try PinnedImport(
      directory: directory.path + "/" + StoreDirectory.graph(name), quakes: graph.quakes,
      rowCount: rows.count, options: options.store, seconds: options.seconds, progress: progress
    ).run()
    try directory.remove(StoreDirectory.graph(name))
    hash = fold(hash, outcome.hash)
    let idle = outcome.slices(isIdle: true)
    let busy = outcome.slices(isIdle: false)
    add(name + "-idle", "reads/s", idle, latencies: outcome.idle)
    add(
      name, "reads/s", busy, shareOfIdle: busy.median / idle.median, latencies: outcome.busy,
      curves: outcome.curves)
    notes.append("\(name): \(outcome.summary)")
  }

  private mutating func takeOverChanges(_ workload: Workload) throws {
    let name = workload.rawValue
    let stores = StoreDirectory.graph(name)
    let outcome = try LiveResults(graph.quakes, options.store, progress)
      .run(in: directory.path + "/" + stores)
    try directory.remove(stores)
    hash = fold(hash, outcome.hash)
    for (count, slices) in outcome.slices { add("\(name)-\(count)", "updates/s", slices) }
    add(name + "-crowd", "rows/s", outcome.crowd)
    notes.append("\(name): \(outcome.summary)")
  }
}

/// Adds lines to the table.
extension Session {
  private mutating func followChanges(_ workload: Workload) throws {
    let name = workload.rawValue
    let stores = StoreDirectory.graph(name)
    let outcome = try FeedRates(graph.quakes, options.store, progress)
      .run(in: directory.path + "/" + stores)
    try directory.remove(stores)
    hash = fold(hash, outcome.hash)
    add(name + "-out", "changes/s", outcome.out)
    add(name + "-in", "changes/s", outcome.into)
    notes.append("\(name): \(outcome.summary)")
  }

  /// Adds a line for Heartwood only.
  private mutating func add(
    _ name: String, _ unit: String, _ slices: Slices, shareOfIdle: Double? = nil,
    latencies: Latencies? = nil, curves: [Curve] = []
  ) {
    table.append(
      Measurement(
        workload: name, engine: Engine.heartwood, unit: unit, slices: slices,
        shareOfIdle: shareOfIdle, latencies: latencies, curves: curves))
  }

  private mutating func add(
    _ workload: Workload, _ unit: String, _ outcome: Alternation.Outcome, engines: [String]? = nil
  ) throws {
    hash = fold(hash, outcome.hash)
    add(workload.rawValue, unit, outcome.comparison, engines: engines ?? rowEngineNames)
  }

  /// Adds a line for each engine that stores entries with byte keys.
  private mutating func add(
    _ workload: Workload, _ unit: String, _ outcome: Harness.Outcome
  ) {
    hash = fold(hash, outcome.hash)
    add(
      workload.rawValue, unit, outcome.groups[0], engines: entryEngineNames,
      latencies: outcome.latencies)
  }

  /// Adds a line for each engine.
  ///
  /// - Parameter idle: The same workload without a writer, whose rate is the baseline for this
  ///   workload's rate.
  private mutating func add(
    _ name: String, _ unit: String, _ comparison: Comparison, engines: [String],
    latencies: [Latencies] = [], curves: [[Curve]] = [], idle: Workload? = nil
  ) {
    for (index, engine) in engines.enumerated() {
      let slices = comparison.slices[index]
      var measurement = Measurement(
        workload: name, engine: engine, unit: unit, slices: slices)
      measurement.shareOfIdle = idle.flatMap { table.value(of: $0, engine) }.map {
        slices.median / $0
      }
      measurement.isCompared = true
      measurement.heartwoodShare = comparison.shares[engine]
      measurement.latencies = latencies.isEmpty ? nil : latencies[index]
      measurement.curves = curves.isEmpty ? [] : curves[index]
      table.append(measurement)
    }
  }
}
