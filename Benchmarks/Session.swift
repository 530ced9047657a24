import HeartwoodEngine

/// One run on one store: measures workload after workload and collects the results.
struct Session {
  private let options: BenchOptions
  private let rows: QuakeRows
  private let progress: Progress
  private let loads: Loads
  private let loaded: Loads.Sorted
  private let peers: Peers
  private let graph: GraphWorkloads
  private(set) var table = ResultTable()
  /// What is to be said about results beyond their figures, a line each.
  private(set) var notes: [String] = []
  /// What all reads found, folded together.
  private(set) var hash: UInt64 = 0

  /// Loads the store, which all workloads need.
  init(
    _ options: BenchOptions, _ rows: QuakeRows, _ folder: StoreFolder, _ progress: Progress
  ) throws {
    self.options = options
    self.rows = rows
    self.progress = progress
    loads = Loads(folder: folder, rows: rows, progress: progress, seconds: options.seconds * 3)
    let loadWorkloads: Set<Workload> = [.loadSorted, .checkpoint]
    loaded = try loads.sorted(isMeasured: !loadWorkloads.isDisjoint(with: options.workloads))
    try loads.codes(into: loaded.store)
    peers = try Peers(wanted: options.hasPeers)
    graph = GraphWorkloads(
      [HeartwoodGraph(options: options.store)] + peers.graphEngines, rows, folder,
      seconds: options.seconds, progress)
  }

  /// Measures one workload and adds its lines to the table.
  mutating func measure(_ workload: Workload) throws {
    let store = loaded.store
    switch workload {
    case .loadSorted: add(workload, "rows/s", loaded.load)
    case .loadRandom: add(workload, "rows/s", try loads.random())
    case .checkpoint: add(workload, "pages/s", loaded.checkpoint)
    case .openLog: try openLog(workload)
    case .readInt: try time(workload, "reads/s", integerReads(threadCount: 1))
    case .readIntTwice: try time(workload, "reads/s", integerReads(threadCount: 2))
    case .getMany:
      let snapshot = try store.snapshot()
      try time(
        workload, "reads/s", [IntegerReadsTogether(snapshot: snapshot, rows.shuffledNumbers)])
    case .readString:
      let snapshot = try store.snapshot()
      try time(workload, "reads/s", [StringReads(snapshot: snapshot, keys: rows.shuffledCodes)])
    case .scan:
      let snapshot = try store.snapshot()
      try time(workload, "rows/s", [Scans(snapshot: snapshot, rowCount: rows.count)])
    case .beginGetEnd:
      try time(workload, "reads/s", [BeginGetEnd(store: store, numbers: rows.shuffledNumbers)])
    case .readWhileWriting: try readWhileWriting(workload, readerCount: 1, idle: .readInt)
    case .readWhileWritingTwice:
      try readWhileWriting(workload, readerCount: 2, idle: .readIntTwice)
    case .writerCommits:
      if table.value(of: .writerCommits) == nil {
        try readWhileWriting(.readWhileWriting, readerCount: 1, idle: .readInt)
      }
    case .commitNormal: try time(workload, "commits/s", commits(.normal, threadCount: 1))
    case .commitFull: try time(workload, "commits/s", commits(.full, threadCount: 1))
    case .commitFullEight: try time(workload, "commits/s", commits(.full, threadCount: 8))
    case .pinnedImport: try importWhilePinned(workload)
    case .liveResults: try takeOverChanges(workload)
    case .graphInsert, .graphBatchInsert, .graphRead: try compare(workload, "rows/s")
    case .graphFind, .graphLookup, .graphNewest: try compare(workload, "fetches/s")
    }
  }

  /// What the engine did for all of this since the load, as a sentence.
  var activity: String {
    let activity = loaded.store.statistics.activity
    let pages = Double(activity.pagesLogged) / Double(max(activity.commits, 1))
    return "\(activity.commits.grouped) commits (\(pages.grouped) pages logged for each), "
      + "\(activity.logSyncs.grouped) log syncs, \(activity.checkpoints.grouped) checkpoints "
      + "(\(activity.pagesCheckpointed.grouped) pages)"
  }

  /// How Heartwood and the peers did the same work, as a table and sentences; `nil` if there was
  /// nothing to compare.
  var comparison: String? {
    guard options.hasPeers, table.measurements.contains(where: \.isCompared) else { return nil }
    let lines = graph.engines.map { "\($0.name): \($0.description)" } + peers.missing
    return """
      \(table.comparison(with: Engine.peers))

      ratio: Heartwood's rate as a share of the peer's, median, min and max of rounds in turn
      \(lines.joined(separator: "\n"))
      """
  }

