// error: main actor-isolated property 'viewContext' can not be referenced
import Heartwood

/// The view context must be used on the main actor.
func save(_ container: PersistentContainer) throws {
  try container.viewContext.save()
}
