import Foundation
import Heartwood
import Observation

final class Folder: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToMany(inverse: \Note.folder, deleteRule: .cascade) var notes: Set<Note>
}

final class Note: ManagedObject {
  @Attribute var text: String = ""
  @Attribute(.indexed) var changed: Date = Date()
  @Attribute var words: [String] = []
  @ToOne var folder: Folder?

  override func validate() throws {
    if text.isEmpty { throw EmptyNote() }
  }
}

struct EmptyNote: Error {}

/// The data and the actions of the views in a notes app.
@MainActor @Observable final class NotesModel {
  private let context: ManagedObjectContext
  private(set) var notes: FetchedResultsController<Note>
  var search = "" { didSet { show() } }

  init(_ container: PersistentContainer) throws {
    context = container.viewContext
    context.tracksUndo = true
    context.automaticallyMergesChangesFromParent = true
    notes = FetchedResultsController(fetchRequest: FetchRequest(), context: context)
    show()
  }

  private func show() {
    let (text, searchesAll) = (search, search.isEmpty)
    notes.fetchRequest = FetchRequest(
      where: #Predicate { searchesAll || $0.text.localizedStandardContains(text) },
      sort: [SortDescriptor(\.changed, order: .reverse)])
    try? notes.performFetch()
  }

  func folder(_ name: String) throws -> Folder {
    if let known = try context.existingObject(where: \Folder.name, equals: name) { return known }
    let folder = Folder(context: context)
    folder.name = name
    return folder
  }

  /// Edits the given note, or a new one, in a child context.
  ///
  /// Nothing changes if `edit` throws.
  func edit(_ note: Note? = nil, in folder: Folder, _ edit: (Note) throws -> Void) throws {
    let draft = ManagedObjectContext(parent: context)
    let edited = try note.map { try draft.existingObject(Note.self, with: $0.objectID) } ?? nil
    let copy = edited ?? Note(context: draft)
    copy.folder = try draft.existingObject(Folder.self, with: folder.objectID)
    try edit(copy)
    copy.changed = Date()
    try draft.save()
  }

  func delete(_ note: Note) { context.delete(note) }
  func undo() { context.undo() }
  func save() throws { try context.save() }
}

@main struct Program {
  @MainActor static func main() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Folder.self))
    let model = try NotesModel(container)
    let folder = try model.folder("Home")
    for text in ["Café at nine", "Buy milk", "Call the cafe"] {
      try model.edit(in: folder) { $0.text = text }
    }
    do { try model.edit(model.notes[0], in: folder) { $0.text = "" } } catch { print("refused") }
    try model.save()
    model.search = "cafe"
    print(model.notes.map(\.text))
    model.delete(model.notes[0])
    print(model.notes.count, folder.notes.count)
    model.undo()
    print(model.notes.count, folder.notes.count)
  }
}
