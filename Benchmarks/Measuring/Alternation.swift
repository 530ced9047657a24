/// Turns of several engines at the same work, one after the other, again and again.
///
/// What disturbs the machine then disturbs them alike, and the ratio of two turns of a round says
/// more than that of two medians.
struct Alternation {
  let name: String
  let seconds: Double
  let progress: Progress

  /// Rounds there are in any case; an odd number, so that the median is one that was measured.
  private static let fewestRounds = 5
  private static let mostRounds = 101

  /// One turn: what was timed, and what came of it.
  struct Turn {
    let operationCount: Int
    let duration: Duration
    let hash: UInt64

    /// Times `body`, which answers with the hash of what it has found.
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

  /// What the rounds brought.
  struct Outcome {
    let comparison: Comparison
    let hash: UInt64
  }

  /// Lets the engines take turns, the first of a round last in the next; one round is not counted.
  ///
  /// - Parameter turn: A turn of the engine of this number in this round.
  /// - Throws: What `turn` throws; a ``BenchFailure`` if two engines find different things.
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
