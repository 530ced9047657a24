import Foundation
import Synchronization

/// The threads of one engine in one workload.
///
/// The threads first warm up and then work during windows of time. At the end of a window, each
/// thread completes its current turn, and the time is measured up to the end of that turn. The rate
/// is therefore exact, regardless of the length of the turns.
final class Crew: Sendable {
  /// A period of time in which the threads work.
  struct Window {
    fileprivate let number: Int
    /// A Boolean value that indicates whether each turn is a single operation, so that the latency
    /// of each operation is measured.
    let isTimingEach: Bool
  }

  private let groups: [[Runner]]
  private let runners: [Runner]
  private let condition = NSCondition()
  private let pausing = Atomic(false)
  private let stopped = Atomic(false)
  private let state: Mutex<State>

  private struct State {
    /// The number of threads that are still running.
    var livingCount: Int
    /// The number of threads that have warmed up or completed the current window.
    var restingCount = 0
    /// The current or most recent window.
    var window = Window(number: 0, isTimingEach: false)
    var failure: (any Error)?

    var isResting: Bool { restingCount >= livingCount }
  }

  /// Starts the threads.
  init(_ name: String, groups: [[any Work]]) {
    self.groups = groups.map { $0.map { Runner($0) } }
    runners = Array(self.groups.joined())
    state = Mutex(State(livingCount: runners.count))
    for runner in runners {
      let thread = Thread { runner.run(in: self) }
      thread.name = "bench \(name)"
      thread.start()
    }
  }

  /// Waits until all threads have warmed up, and returns a hash of their results.
  ///
  /// - Throws: The error that stopped a thread.
  func warmUp() throws -> UInt64 {
    wait { $0.isResting }
    if let failure { throw failure }
    return runners.reduce(0) { fold($0, $1.warmUpHash) }
  }

  /// Lets the threads work for one window of time.
  ///
  /// - Parameter watch: A closure that is called about every 10 ms while the threads work.
  /// - Returns: For each group, the measurements of each of its threads.
  /// - Throws: The error that stopped a thread.
  func work(
    seconds: Double, isTimingEach: Bool = false, watch: (_ elapsed: Double) -> Void = { _ in }
  ) throws -> [[Runner.Stretch]] {
    pausing.store(false, ordering: .relaxed)
    change { state in
      state.restingCount = 0
      state.window = Window(number: state.window.number + 1, isTimingEach: isTimingEach)
    }
    let begin = ContinuousClock.now
    while !isStopped {
      let elapsed = (ContinuousClock.now - begin).inSeconds
      watch(elapsed)
      guard elapsed < seconds else { break }
      Thread.sleep(forTimeInterval: min(0.01, seconds - elapsed))
    }
    pausing.store(true, ordering: .relaxed)
    wait { $0.isResting }
    if let failure { throw failure }
    return groups.map { $0.map(\.stretch) }
  }

  /// The number of operations of each group in all windows so far.
  var operationCounts: [Int] { groups.map { $0.reduce(0) { $0 + $1.operationCount } } }

  /// A hash of the results of all threads.
  var hash: UInt64 { runners.reduce(0) { fold($0, $1.hash) } }

  /// Stops the threads and waits for them to end.
  func end() {
    stop()
    wait { $0.livingCount == 0 }
  }

  private var failure: (any Error)? { state.withLock { $0.failure } }
}

/// Provides the members that the threads call.
extension Crew {
  var isStopped: Bool { stopped.load(ordering: .relaxed) }

  /// A Boolean value that indicates whether the current window is over.
  var isPausing: Bool { pausing.load(ordering: .relaxed) }

  /// Waits for the next window and returns it, or returns `nil` if there are no more windows.
  func awaitWindow() -> Window? {
    let last = state.withLock { $0.window.number }
    change { $0.restingCount += 1 }
    wait { $0.window.number > last || self.isStopped }
    return isStopped ? nil : state.withLock { $0.window }
  }

  /// Records that a thread has ended, normally or with an error.
  func leave() {
    change { $0.livingCount -= 1 }
  }

  /// Records the first error, and stops all threads.
  func fail(_ error: any Error) {
    change { $0.failure = $0.failure ?? error }
    stop()
  }

  private func stop() {
    pausing.store(true, ordering: .relaxed)
    change { _ in self.stopped.store(true, ordering: .relaxed) }
  }

  private func change(_ body: (inout State) -> Void) {
    condition.lock()
    defer { condition.unlock() }
    state.withLock { body(&$0) }
    condition.broadcast()
  }

  private func wait(until isMet: (borrowing State) -> Bool) {
    condition.lock()
    defer { condition.unlock() }
    while !state.withLock({ isMet($0) }) { condition.wait() }
  }
}
