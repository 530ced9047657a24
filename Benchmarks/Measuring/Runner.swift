import Synchronization

/// Runs the work of one thread and records its results.
final class Runner: Sendable {
  /// The measurements of a thread in one window of time.
  struct Stretch {
    var operationCount = 0
    var seconds = 0.0
    /// The durations of the turns.
    ///
    /// The histogram is empty if ``Crew/Window/isTimingEach`` is false.
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

  /// The number of operations in all windows so far.
  ///
  /// The number is updated after each turn.
  var operationCount: Int { doneCount.load(ordering: .relaxed) }
  /// The measurements of the most recent window.
  var stretch: Stretch { state.withLock { $0.stretch } }
  /// A hash of the results of the warm-up turns.
  var warmUpHash: UInt64 { state.withLock { $0.warmUpHash } }
  /// A hash of the results of all turns.
  var hash: UInt64 { state.withLock { $0.hash } }

  /// Warms up, works in each window, and reports errors to `crew`.
  ///
  /// The method is called on the runner's thread.
  func run(in crew: Crew) {
    do {
      try proceed(work, in: crew)
    } catch {
      crew.fail(error)
    }
    crew.leave()
  }

  /// Warms up, and then works in each window.
  ///
  /// The method is generic, so that the loop calls the work directly rather than through an
  /// existential.
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

  /// Runs one or more turns, until the window ends.
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
