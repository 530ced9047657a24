// error: risks causing data races
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
}

/// Whoever has given a context to a task does not use it any more.
func count(_ container: PersistentContainer) async throws -> Int {
  let context = container.newContext()
  let task = Task.detached { try context.count(for: FetchRequest<Note>()) }
  _ = Note(context: context)
  return try await task.value
}
