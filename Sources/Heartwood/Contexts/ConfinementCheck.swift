import Foundation
import HeartwoodEngine
import Synchronization

/// Finds two threads that use a context at once, where the compiler cannot.
///
/// A context enters at each of its doors, which are where it reads rows or touches what it keeps of
/// its objects, and leaves behind them. Reading a property that is loaded passes no door. It is off
/// in release builds, and then a context has none; `HEARTWOOD_CHECKS=1` in the environment turns it
/// on there, as `-com.apple.CoreData.ConcurrencyDebug 1` does.
final class ConfinementCheck {
  /// The thread that is inside; 0 if there is none.
  private let user = Atomic<UInt>(0)
  /// How often it has entered and not left, as doors lead to others; only that thread asks.
  private var depth = 0

  private static let isOn: Bool = {
    #if DEBUG
      true
    #else
      ProcessInfo.processInfo.environment["HEARTWOOD_CHECKS"] == "1"
    #endif
  }()

  private init() {}

  /// A check for a context and those below it; `nil` if contexts are not checked.
  static func ifOn() -> ConfinementCheck? { isOn ? ConfinementCheck() : nil }

  /// Begins a use by this thread, which may be within another use by it.
  func enter() {
    let thread = SystemThread.current
    if user.load(ordering: .relaxed) != thread {
      let isFree = user.compareExchange(
        expected: 0, desired: thread, ordering: .acquiring
      ).exchanged
      // Not a precondition: those do not say in release builds what is wrong.
      guard isFree else {
        fatalError(
          "A context was used by two threads at once: use a BackgroundContext or a context for each"
            + " thread.")
      }
    }
    depth += 1
  }

  /// Ends what ``enter()`` began.
  func leave() {
    depth -= 1
    if depth == 0 { user.store(0, ordering: .releasing) }
  }
}
