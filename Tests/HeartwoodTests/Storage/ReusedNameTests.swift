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

/// Versions in which a new declaration repeatedly uses a former name and is then renamed too.
private enum Chain {
  final class One: ManagedObject {
    @Attribute var a: Int = 0
    @ToOne var r: One?
    override class var entity: Entity { Entity("A") }
  }
  final class Two: ManagedObject {
    @Attribute(renamedFrom: "a") var b: Int = 0
    @ToOne(renamedFrom: "r") var s: Two?
    override class var entity: Entity { Entity("B", renamedFrom: "A") }
  }
  final class Three: ManagedObject {
    @Attribute(renamedFrom: "a") var b: Int = 0
    @Attribute var a: Int = 0
    @ToOne(renamedFrom: "r") var s: Three?
    @ToOne var r: Three?
    override class var entity: Entity { Entity("B", renamedFrom: "A") }
  }
  final class Four: ManagedObject {
    @Attribute(renamedFrom: "b") var c: Int = 0
    @Attribute(renamedFrom: "a") var b: Int = 0
    @ToOne(renamedFrom: "s") var t: Four?
    @ToOne(renamedFrom: "r") var s: Four?
    override class var entity: Entity { Entity("C", renamedFrom: "B") }
  }
  final class FourReversed: ManagedObject {
    @ToOne(renamedFrom: "r") var s: FourReversed?
    @ToOne(renamedFrom: "s") var t: FourReversed?
    @Attribute(renamedFrom: "a") var b: Int = 0
    @Attribute(renamedFrom: "b") var c: Int = 0
    override class var entity: Entity { Entity("C", renamedFrom: "B") }
  }
  final class Five: ManagedObject {
    @Attribute(renamedFrom: "b") var c: Int = 0
    @Attribute(renamedFrom: "a") var b: Int = 0
    @Attribute var a: Int = 0
    override class var entity: Entity { Entity("C", renamedFrom: "B") }
  }
  final class Six: ManagedObject {
    @Attribute(renamedFrom: "c") var d: Int = 0
    @Attribute(renamedFrom: "b") var c: Int = 0
    @Attribute(renamedFrom: "a") var b: Int = 0
    override class var entity: Entity { Entity("D", renamedFrom: "C") }
  }
  final class SixReversed: ManagedObject {
    @Attribute(renamedFrom: "a") var b: Int = 0
    @Attribute(renamedFrom: "b") var c: Int = 0
    @Attribute(renamedFrom: "c") var d: Int = 0
    override class var entity: Entity { Entity("D", renamedFrom: "C") }
  }

  /// A new class that is named as ``One`` was.
  final class Other: ManagedObject {
    @Attribute var length: Int = 0
    override class var entity: Entity { Entity("A") }
  }
  final class RenamedOther: ManagedObject {
    @Attribute var length: Int = 0
    override class var entity: Entity { Entity("B", renamedFrom: "A") }
  }
}

