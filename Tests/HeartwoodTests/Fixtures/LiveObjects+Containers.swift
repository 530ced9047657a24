import Heartwood
import HeartwoodTestSupport

extension LiveObjects {
  /// Adds a container, its stores, and the given contexts with some of their objects.
  static func track(_ container: PersistentContainer, _ contexts: [ManagedObjectContext]) {
    track([container])
    track(container.stores)
    track(contexts)
    for context in contexts { track(context.registeredObjects.prefix(100)) }
  }
}
