import Foundation
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
}

func addNote(_ context: ManagedObjectContext) throws {
  let draft = ManagedObjectContext(parent: context)
  let note = Note(context: draft)
  note.text = "Call the bank"
  try draft.save()  // `context` has the note now
  try context.save()  // the store has it
}
