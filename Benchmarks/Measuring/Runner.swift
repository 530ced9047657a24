import Synchronization

/// One thread's work and what has come of it.
final class Runner: Sendable {
  /// What a thread did in a window of time.
  struct Stretch {
    var operationCount = 0
    var seconds = 0.0
    /// How long each turn took, where that was asked for.
    var latencies = Latencies()
  }

  private let work: any Work
  private let doneCount = Atomic(0)
  private let state = Mutex(State())

  private struct State {
    var stretch = Stretch()
    var warmUpHash: UInt64 = 0
    var hash: UInt64 = 0
  }

  init(_ work: any Work) {
    self.work = work
  }

  /// Operations of all windows so far, in steps of a turn.
  var operationCount: Int { doneCount.load(ordering: .relaxed) }
  /// What the window that ended last has brought.
  var stretch: Stretch { state.withLock { $0.stretch } }
  /// What was found in the turns before the first window.
  var warmUpHash: UInt64 { state.withLock { $0.warmUpHash } }
  /// What was found in all turns.
  var hash: UInt64 { state.withLock { $0.hash } }

  /// The thread's whole life: it warms up, and then works whenever the crew does.
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
    for _ in 0..<work.warmUpTurnCount where !crew.isStopped { _ = try work.turn() }
    state.withLock { $0.warmUpHash = work.hash }
    let operationsPerTurn = work.operationsPerTurn
    while let window = crew.awaitWindow() {
      work.operationsPerTurn = window.isTimingEach ? 1 : operationsPerTurn
      let stretch = try stretch(of: &work, in: crew, isTimingEach: window.isTimingEach)
      state.withLock { state in
        state.stretch = stretch
        state.hash = work.hash
      }
    }
  }

  /// Works until the window is over, and at least for a turn.
  private func stretch(
    of work: inout some Work, in crew: Crew, isTimingEach: Bool
  ) throws -> Stretch {
    var stretch = Stretch()
    let begin = ContinuousClock.now
    var now = begin
    repeat {
      let count = try work.turn()
      let end = ContinuousClock.now
      if isTimingEach { stretch.latencies.add(nanoseconds: (end - now).inNanoseconds) }
      now = end
      stretch.operationCount += count
      doneCount.wrappingAdd(count, ordering: .relaxed)
    } while !crew.isPausing
    stretch.seconds = (now - begin).inSeconds
    return stretch
  }
}
