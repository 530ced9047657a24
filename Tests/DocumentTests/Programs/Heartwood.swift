import Foundation
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var isDone: Bool = false
}

func keepNotes(at url: URL) throws {
  let container = try PersistentContainer(url: url, schema: Schema(Note.self))
  let context = container.newContext()
  Note(context: context).text = "Book flights"
  try context.save()

  let open = FetchRequest<Note>(where: #Predicate { !$0.isDone })
  for note in try context.fetch(open) { print(note.text) }
}
