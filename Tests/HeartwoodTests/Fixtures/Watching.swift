import Observation
import Synchronization

private final class NotificationCount: Sendable {
  let value = Atomic<Int>(0)
}

/// Observes the properties that `look` reads, up to the first change.
///
/// - Returns: A closure that returns the number of notifications received so far.
func watch<Value>(_ look: () -> Value) -> () -> Int {
  let count = NotificationCount()
  _ = withObservationTracking {
    look()
  } onChange: {
    count.value.add(1, ordering: .relaxed)
  }
  return { count.value.load(ordering: .relaxed) }
}
