// error: main actor-isolated property 'viewContext' can not be referenced
import Heartwood

/// The context of the main actor is used there.
func save(_ container: PersistentContainer) throws {
  try container.viewContext.save()
}
