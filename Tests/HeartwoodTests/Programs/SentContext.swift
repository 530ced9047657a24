// error: risks causing data races
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
}

/// A context must not be used after it has been sent to a task.
func count(_ container: PersistentContainer) async throws -> Int {
  let context = container.newContext()
  let task = Task.detached { try context.count(for: FetchRequest<Note>()) }
  _ = Note(context: context)
  return try await task.value
}
