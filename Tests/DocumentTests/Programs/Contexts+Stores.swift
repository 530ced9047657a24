import Foundation
import Heartwood

final class Note: ManagedObject {
  @Attribute var text: String = ""
}

final class Thumbnail: ManagedObject {
  @Attribute var noteURI: URL? = nil
}

func keepThumbnail(
  of note: Note, _ container: PersistentContainer, _ context: ManagedObjectContext, at cacheURL: URL
) throws {
  try container.addStore(url: cacheURL, entities: [Thumbnail.self])

  let thumbnail = Thumbnail(context: context)
  thumbnail.noteURI = note.objectID.uriRepresentation
  try context.save()
}
