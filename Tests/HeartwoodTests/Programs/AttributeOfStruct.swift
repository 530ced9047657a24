// error: An attribute belongs to a subclass of ManagedObject.
import Heartwood

/// A struct cannot have attributes.
struct Note {
  @Attribute var text: String = ""
}

func text(of note: Note) -> String { note.text }