/// Versions in which attributes and entities exchange their names.
private enum Exchange {
  final class Left: ManagedObject {
    @Attribute var a: Int = 0
    @Attribute var b: Int = 0
    @Attribute var c: Int = 0
    @ToOne var r: Right?
    override class var entity: Entity { Entity("Left") { Unique(\Left.a) } }
  }
  final class Right: ManagedObject {
    @Attribute var a: Int = 0
    @ToMany(inverse: \Left.r) var lefts: Set<Left>
    override class var entity: Entity { Entity("Right") { Index(\Right.a) } }
  }
  final class NewRight: ManagedObject {
    @Attribute(renamedFrom: "b") var a: Int = 0
    @Attribute(renamedFrom: "c") var b: Int = 0
    @Attribute(renamedFrom: "a") var c: Int = 0
    @ToOne var r: NewLeft?
    override class var entity: Entity {
      Entity("Right", renamedFrom: "Left") { Unique(\NewRight.c) }
    }
  }
  final class NewLeft: ManagedObject {
    @Attribute var a: Int = 0
    @ToMany(inverse: \NewRight.r) var lefts: Set<NewRight>
    override class var entity: Entity {
      Entity("Left", renamedFrom: "Right") { Index(\NewLeft.a) }
    }
  }
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
  func `belongs to the new property until that property is removed`(isMigrated: Bool) throws {
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

  /// Returns a store whose attributes are b = 1 and a = 2, and whose relationships are s and r.
  ///
  /// - Parameter isMigrated: Whether the store was created with the first version.
  private func chained(isMigrated: Bool) throws -> EvolvingStore {
    let store = EvolvingStore()
    if isMigrated {
      try store.open(Schema(Chain.One.self)) { context in
        let object = Chain.One(context: context)
        (object.a, object.r) = (1, object)
      }
      try store.open(Schema(version: 2, Chain.Two.self)) { _ in }
    } else {
      try store.open(Schema(version: 2, Chain.Two.self)) { context in
        let object = Chain.Two(context: context)
        (object.b, object.s) = (1, object)
      }
    }
    try store.open(Schema(version: 3, Chain.Three.self, Chain.Other.self)) { context in
      let object = try #require(try context.all(Chain.Three.self).first)
      #expect(object.b == 1 && object.s === object)
      object.a = 2
      let new = Chain.Three(context: context)
      (new.b, new.a, new.r) = (3, 4, object)
      Chain.Other(context: context).length = 90
    }
    return store
  }

  private func expectFour<M: ManagedObject>(
    _ type: M.Type, _ context: ManagedObjectContext, _ c: KeyPath<M, Int>, _ b: KeyPath<M, Int>,
    _ t: KeyPath<M, M?>, _ s: KeyPath<M, M?>
  ) throws {
    let objects = try context.all(type)
    #expect(objects.map { $0[keyPath: c] } == [1, 3])
    #expect(objects.map { $0[keyPath: b] } == [2, 4])
    #expect(objects.map { $0[keyPath: t] } == [objects.first, nil])
    #expect(objects.map { $0[keyPath: s] } == [nil, objects.first])
    #expect(try context.all(Chain.RenamedOther.self).map(\.length) == [90])
  }

  @Test(.evidence("M-04"), .evidence("E-03"), arguments: [false, true], [false, true])
  func `becomes the former name of both declarations when both are renamed`(
    isMigrated: Bool, isReversed: Bool
  ) throws {
    let store = try chained(isMigrated: isMigrated)
    for version in [4, 4, 5] {
      if isReversed {
        try store.open(
          Schema(version: version, Chain.RenamedOther.self, Chain.FourReversed.self)
        ) { context in
          try expectFour(Chain.FourReversed.self, context, \.c, \.b, \.t, \.s)
        }
      } else {
        try store.open(Schema(version: version, Chain.Four.self, Chain.RenamedOther.self)) {
          try expectFour(Chain.Four.self, $0, \.c, \.b, \.t, \.s)
        }
      }
    }
  }

  @Test(.evidence("M-04"), .evidence("E-03"), arguments: [false, true])
  func `can be passed on by several declarations at once`(isReversed: Bool) throws {
    let store = EvolvingStore()
    try store.open(Schema(version: 5, Chain.Five.self)) { context in
      let object = Chain.Five(context: context)
      (object.c, object.b, object.a) = (1, 2, 3)
    }
    for version in [6, 6, 7] {
      if isReversed {
        try store.open(Schema(version: version, Chain.SixReversed.self)) { context in
          let objects = try context.all(Chain.SixReversed.self)
          #expect(objects.map { [$0.d, $0.c, $0.b] } == [[1, 2, 3]])
        }
      } else {
        try store.open(Schema(version: version, Chain.Six.self)) { context in
          let objects = try context.all(Chain.Six.self)
          #expect(objects.map { [$0.d, $0.c, $0.b] } == [[1, 2, 3]])
        }
      }
    }
  }

  @Test(.evidence("M-04"), .evidence("E-03"))
  func `can be exchanged between declarations`() throws {
    let store = EvolvingStore()
    try store.open(Schema(Exchange.Left.self, Exchange.Right.self)) { context in
      let (left, right) = (Exchange.Left(context: context), Exchange.Right(context: context))
      (left.a, left.b, left.c, left.r) = (1, 2, 3, right)
      right.a = 9
    }
    for version in [2, 2, 3] {
      try store.open(
        Schema(version: version, Exchange.NewLeft.self, Exchange.NewRight.self)
      ) { context in
        let object = try #require(try context.all(Exchange.NewRight.self).first)
        #expect(object.a == 2 && object.b == 3 && object.c == 1)
        let other = try #require(try context.all(Exchange.NewLeft.self).first)
        #expect(other.a == 9 && other.lefts.first === object && object.r === other)
        let found = try context.existingObject(where: \Exchange.NewRight.c, equals: 1)
        #expect(found === object)
      }
    }
  }
}
