import Foundation
import Heartwood

class Item: ManagedObject {
  @Attribute(.unique) var id: String = ""
  @Attribute var title: String = ""
  @Attribute var created: Date = .distantPast
  @ToMany var albums: Set<Album>
}

final class Photo: Item {
  @Attribute var width: Int = 0
}

final class Album: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @OrderedToMany(inverse: \Item.albums) var items: [Item]
}

func importLibrary(from folder: URL, into context: ManagedObjectContext) throws {
  var options = ImportOptions()
  options.dateDecodingStrategy = .deferredToDate  // what `JSONEncoder` writes by default
  func file(_ name: String) -> URL { folder.appending(path: "\(name).jsonl") }
  try context.upsert(Item.self, matching: \.id, contentsOf: file("Item"), options)
  try context.upsert(Photo.self, matching: \.id, contentsOf: file("Photo"), options)
  try context.upsert(Album.self, matching: \.name, contentsOf: file("Album"), options)
}

@main struct Program {
  static func main() throws {
    let folder = URL(filePath: "export")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let files = [
      "Item": #"{"id":"i1","title":"Map","created":0.5}"#,
      "Photo": """
      {"id":"p1","title":"Beach","created":1,"width":640}
      {"id":"p2","title":"Sea","created":2,"width":800}
      """,
      "Album": #"{"name":"Summer","items":["p2","i1","p1"]}"#,
    ]
    for (name, text) in files {
      try Data(text.utf8).write(to: folder.appending(path: "\(name).jsonl"))
    }
    let container = try PersistentContainer(
      url: URL(filePath: "library"), schema: Schema(Photo.self, Album.self))
    let context = container.newContext()
    try importLibrary(from: folder, into: context)
    // A second run changes nothing.
    try importLibrary(from: folder, into: context)
    for album in try context.fetch(FetchRequest<Album>()) {
      print(album.name, album.items.map { "\($0.title) \(($0 as? Photo)?.width ?? 0)" })
    }
    print(try context.count(for: FetchRequest<Item>()))
  }
}
