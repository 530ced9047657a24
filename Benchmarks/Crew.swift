import Foundation
import Synchronization

/// Brings the threads of a run to one starting line and off the track again.
final class Crew: Sendable {
  private let condition = NSCondition()
  private let stopped = Atomic(false)
  private let state: Mutex<State>

  private struct State {
    var warmingCount: Int
    var runningCount: Int
    var isStarted = false
    var failure: (any Error)?
  }

  init(count: Int) {
    state = Mutex(State(warmingCount: count, runningCount: count))
  }

  var isStopped: Bool { stopped.load(ordering: .relaxed) }
  var failure: (any Error)? { state.withLock { $0.failure } }

  /// Waits until every thread is warm, then lets them all go.
  func startTogether() {
    wait { $0.warmingCount == 0 }
    change { $0.isStarted = true }
  }

  func stopAndWait() {
    stopped.store(true, ordering: .relaxed)
    wait { $0.runningCount == 0 }
  }

  /// A thread is warm and waits for the others.
  func awaitStart() {
    change { $0.warmingCount -= 1 }
    wait { $0.isStarted }
  }

  func leave() {
    change { $0.runningCount -= 1 }
  }

  /// Remembers the first error, and stops everybody.
  func fail(_ error: any Error) {
    change { $0.failure = $0.failure ?? error }
    stopped.store(true, ordering: .relaxed)
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
