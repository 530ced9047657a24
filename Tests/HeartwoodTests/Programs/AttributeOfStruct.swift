// error: An attribute belongs to a subclass of ManagedObject.
import Heartwood

/// Attributes belong to objects.
struct Note {
  @Attribute var text: String = ""
}

func text(of note: Note) -> String { note.text }
