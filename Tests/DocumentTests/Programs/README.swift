import Foundation
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var isDone: Bool = false
}

@main struct Notes {
  static func main() throws {
    let container = try PersistentContainer(
      url: URL(filePath: "notes.store"), schema: Schema(Note.self))
    let context = container.newContext()
    Note(context: context).text = "Book flights"
    try context.save()

    let open = FetchRequest<Note>(where: #Predicate { !$0.isDone })
    let view = container.newContext()
    try view.setQueryGenerationFrom(.current)
    print("Pinned: \(try view.fetch(open).map(\.text))")

    for note in try context.fetch(open) { note.isDone = true }
    try context.save()
    print("Newest: \(try context.count(for: open)) open. Pinned: \(try view.count(for: open)).")
    try view.setQueryGenerationFrom(.current)
    print("After advancing: \(try view.count(for: open)).")
  }
}
