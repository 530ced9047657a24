// error: Attributes can be declared only in subclasses of ManagedObject.
import Heartwood

/// A struct cannot have attributes.
struct Note {
  @Attribute var text: String = ""
}

func text(of note: Note) -> String { note.text }
