// error: Attributes can be declared only in subclasses of ManagedObject.
import Heartwood

/// Attributes belong to objects.
struct Note {
  @Attribute var text: String = ""
}

func text(of note: Note) -> String { note.text }
