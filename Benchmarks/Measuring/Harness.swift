/// Lets the crews of several engines take turns at the same work, a window of time each.
///
/// What disturbs the machine then disturbs them alike, and the ratio of two windows of a round says
/// more than that of two medians.
struct Harness {
  let name: String
  /// How long each engine works.
  let seconds: Double
  let progress: Progress

  /// An odd number, so that the median is one that was measured.
  static let roundCount = 7

  private var windowSeconds: Double { seconds / Double(Self.roundCount) }

  /// One engine's part.
  struct Contestant {
    let engine: String
    /// Threads that are measured together.
    let groups: [[any Work]]
    /// How often the engine has moved its log so far, where it does that by itself.
    var checkpointCount: () -> Int = { 0 }
  }

  /// What came of it.
  struct Outcome {
    /// For each group of threads.
    let groups: [Comparison]
    /// For each engine, how long single operations of the first group took.
    let latencies: [Latencies]
    /// For each engine, what happened one after the other.
    let timelines: [Timeline]
    let hash: UInt64
  }

  /// Warms all threads up, compares what they found, and lets the engines take turns.
  ///
  /// - Parameter hasTimeline: Whether it matters what happened when.
  /// - Throws: What a thread throws; a ``BenchFailure`` if two engines find different things.
  func run(_ contestants: [Contestant], hasTimeline: Bool = false) throws -> Outcome {
    progress.show(name, fraction: 0)
    let crews = contestants.map { Crew(name, groups: $0.groups) }
    defer { for crew in crews { crew.end() } }
    let found = try crews.map { try $0.warmUp() }
    let engines = contestants.map(\.engine)
    try requireEqual(found, of: engines)
    var rounds = contestants[0].groups.map { Rounds(engines: engines, threadCount: $0.count) }
    var timelines = contestants.map { _ in Timeline() }
    for round in 0..<Self.roundCount {
      for position in crews.indices {
        let engine = (position + round) % crews.count
        let contestant = contestants[engine]
        let groups = try crews[engine].work(seconds: windowSeconds) { elapsed in
          guard hasTimeline else { return }
          timelines[engine].add(
            elapsed: elapsed, crews[engine].operationCounts, contestant.checkpointCount())
        }
        timelines[engine].endWindow()
        for (group, stretches) in groups.enumerated() { rounds[group].add(stretches, engine) }
        let done = round * crews.count + position + 1
        progress.show(name, fraction: Double(done) / Double(Self.roundCount * crews.count))
      }
    }
    let latencies = try crews.map { crew in
      let stretches = try crew.work(seconds: windowSeconds, isTimingEach: true)[0]
      return stretches.reduce(into: Latencies()) { $0.add($1.latencies) }
    }
    return Outcome(
      groups: rounds.map(\.comparison), latencies: latencies, timelines: timelines,
      hash: fold(found[0], crews[0].hash))
  }
}

/// Every engine must find the same.
func requireEqual(_ hashes: [UInt64], of engines: [String]) throws {
  for (hash, engine) in zip(hashes, engines) where hash != hashes[0] {
    throw BenchFailure("\(engine) found other things than \(engines[0]) in the same data.")
  }
}
