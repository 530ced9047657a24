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
    Note(context: context).text = "Water the tree"
    try context.save()

    let open = FetchRequest<Note>(where: #Predicate { !$0.isDone })
    let view = container.newContext()
    try view.setQueryGenerationFrom(.current)
    print("The view shows \(try view.fetch(open).map(\.text)).")

    for note in try context.fetch(open) { note.isDone = true }
    try context.save()
    print("Others see \(try context.count(for: open)), the view \(try view.count(for: open)).")
    try view.setQueryGenerationFrom(.current)
    print("Told to go on, it shows \(try view.count(for: open)).")
  }
}
