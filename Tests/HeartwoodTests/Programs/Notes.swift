import Foundation
import Heartwood

enum Colour: String, AttributeValue { case red, green }

struct Place: Codable, Equatable, AttributeValue {
  var latitude = 0.0
  var longitude = 0.0
}

class Note: ManagedObject {
  @Attribute var text: String = ""
  @Attribute("made", renamedFrom: "created") var time: Date = Date.distantPast
  @Attribute var colour: Colour? = nil
  @Attribute var place: Place = Place()
  @ToOne(inverse: \Folder.notes) var folder: Folder?
  @ToMany(inverse: \Tag.notes) var tags: Set<Tag>
  @OrderedToMany(inverse: \Page.note, deleteRule: .cascade) var pages: [Page]
  @Transient var isOpen = false

  override class var entity: Entity {
    Entity("Note") {
      Unique(\Note.text)
      Index(\Note.time)
    }
  }

  override func awakeFromInsert() { time = Date() }
  override func awakeFromFetch() { isOpen = false }
  override func willSave() throws { if text.isEmpty { text = "empty" } }
  override func validate() throws {
    if text.count > 1000 { throw ObjectGraphError(.validation, "A note is too long.") }
  }
}

final class Reminder: Note {
  @Attribute var due: Date = Date.distantFuture
}

final class Folder: ManagedObject {
  @Attribute var name: String = ""
  @ToMany var notes: Set<Note>
}

final class Tag: ManagedObject {
  @Attribute var name: String = ""
  @ToMany var notes: Set<Note>
}

final class Page: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var note: Note?
}

@MainActor func show(_ container: PersistentContainer) throws -> [String] {
  let now = Date()
  let request = FetchRequest<Note>(
    where: #Predicate { $0.time == now }, sort: [SortDescriptor(\Note.text)], limit: 20)
  let notes = try container.viewContext.fetch(request)
  notes.first?.isOpen = true
  return notes.map(\.text)
}

@MainActor func bring(_ texts: [String], into container: PersistentContainer) async throws {
  let background = container.newBackgroundContext()
  let ids = try await background.perform { context in
    context.mergePolicy = .mergeByPropertyObjectTrump
    let folder = Folder(context: context)
    folder.name = "imported"
    let notes = texts.map { text in
      let note = Reminder(context: context)
      note.text = text
      note.folder = folder
      note.pages = [Page(context: context)]
      return note
    }
    try context.save()
    return notes.map(\.objectID)
  }
  let view = container.viewContext
  for id in ids {
    let note: Reminder = view.object(with: id)
    note.colour = .green
  }
  try view.save()
}

@MainActor func rename(_ note: Note, in container: PersistentContainer) async throws -> String {
  let view = container.viewContext
  return try await view.perform {
    note.text += "!"
    try view.save()
    return note.text
  }
}

func count(_ container: PersistentContainer) async throws -> Int {
  try await container.performBackgroundTask { try $0.count(for: FetchRequest<Note>()) }
}

/// Sends a context to the task that uses it.
///
/// Sending a context is allowed if nothing else refers to the context.
func tidy(_ container: PersistentContainer) async throws {
  let context = container.newContext()
  try await Task.detached {
    for note in try context.fetch(FetchRequest<Note>()) where note.text == "empty" {
      context.delete(note)
    }
    try context.save()
  }.value
}

func open(_ url: URL) throws -> PersistentContainer {
  try PersistentContainer(url: url, schema: Schema(Note.self, Reminder.self, Folder.self))
}
