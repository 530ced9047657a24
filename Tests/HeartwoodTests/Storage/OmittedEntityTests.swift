import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum Whole {
  final class Song: ManagedObject {
    @Attribute var title: String = ""
    @Attribute var plays: Int = 0
    @ToOne var album: Album?
    override class var entity: Entity { Entity("Song") { Index(\Song.plays) } }
  }
  final class Album: ManagedObject {
    @Attribute var title: String = ""
    @ToMany(inverse: \Song.album) var songs: Set<Song>
  }
  final class Setting: ManagedObject {
    @Attribute(.unique) var key: String = ""
    @Attribute var value: Int = 0
  }
  static let types: [ManagedObject.Type] = [Song.self, Album.self, Setting.self]
  static let schema = Schema(types: types)
}

/// A program that shows only settings, and declares an additional attribute.
private enum Panel {
  final class Setting: ManagedObject {
    @Attribute(.unique) var key: String = ""
    @Attribute var value: Int = 0
    @Attribute(.indexed) var note: String = "-"
  }
}

/// Classes whose relationships or superclasses lead to classes that a schema omits.
private enum Related {
  class Work: ManagedObject {
    @Attribute(.indexed) var title: String = ""
  }
  final class Book: Work {}
  final class Film: Work {}
  final class Shelf: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var best: Work?
  }
  static let schema = Schema(Book.self, Film.self, Shelf.self)
}

/// The same entities without some of their relationships.
private enum Reduced {
  class Work: ManagedObject {
    @Attribute(.indexed) var title: String = ""
  }
  final class Book: Work {}
  final class Shelf: ManagedObject {
    @Attribute var name: String = ""
  }
  final class Cupboard: ManagedObject {
    @Attribute var name: String = ""
    override class var entity: Entity { Entity("Film", renamedFrom: "Shelf") }
  }
}

@Suite("Entities that a schema omits")
struct OmittedEntityTests {
  private func filled() throws -> EvolvingStore {
    let store = EvolvingStore()
    try store.open(Whole.schema) { context in
      let album = Whole.Album(context: context)
      album.title = "Blue"
      for plays in 0..<40 {
        let song = Whole.Song(context: context)
        song.title = "Song \(plays)"
        song.plays = plays
        song.album = album
      }
      Whole.Setting(context: context).key = "volume"
    }
    return store
  }

  private func expectSongs(_ context: ManagedObjectContext) throws {
    try context.expect("plays >= 38", \Whole.Song.title, ["Song 38", "Song 39"])
    try context.expect("album.title == 'Blue' AND plays < 1", \Whole.Song.plays, [0])
    #expect(try context.all(Whole.Album.self).map(\.songs.count) == [40])
  }

  @Test(.evidence("E-17"), arguments: [1, 2])
  func `a schema with some of the classes keeps the rows of the others`(version: Int) throws {
    let store = try filled()
    let part = Schema(version: version, Whole.Setting.self)
    try store.open(part) { context in
      try context.expect("key == 'volume'", \Whole.Setting.value, [0])
      try context.all(Whole.Setting.self).first?.value = 7
      Whole.Setting(context: context).key = "speed"
    }
    try store.open(Schema(version: version, types: Whole.types)) { context in
      try expectSongs(context)
      try context.expect("value == 7", \Whole.Setting.key, ["volume"])
      Whole.Song(context: context).title = "New"
    }
    try store.open(part) { context in
      try context.expect("key > ''", \Whole.Setting.key, ["speed", "volume"])
    }
  }

  @Test(.evidence("E-17"))
  func `a migration of some of the classes keeps the rows of the others`() throws {
    let store = try filled()
    try store.open(Schema(version: 2, Panel.Setting.self)) { context in
      try context.expect("note == '-'", \Panel.Setting.key, ["volume"])
    }
    try store.open(
      Schema(version: 2, Whole.Song.self, Whole.Album.self, Panel.Setting.self)
    ) { context in
      try expectSongs(context)
      try context.expect("note == '-'", \Panel.Setting.key, ["volume"])
    }
  }

