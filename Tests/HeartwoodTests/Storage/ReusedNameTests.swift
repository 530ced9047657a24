import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum First {
  final class Note: ManagedObject {
    @Attribute var title: String = ""
    @Attribute var name: String = ""
    @ToOne var owner: Note?
  }
  final class Film: ManagedObject { @Attribute var length: Int = 0 }
}

/// A version in which titles are names, and the first version's names are removed.
private enum Second {
  final class Note: ManagedObject {
    @Attribute(renamedFrom: "title") var name: String = ""
    @ToOne(renamedFrom: "owner") var boss: Note?
  }
  final class Movie: ManagedObject {
    @Attribute var length: Int = 0
    override class var entity: Entity { Entity("Movie", renamedFrom: "Film") }
  }
}

/// A version that uses the former names for new declarations.
private enum Third {
  final class Note: ManagedObject {
    @Attribute var title: String = "Dr"
    @Attribute(renamedFrom: "title") var name: String = ""
    @ToOne var owner: Note?
    @ToOne(renamedFrom: "owner") var boss: Note?
  }
  final class Film: ManagedObject { @Attribute var length: Int = 0 }
}

@Suite("A former name that is used again")
struct ReusedNameTests {
  /// Returns a store of the second version.
  ///
  /// - Parameter isMigrated: Whether the store was created with the first version.
  private func filled(isMigrated: Bool) throws -> EvolvingStore {
    let store = EvolvingStore()
    guard isMigrated else {
      try store.open(Schema(version: 2, Second.Note.self, Second.Movie.self)) { context in
        let note = Second.Note(context: context)
        (note.name, note.boss) = ("Ada", note)
        Second.Movie(context: context).length = 90
      }
      return store
    }
    try store.open(Schema(First.Note.self, First.Film.self)) { context in
      let note = First.Note(context: context)
      (note.title, note.name, note.owner) = ("Ada", "old", note)
      First.Film(context: context).length = 90
    }
    return store
  }

  private func expectSecond(_ context: ManagedObjectContext) throws {
    let notes = try context.all(Second.Note.self)
    #expect(notes.map(\.name) == ["Ada"] && notes.first?.boss === notes.first)
    #expect(try context.all(Second.Movie.self).map(\.length) == [90])
  }

  @Test(.evidence("E-03"), .evidence("E-09"), arguments: [false, true])
  func `belongs to the new declaration until the declaration is removed`(isMigrated: Bool) throws {
    let store = try filled(isMigrated: isMigrated)
    try store.open(Schema(version: 2, Second.Note.self, Second.Movie.self)) { context in
      try expectSecond(context)
    }
    try store.open(
      Schema(version: 3, Third.Note.self, Second.Movie.self, Third.Film.self)
    ) { context in
      let notes = try context.all(Third.Note.self)
      #expect(notes.map(\.name) == ["Ada"] && notes.map(\.title) == ["Dr"])
      #expect(notes.first?.boss === notes.first && notes.first?.owner == nil)
      #expect(try context.all(Third.Film.self).isEmpty)
      Third.Film(context: context).length = 1
    }
    for version in [4, 4, 5] {
      try store.open(
        Schema(version: version, removing: ["Film"], Second.Note.self, Second.Movie.self)
      ) { context in
        try expectSecond(context)
      }
    }
  }
}
