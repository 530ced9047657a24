import Foundation
import Heartwood

enum V1 {
  final class Note: ManagedObject {
    @Attribute var text: String = ""
  }
  static let schema = Schema(version: 1, Note.self)
}

enum V2 {
  final class Note: ManagedObject {
    @Attribute var text: String = ""
    @Attribute var id: UUID = UUID()
  }
  static let schema = Schema(version: 2, Note.self)
}

final class Note: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var id: UUID = UUID()

  override class var entity: Entity { Entity("Note") { Unique(\Note.id) } }
}

func openNotes(at url: URL) throws -> PersistentContainer {
  var options = ContainerOptions()
  options.stages = [
    .custom(
      from: V1.schema, to: V2.schema,
      didMigrate: { context in
        for note in try context.fetchBatched(FetchRequest<V2.Note>()) { note.id = UUID() }
      })
  ]
  return try PersistentContainer(
    url: url, schema: Schema(version: 3, Note.self), options: options)
}
