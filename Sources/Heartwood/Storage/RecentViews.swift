import Dispatch
import Synchronization

/// A cache that retains the views that contexts have read recently, and releases them when they are
/// no longer used.
///
/// A context without a pin reads the newest generation, and a generation that it read some time ago
/// must not prevent log reclamation. The context therefore refers to its view weakly, and this
/// cache retains the view between reads.
final class RecentViews: Sendable {
  /// The interval at which unused views are released.
  ///
  /// A view is therefore retained for one to two intervals after its last use.
  private static let interval = DispatchTimeInterval.milliseconds(50)

  private struct Content {
    var views: [StoreView] = []
    var isTicking = false
  }

  // The `@unchecked` conformance is safe, because `RecentViews` only retains the views and reads
  // their atomic flags. All other parts of a view are used only by the thread of its context.
  private struct Guarded: @unchecked Sendable {
    var content = Content()
  }

  private let guarded = Mutex(Guarded())

  /// Retains a view until it has been unused for some time.
  func hold(_ view: StoreView) {
    let starts = guarded.withLock { guarded in
      guarded.content.views.append(view)
      defer { guarded.content.isTicking = true }
      return !guarded.content.isTicking
    }
    if starts { scheduleTick() }
  }

  private func scheduleTick() {
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.interval) {
      [weak self] in
      self?.tick()
    }
  }

  private func tick() {
    var idle: [StoreView] = []
    let shouldContinue = guarded.withLock { guarded in
      let views = guarded.content.views
      guarded.content.views = views.filter { $0.wasUsed.exchange(false, ordering: .relaxed) }
      idle = views
      guarded.content.isTicking = !guarded.content.views.isEmpty
      return guarded.content.isTicking
    }
    // Release the views outside the lock, because releasing the last reference to a generation
    // takes another lock and may call other code.
    withExtendedLifetime(idle) {}
    if shouldContinue { scheduleTick() }
  }
}
