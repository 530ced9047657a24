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
    /// For each engine.
    let slices: [Slices]
    /// By the name of each engine but the first: the rate of that one as a share of its own, round
    /// by round.
    let shares: [String: Spread]
    let hash: UInt64
  }

  /// Lets the engines take turns, the first of a round last in the next; one round is not counted.
  ///
  /// - Parameter turn: A turn of the engine of this number in this round.
  /// - Throws: What `turn` throws; a ``BenchFailure`` if two engines find different things.
  func run(
    engineNames: [String], _ turn: (_ engine: Int, _ round: Int) throws -> Turn
  ) throws -> Outcome {
    let engines = engineNames.indices
    var turns: [[Turn]] = engines.map { _ in [] }
    var hash: UInt64 = 0
    var round = 0
    let begin = ContinuousClock.now
    repeat {
      for position in engines {
        let engine = (position + round) % engineNames.count
        turns[engine].append(try turn(engine, round))
      }
      let found = turns.map { $0[round].hash }
      for engine in engines where found[engine] != found[0] {
        throw BenchFailure(
          "\(engineNames[engine]) found other things than \(engineNames[0]) in the same data.")
      }
      hash = fold(hash, found[0])
      round += 1
      progress.show(name, fraction: share(round, since: begin))
    } while round <= Self.fewestRounds
      || (round < Self.mostRounds && share(round, since: begin) < 1)
    let rates = turns.map { $0.dropFirst().map(\.rate) }
    return Outcome(
      slices: engines.map { engine in
        Slices(
          rates: rates[engine],
          operationCount: turns[engine].dropFirst().reduce(0) { $0 + $1.operationCount })
      },
      shares: Dictionary(
        uniqueKeysWithValues: engines.dropFirst().map { engine in
          (engineNames[engine], Spread(zip(rates[0], rates[engine]).map { $0 / $1 }))
        }), hash: hash)
  }

  private func share(_ round: Int, since begin: ContinuousClock.Instant) -> Double {
    min(
      Double(round) / Double(Self.fewestRounds + 1),
      (ContinuousClock.now - begin).inSeconds / seconds)
  }
}