  /// Checks the stores, closes them, and says how long the check of the large one took.
  func verify() throws -> (summary: String, findings: [String]) {
    try graph.finish()
    progress.show("verifying", fraction: 0)
    var findings: [String] = []
    let elapsed = try ContinuousClock().measure { findings = try loaded.store.verify().findings }
    try loaded.store.close()
    let duration = "\((elapsed.inSeconds * 1000).grouped) ms"
    guard !findings.isEmpty else { return ("store verified in \(duration)", findings) }
    let list = findings.map { "  - " + $0 }.joined(separator: "\n")
    return ("THE STORE IS DAMAGED (found in \(duration)):\n\(list)", findings)
  }

  private func integerReads(threadCount: Int) throws -> [any Work] {
    let snapshot = try loaded.store.snapshot()
    return (0..<threadCount).map { thread in
      IntegerReads(
        snapshot: snapshot, numbers: rows.shuffledNumbers,
        position: thread * rows.count / threadCount)
    }
  }

  private func commits(
    _ durability: StoreOptions.Durability, threadCount: Int
  ) -> [any Work] {
    (0..<threadCount).map { Commits(loaded.store, durability, rows, seed: 100 + UInt64($0)) }
  }

  private mutating func time(_ workload: Workload, _ unit: String, _ work: [any Work]) throws {
    let outcome = try harness(workload).run([work])
    hash = fold(hash, outcome.hash)
    add(workload, unit, outcome.groups[0])
  }

  private mutating func readWhileWriting(
    _ workload: Workload, readerCount: Int, idle: Workload
  ) throws {
    let reads = ReadsWhileWriting(store: loaded.store, rows: rows, readerCount: readerCount)
    let outcome = try reads.run(in: harness(workload))
    hash = fold(hash, outcome.hash)
    add(workload, "reads/s", outcome.groups[0], idle: table.value(of: idle))
    let suffix = readerCount == 1 ? "" : "-\(readerCount)"
    add(Workload.writerCommits.rawValue + suffix, "commits/s", outcome.groups[1])
  }

  private mutating func compare(_ workload: Workload, _ unit: String) throws {
    let outcome = try graph.measure(workload)
    hash = fold(hash, outcome.hash)
    for (engine, slices) in zip(graph.engines, outcome.slices) {
      var measurement = Measurement(
        workload: workload.rawValue, engine: engine.name, unit: unit, slices: slices)
      measurement.isCompared = true
      measurement.heartwoodShare = outcome.shares[engine.name]
      table.append(measurement)
    }
  }

  private mutating func openLog(_ workload: Workload) throws {
    let openings = Openings(
      folder: loads.folder, rows: rows, progress: progress, seconds: options.seconds,
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
      folder: loads.folder.path + "/" + StoreFolder.graph(name), quakes: graph.quakes,
      rowCount: rows.count, options: options.store, seconds: options.seconds, progress: progress
    ).run()
    try loads.folder.remove(StoreFolder.graph(name))
    hash = fold(hash, outcome.hash)
    let idle = outcome.slices(isIdle: true)
    let busy = outcome.slices(isIdle: false)
    add(name + "-idle", "reads/s", idle)
    add(name, "reads/s", busy, idle: idle.median, series: outcome.samples)
    notes.append("\(name): \(outcome.summary)")
  }

  private mutating func takeOverChanges(_ workload: Workload) throws {
    let name = workload.rawValue
    let folder = StoreFolder.graph(name)
    let outcome = try LiveResults(graph.quakes, options.store, progress)
      .run(in: loads.folder.path + "/" + folder)
    try loads.folder.remove(folder)
    hash = fold(hash, outcome.hash)
    for (count, slices) in outcome.slices { add("\(name)-\(count)", "updates/s", slices) }
    add(name + "-crowd", "rows/s", outcome.crowd)
    notes.append("\(name): \(outcome.summary)")
  }

  private func harness(_ workload: Workload) -> Harness {
    Harness(name: workload.rawValue, seconds: options.seconds, progress: progress)
  }

  private mutating func add(
    _ workload: Workload, _ unit: String, _ slices: Slices, idle: Double? = nil
  ) {
    add(workload.rawValue, unit, slices, idle: idle)
  }

  private mutating func add(
    _ name: String, _ unit: String, _ slices: Slices, idle: Double? = nil,
    series: [PinnedImport.Sample]? = nil
  ) {
    table.append(
      Measurement(
        workload: name, engine: Engine.heartwood, unit: unit, slices: slices,
        shareOfIdle: idle.map { slices.median / $0 }, series: series))
  }
}
