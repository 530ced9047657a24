import Foundation
import Heartwood
import HeartwoodTestSupport

/// Runs steps on one store, with this process and other processes taking turns.
///
/// This process reopens the store halfway through the run.
struct CrewRelay {
  /// A step and the number of its turn; other processes take the turns with odd numbers.
  typealias Step = (turn: Int, step: CrewStep)

  let seed: UInt64
  /// The number of steps in each turn.
  let stepCount: Int

  private static let turns = 0..<8

  private func seed(ofTurn turn: Int) -> UInt64 {
    seed * 10 + UInt64(turn / 2) + (turn % 2 == 1 ? 1_000_000 : 0)
  }

  private func steps(ofTurn turn: Int) -> [CrewStep] {
    CrewStep.random(stepCount, seed: seed(ofTurn: turn))
  }

  /// Takes one turn in another process.
  func takeTurn(_ turn: Int, at path: String) throws {
    try takeTurn(turn, steps(ofTurn: turn), at: path)
  }

  private func takeTurn(_ turn: Int, _ steps: [CrewStep], at path: String) throws {
    let run = try CrewRun(.named("other", seed: seed(ofTurn: turn)), at: URL(filePath: path))
    try Self.report(run, seed) {
      try run.perform(steps)
      try run.expectStored("at the end")
    }
  }

  /// Takes all turns.
  ///
  /// - Parameter elsewhere: A closure that makes another process take the given turn.
  /// - Returns: The number of times that this process performed each operation.
  /// - Throws: A ``CrewMismatch`` for the shortest sequence of steps that was found to fail when
  ///   this process takes all turns, or the original error if no sequence fails in this process
  ///   alone.
  func run(at path: String, elsewhere: (_ turn: Int) async throws -> Void) async throws
    -> [String: Int]
  {
    let all = Self.turns.flatMap { turn in steps(ofTurn: turn).map { (turn, $0) } }
    do {
      return try await run(all, at: path, elsewhere: elsewhere)
    } catch {
      let short = await CrewShrinking.shrink(all) { await mismatch($0) != nil }
      throw await mismatch(short) ?? error
    }
  }

  /// Takes the given steps in this process alone.
  ///
  /// - Returns: The error that the steps cause, or `nil` if they succeed.
  private func mismatch(_ steps: [Step]) async -> (any Error)? {
    do {
      let scratch = try ScratchDirectory()
      let path = scratch.path(of: "store")
      _ = try await run(steps, at: path) { turn in
        try takeTurn(turn, steps.filter { $0.turn == turn }.map(\.step), at: path)
      }
      return nil
    } catch {
      return error
    }
  }

  private func run(
    _ steps: [Step], at path: String, elsewhere: (_ turn: Int) async throws -> Void
  ) async throws -> [String: Int] {
    let url = URL(filePath: path)
    var run = try CrewRun(.named("reopened", seed: seed), at: url)
    for turn in Self.turns {
      if turn % 2 == 1 {
        try await elsewhere(turn)
        try Self.report(run, seed) { try run.adopt() }
      } else {
        if turn == 4 {
          try Self.report(run, seed) { try run.finish() }
          run = try CrewRun(.named("reopened", seed: seed + 1), at: url)
        }
        try Self.report(run, seed) {
          try run.perform(steps.filter { $0.turn == turn }.map(\.step))
        }
      }
    }
    try Self.report(run, seed) { try run.finish() }
    return run.counts
  }

  /// Runs a closure, and adds the preceding steps to any error that it throws.
  private static func report(_ run: CrewRun, _ seed: UInt64, _ body: () throws -> Void) throws {
    do { try body() } catch {
      throw CrewMismatch(
        "seed \(seed), \(run.setting)\n" + run.trace.suffix(60).joined(separator: "\n")
          + "\n\(error)")
    }
  }
}