  @Test(.evidence("E-17"), .evidence("E-12"))
  func `containers with all and with some of the classes share a store`() throws {
    let scratch = try ScratchDirectory()
    let url = URL(filePath: scratch.path(of: "shared"))
    let whole = try PersistentContainer(url: url, schema: Whole.schema)
    let part = try PersistentContainer(url: url, schema: Schema(Whole.Setting.self))
    let (own, other) = (whole.newContext(), part.newContext())
    let song = Whole.Song(context: own)
    song.title = "One"
    let setting = Whole.Setting(context: own)
    setting.key = "volume"
    try own.save()
    let found = try #require(try other.fetch(FetchRequest<Whole.Setting>()).first)
    found.value = 3
    try other.save()
    try own.refresh(setting, mergeChanges: false)
    #expect(setting.value == 3)
    song.title = "Two"
    try own.save()
    #expect(try other.fetch(FetchRequest<Whole.Setting>()).map(\.value) == [3])
    let changes = try part.fetchHistory(after: nil).flatMap(\.changes)
    #expect(Set(changes.map(\.objectID.entityName)) == ["Setting"])
    #expect(try whole.fetchHistory(after: nil).flatMap(\.changes).count == 4)
    #expect(try part.store.verify().findings.isEmpty)
  }

  @Test(.evidence("E-17"))
  func `a schema cannot omit entities that are related to its own`() throws {
    let store = EvolvingStore()
    try store.open(Related.schema) { context in
      let shelf = Related.Shelf(context: context)
      shelf.best = Related.Film(context: context)
    }
    for version in [1, 2] {
      // `Book` and `Film` share an index, and a shelf can refer to a film.
      let book = try store.refusal(
        Schema(version: version, Reduced.Book.self, Reduced.Shelf.self))
      #expect("\(book)".contains("Film exists only in the store and is related to"))
      #expect("\(book)".contains("list Film in `removing`"))
      let shelf = try store.refusal(Schema(version: version, Reduced.Shelf.self))
      #expect("\(shelf)".contains("Film exists only in the store and is related to Shelf"))
    }
    try store.open(Related.schema) { context in
      let best = try context.all(Related.Shelf.self).first?.best
      #expect(best is Related.Film)
    }
  }

  @Test(.evidence("E-17"))
  func `a name that an omitted entity has cannot be given to another entity`() throws {
    let store = EvolvingStore()
    try store.open(Schema(Related.Shelf.self, Related.Film.self)) { context in
      Related.Shelf(context: context).name = "A"
      Related.Film(context: context).title = "B"
    }
    let refusal = try store.refusal(Schema(version: 2, Reduced.Cupboard.self))
    #expect("\(refusal)".contains("The store already contains a different entity named Film"))
    try store.open(
      Schema(version: 2, removing: ["Film", "Work"], Reduced.Cupboard.self)
    ) { context in
      try context.expect("name == 'A'", \Reduced.Cupboard.name, ["A"])
    }
  }

  @Test(.evidence("E-09"))
  func `an entity is removed only by its name and with a higher version`() throws {
    let store = try filled()
    let refusal = try store.refusal(
      Schema(removing: ["Song", "Album"], Whole.Setting.self))
    #expect(refusal.kind == .incompatibleSchema)
    #expect(Set(refusal.failures.map(\.message)).count == 2)
    try store.open(Whole.schema) { try expectSongs($0) }
    // An entity that the program declares is not removed.
    try store.open(
      Schema(version: 2, removing: ["Song", "Nothing"], types: Whole.types)
    ) { try expectSongs($0) }
    try store.open(
      Schema(version: 3, removing: ["Song", "Album"], Whole.Setting.self)
    ) { context in
      try context.expect("key > ''", \Whole.Setting.key, ["volume"])
    }
    try store.open(Schema(version: 4, types: Whole.types)) { context in
      #expect(try context.count(for: FetchRequest<Whole.Song>()) == 0)
      try context.expect("key > ''", \Whole.Setting.key, ["volume"])
    }
  }
  @Test(.mustEnd, .evidence("E-17"), .evidence("CF-01"), .evidence("QG-58"))
  func `feeds, versions and reverts know only the objects of the schema`() throws {
    let store = try Store.inMemory()
    let whole = try PersistentContainer(store: store, schema: Whole.schema)
    let part = try PersistentContainer(store: store, schema: Schema(Whole.Setting.self))
    var reader = try part.changeFeed(from: .oldestTransaction).reader()
    let context = whole.newContext()
    let (song, setting) = (Whole.Song(context: context), Whole.Setting(context: context))
    setting.key = "volume"
    try context.save()
    #expect(try reader.next()?.entityName == "Setting")
    #expect(try reader.next() == nil)
    try part.keepGeneration(.current, as: "before")
    let before = try #require(try part.keptGeneration("before"))
    song.title = "New"
    try context.save()
    #expect(try reader.next() == nil)
    #expect(try part.changes(from: before, to: .current).updated.isEmpty)
    expect(.unknownEntity, "Add the class") {
      _ = try part.versions(of: song.objectID, from: before)
    }
    #expect(throws: ObjectGraphError.self) { try part.revert(to: before) }
    setting.value = 2
    try context.save()
    #expect(try reader.next()?.changedProperties == ["value"])
  }

}
