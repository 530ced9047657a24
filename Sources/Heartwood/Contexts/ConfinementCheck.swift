import Foundation
import HeartwoodEngine
import Synchronization

/// A check that detects when two threads use a context at the same time.
///
/// The compiler cannot always prevent simultaneous use of a context.
///
/// Each context method that reads rows or accesses the context's tables of objects calls `enter` at
/// its start and `leave` at its end. Reading a loaded property is not checked. In release builds,
/// the check is off unless `HEARTWOOD_CHECKS=1` is set in the environment. The check resembles Core
/// Data's `-com.apple.CoreData.ConcurrencyDebug 1`.
final class ConfinementCheck {
  /// The thread that is using the context, or 0 if no thread is using it.
  private let user = Atomic<UInt>(0)
  /// The number of `enter` calls by the thread in `user` that have no matching `leave` call yet.
  ///
  /// No other thread accesses this variable.
  private var depth = 0

  private static let isOn: Bool = {
    #if DEBUG
      true
    #else
      ProcessInfo.processInfo.environment["HEARTWOOD_CHECKS"] == "1"
    #endif
  }()

  private init() {}

  /// Returns a new check for a context and its children, or `nil` if checking is off.
  static func ifOn() -> ConfinementCheck? { isOn ? ConfinementCheck() : nil }

  /// Records that the calling thread is using the context, and traps if another thread is using it.
  ///
  /// A thread can nest calls to this method.
  func enter() {
    let thread = SystemThread.current
    if user.load(ordering: .relaxed) != thread {
      let isFree = user.compareExchange(
        expected: 0, desired: thread, ordering: .acquiring
      ).exchanged
      // Use `fatalError`, because `precondition` would drop the message in a release build.
      guard isFree else {
        fatalError(
          "Two threads used a context at the same time. Use a BackgroundContext, or a separate "
            + "context for each thread.")
      }
    }
    depth += 1
  }

  /// Ends the calling thread's use of the context, which began with the matching ``enter()`` call.
  func leave() {
    depth -= 1
    if depth == 0 { user.store(0, ordering: .releasing) }
  }
}
