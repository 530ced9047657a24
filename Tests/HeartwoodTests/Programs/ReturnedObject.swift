// error: type 'Note' does not conform to the 'Sendable' protocol
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
}

/// An object must not leave the block that fetched it.
func first(_ background: BackgroundContext) async throws -> Note? {
  try await background.perform { context in try context.fetch(FetchRequest<Note>()).first }
}
