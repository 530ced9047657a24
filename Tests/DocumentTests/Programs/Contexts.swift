import Foundation
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
}

func addNote(_ context: ManagedObjectContext) throws {
  let draft = ManagedObjectContext(parent: context)
  let note = Note(context: draft)
  note.text = "Call the bank"
  try draft.save()  // the note is now in `context`
  try context.save()  // the note is now in the store
}

actor Notebook {
  private let executor = ContextExecutor()
  private let context: ManagedObjectContext
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ container: PersistentContainer) { context = container.newContext() }

  func add(_ text: String) throws -> ManagedObjectID {
    let note = Note(context: context)
    note.text = text
    try context.save()
    return note.objectID
  }
}
