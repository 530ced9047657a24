import Dispatch
import Synchronization

/// Holds the views that contexts have read lately, and lets go of those that are not used any more.
///
/// A context without a pin reads the newest generation, and must not hold back the log's end for a
/// generation that it happened to read last. So it knows its view weakly, and this is what keeps
/// that alive between one read and the next.
final class RecentViews: Sendable {
  /// How long a view that nobody uses is held, twice at most.
  private static let interval = DispatchTimeInterval.milliseconds(50)

  private struct Content {
    var views: [StoreView] = []
    var isTicking = false
  }

  // @unchecked because a view is only held here, and used by the context's thread.
  private struct Guarded: @unchecked Sendable {
    var content = Content()
  }

  private let guarded = Mutex(Guarded())

  /// Holds a view for a while.
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
    let goesOn = guarded.withLock { guarded in
      let views = guarded.content.views
      guarded.content.views = views.filter { $0.wasUsed.exchange(false, ordering: .relaxed) }
      idle = views
      guarded.content.isTicking = !guarded.content.views.isEmpty
      return guarded.content.isTicking
    }
    // Given up without the lock: it may be the last reference to a generation.
    withExtendedLifetime(idle) {}
    if goesOn { scheduleTick() }
  }
}
