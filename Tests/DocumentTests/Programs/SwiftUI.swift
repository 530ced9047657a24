import Foundation
import Heartwood
import HeartwoodUI
import SwiftUI

final class Note: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var topic: String = ""
}

@MainActor func rootView(_ container: PersistentContainer) -> some View {
  NoteList().persistentContainer(container)
}

struct NoteList: View {
  @Environment(\.objectContext) private var context
  @Fetched(sort: [SortDescriptor(\Note.text)], animation: .default) private var notes

  var body: some View {
    List {
      if let error = $notes { Text("The notes cannot be read: \(error)") }
      ForEach(notes) { note in NoteRow(note: note) }
        .onDelete { positions in
          for note in positions.map({ notes[$0] }) { context?.delete(note) }
          try? context?.save()
        }
    }
  }
}

struct NoteRow: View {
  @Bindable var note: Note

  var body: some View { TextField("Text", text: $note.text) }
}

struct SearchResults: View {
  @Fetched private var notes: ResultsList<Note>

  init(text: String) {
    _notes = Fetched(
      where: #Predicate { $0.text.localizedStandardContains(text) },
      sort: [SortDescriptor(\.topic), SortDescriptor(\.text)], sectionedBy: \Note.topic, id: text)
  }

  var body: some View {
    List {
      ForEach(notes.sections, id: \.name) { section in
        Section(section.name ?? "") {
          ForEach(section) { note in Text(note.text) }
        }
      }
    }
  }
}

@MainActor func preview() -> some View {
  NoteList().persistentContainer(
    .preview(Note.self) { context in Note(context: context).text = "milk" })
}
