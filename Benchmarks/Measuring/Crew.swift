import Foundation
import Synchronization

/// The threads of one engine in one workload: they warm up, and work in windows of time.
///
/// Every window ends for each thread at the end of its current turn, so the rate of a thread is
/// exact however long its turns are.
final class Crew: Sendable {
  /// What the threads are let go for.
  struct Window {
    fileprivate let number: Int
    /// Whether each operation is a turn whose time is taken.
    let isTimingEach: Bool
  }

  private let groups: [[Runner]]
  private let runners: [Runner]
  private let condition = NSCondition()
  private let pausing = Atomic(false)
  private let stopped = Atomic(false)
  private let state: Mutex<State>

  private struct State {
    /// Threads that have not ended.
    var livingCount: Int
    /// Threads that have done what the last window asked for.
    var restingCount = 0
    /// The window that is open, or was last.
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

  /// What all threads found before the first window.
  ///
  /// - Throws: What stopped one of them.
  func warmUp() throws -> UInt64 {
    wait { $0.isResting }
    if let failure { throw failure }
    return runners.reduce(0) { fold($0, $1.warmUpHash) }
  }

  /// Lets the threads work for a while.
  ///
  /// - Parameter watch: Called about every 10 ms meanwhile.
  /// - Returns: For each group, what each of its threads has done.
  /// - Throws: What stopped one of them.
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

  /// Operations that each group has done in all windows so far.
  var operationCounts: [Int] { groups.map { $0.reduce(0) { $0 + $1.operationCount } } }

  /// What all threads found, folded together.
  var hash: UInt64 { runners.reduce(0) { fold($0, $1.hash) } }

  /// Ends the threads.
  func end() {
    stop()
    wait { $0.livingCount == 0 }
  }

  private var failure: (any Error)? { state.withLock { $0.failure } }
}

/// What the threads themselves ask and say.
extension Crew {
  var isStopped: Bool { stopped.load(ordering: .relaxed) }

  /// Whether the window is over.
  var isPausing: Bool { pausing.load(ordering: .relaxed) }

  /// Waits for the next window; `nil` when there is none any more.
  func awaitWindow() -> Window? {
    let last = state.withLock { $0.window.number }
    change { $0.restingCount += 1 }
    wait { $0.window.number > last || self.isStopped }
    return isStopped ? nil : state.withLock { $0.window }
  }

  /// A thread ends, for whatever reason.
  func leave() {
    change { $0.livingCount -= 1 }
  }

  /// Remembers the first error, and stops everybody.
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
