/// Lets the crews of several engines take turns at the same work.
///
/// Each turn is a window of time.
///
/// Because the engines take turns, disturbances on the machine affect all engines alike. Comparing
/// two engines by their windows in the same round is therefore more reliable than comparing their
/// medians.
struct Harness {
  let name: String
  /// The total working time of each engine, in seconds.
  let seconds: Double
  let progress: Progress

  /// The number of rounds, which is odd so that the median is a measured value.
  static let roundCount = 7

  private var windowSeconds: Double { seconds / Double(Self.roundCount) }

  /// One engine with its threads.
  struct Contestant {
    let engine: String
    /// The work of each thread, in groups that are measured separately.
    let groups: [[any Work]]
    /// A closure that returns the number of checkpoints so far, or 0 if the engine does not run
    /// them in the background.
    var checkpointCount: () -> Int = { 0 }
    /// A closure that returns the disk space occupied by the store, in bytes, or `nil` if it is not
    /// measured over time.
    var byteCount: (() -> Int)?
  }

  /// The results of all rounds.
  struct Outcome {
    /// The comparisons of the engines, one for each group of threads.
    let groups: [Comparison]
    /// The latencies of single operations in the first group, for each engine.
    let latencies: [Latencies]
    /// The measurements over time, for each engine.
    let timelines: [Timeline]
    let hash: UInt64
  }

  /// Warms up all threads, compares the results of the engines, and then lets the engines take
  /// turns.
  ///
  /// - Parameter hasTimeline: Whether to record measurements over time.
  /// - Throws: The error that stopped a thread; a ``BenchFailure`` if two engines return different
  ///   results.
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
            elapsed: elapsed, crews[engine].operationCounts, contestant.checkpointCount(),
            contestant.byteCount)
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

/// Throws an error unless all engines returned the same result.
func requireEqual(_ hashes: [UInt64], of engines: [String]) throws {
  for (hash, engine) in zip(hashes, engines) where hash != hashes[0] {
    throw BenchFailure("\(engine) and \(engines[0]) returned different results for the same data.")
  }
}
