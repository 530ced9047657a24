/// Runs the same work with several engines, which take turns.
///
/// Because the engines take turns, disturbances on the machine affect all engines alike. Comparing
/// two engines by their turns in the same round is therefore more reliable than comparing their
/// medians.
struct Alternation {
  let name: String
  let seconds: Double
  let progress: Progress

  /// The minimum number of rounds, which is odd so that the median is a measured value.
  private static let fewestRounds = 5
  private static let mostRounds = 101

  /// The duration and the result of one turn.
  struct Turn {
    let operationCount: Int
    let duration: Duration
    let hash: UInt64

    /// Times `body`, which returns a hash of its results.
    init(_ operationCount: Int, _ body: () throws -> UInt64) rethrows {
      self.operationCount = operationCount
      var hash: UInt64 = 0
      duration = try ContinuousClock().measure { hash = try body() }
      self.hash = hash
    }

    init(_ operationCount: Int, _ duration: Duration, hash: UInt64) {
      self.operationCount = operationCount
      self.duration = duration
      self.hash = hash
    }

    var rate: Double { Double(operationCount) / duration.inSeconds }
  }

  /// The results of the rounds.
  struct Outcome {
    let comparison: Comparison
    let hash: UInt64
  }

  /// Runs rounds until the time is up.
  ///
  /// Each engine has one turn in each round. The engine that is first in one round is last in the
  /// next. The first round is a warm-up and is not counted.
  ///
  /// - Parameter turn: A closure that runs one turn, given the indexes of the engine and the round.
  /// - Throws: Any error that `turn` throws; a ``BenchFailure`` if two engines return different
  ///   results.
  func run(
    engineNames: [String], _ turn: (_ engine: Int, _ round: Int) throws -> Turn
  ) throws -> Outcome {
    var rounds = Rounds(engines: engineNames)
    var hash: UInt64 = 0
    var round = 0
    let begin = ContinuousClock.now
    repeat {
      var found = engineNames.map { _ in hash }
      for position in engineNames.indices {
        let engine = (position + round) % engineNames.count
        let turn = try turn(engine, round)
        found[engine] = turn.hash
        guard round > 0 else { continue }
        rounds.add(operationCount: turn.operationCount, rate: turn.rate, engine)
      }
      try requireEqual(found, of: engineNames)
      hash = fold(hash, found[0])
      round += 1
      progress.show(name, fraction: share(round, since: begin))
    } while round <= Self.fewestRounds
      || (round < Self.mostRounds && share(round, since: begin) < 1)
    return Outcome(comparison: rounds.comparison, hash: hash)
  }

  private func share(_ round: Int, since begin: ContinuousClock.Instant) -> Double {
    min(
      Double(round) / Double(Self.fewestRounds + 1),
      (ContinuousClock.now - begin).inSeconds / seconds)
  }
}
