import Foundation
import HeartwoodEngine
import Synchronization

/// Detects the use of a context by two threads at once, which the compiler cannot always prevent.
///
/// A context calls `enter` at each entry point that reads rows or accesses its data about objects,
/// and `leave` at its end. Reading a loaded property is not such an entry point. In release builds
/// the check is off and contexts have none; `HEARTWOOD_CHECKS=1` in the environment turns it on,
/// like `-com.apple.CoreData.ConcurrencyDebug 1`.
final class ConfinementCheck {
  /// The thread inside the context; 0 if there is none.
  private let user = Atomic<UInt>(0)
  /// The nesting depth of entries by that thread, which alone accesses it.
  private var depth = 0

  private static let isOn: Bool = {
    #if DEBUG
      true
    #else
      ProcessInfo.processInfo.environment["HEARTWOOD_CHECKS"] == "1"
    #endif
  }()

  private init() {}

  /// Returns a check for a context and its children; `nil` if the check is off.
  static func ifOn() -> ConfinementCheck? { isOn ? ConfinementCheck() : nil }

  /// Begins a use by this thread, possibly nested in another of its uses.
  func enter() {
    let thread = SystemThread.current
    if user.load(ordering: .relaxed) != thread {
      let isFree = user.compareExchange(
        expected: 0, desired: thread, ordering: .acquiring
      ).exchanged
      // `precondition` would drop the message in a release build.
      guard isFree else {
        fatalError(
          "A context was used by two threads at once. Use a BackgroundContext, or one context for "
            + "each thread.")
      }
    }
    depth += 1
  }

  /// Ends the use that the matching call of ``enter()`` began.
  func leave() {
    depth -= 1
    if depth == 0 { user.store(0, ordering: .releasing) }
  }
}
