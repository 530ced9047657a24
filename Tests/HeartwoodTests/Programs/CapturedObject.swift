// error: capture of 'note' with non-Sendable type 'Note' in a '@Sendable' closure
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
}

/// An object must not be used in a block of another context.
@MainActor func shout(_ container: PersistentContainer) async throws {
  guard let note = try container.viewContext.fetch(FetchRequest<Note>()).first else { return }
  try await container.performBackgroundTask { context in
    note.text = note.text.uppercased()
    try context.save()
  }
}
