import Foundation
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var created: Date = Date()
  @ToMany(inverse: \Tag.notes) var tags: Set<Tag>

  override class var entity: Entity {
    Entity("Note") { Index(\Note.created) }
  }
}

final class Tag: ManagedObject {
  @Attribute var name: String = ""
  @ToMany var notes: Set<Note>

  override class var entity: Entity {
    Entity("Tag") { Unique(\Tag.name) }
  }
}

func keepNotes(at url: URL) throws -> [String] {
  let container = try PersistentContainer(url: url, schema: Schema(Note.self))
  let context = container.newContext()

  let tag = Tag(context: context)
  tag.name = "shopping"
  for text in ["milk", "bread"] {
    let note = Note(context: context)
    note.text = text
    note.tags = [tag]
  }
  try context.save()

  let name = "shopping"
  let found = try context.fetch(FetchRequest<Tag>(where: #Predicate { $0.name == name }))
  return found.flatMap(\.notes).map(\.text).sorted()
}

@main struct Program {
  static func main() throws {
    print(try keepNotes(at: URL(filePath: "notes")))
  }
}
