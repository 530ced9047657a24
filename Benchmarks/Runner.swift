import Synchronization

/// One thread's work and how far it has come.
final class Runner: Sendable {
  struct Mark {
    var turnCount = 0
    var operationCount = 0
    var time = ContinuousClock.now
  }

  private let work: any Work
  private let reached = Mutex(Mark())
  private let found = Mutex<UInt64>(0)

  init(_ work: any Work) {
    self.work = work
  }

  /// The end of the latest turn.
  var mark: Mark { reached.withLock { $0 } }

  var hash: UInt64 { found.withLock { $0 } }

  func run(in crew: Crew) {
    do {
      try proceed(work, in: crew)
    } catch {
      crew.fail(error)
    }
    crew.leave()
  }

  /// Generic, so that the loop calls the work itself and not an existential.
  private func proceed(_ work: some Work, in crew: Crew) throws {
    var work = work
    do {
      for _ in 0..<work.warmUpTurnCount where !crew.isStopped { _ = try work.turn() }
    } catch {
      crew.fail(error)
    }
    crew.awaitStart()
    while !crew.isStopped {
      let count = try work.turn()
      let now = ContinuousClock.now
      reached.withLock { mark in
        mark.turnCount += 1
        mark.operationCount += count
        mark.time = now
      }
    }
    found.withLock { $0 = work.hash }
  }
}
