import Heartwood
import Testing

/// A kind of change to a model, with all values in a store before and after the migration.
struct MigrationKind: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let old: Schema
  let new: Schema
  let fill: @Sendable (ManagedObjectContext) throws -> Void
  /// Returns the values in a context with the old model, which must equal `oldReference`.
  let oldValues: @Sendable (ManagedObjectContext) throws -> [String]
  let newValues: @Sendable (ManagedObjectContext) throws -> [String]
  let oldReference: [String]
  let newReference: [String]

  static let all = [lists, family, noFamily, attributes, fewerEntities, derived]
}

// MARK: Ordered and unordered lists, and new inverses

private enum OldLists {
  final class Singer: ManagedObject {
    @Attribute var name: String = ""
    @OrderedToMany(inverse: \Track.singer) var tracks: [Track]
    @ToMany(inverse: \Track.fans) var liked: Set<Track>
    @ToOne var town: Town?
  }
  final class Track: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var singer: Singer?
    @OrderedToMany var fans: [Singer]
  }
  final class Town: ManagedObject { @Attribute var name: String = "" }
  static let schema = Schema(Singer.self)
}

private enum NewLists {
  final class Singer: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Track.singer) var tracks: Set<Track>
    @OrderedToMany(inverse: \Track.fans) var liked: [Track]
    @ToOne var town: Town?
  }
  final class Track: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var singer: Singer?
    @ToMany var fans: Set<Singer>
  }
  final class Town: ManagedObject {
    @Attribute var name: String = ""
    @OrderedToMany(inverse: \Singer.town) var singers: [Singer]
  }
  static let schema = Schema(version: 2, Singer.self)
}

extension MigrationKind {
  fileprivate static let lists = MigrationKind(
    testDescription: "lists with and without an order, and a new inverse",
    old: OldLists.schema, new: NewLists.schema,
    fill: { context in
      let town = OldLists.Town(context: context)
      town.name = "Ur"
      let singers = ["A", "B"].map { name in
        let singer = OldLists.Singer(context: context)
        (singer.name, singer.town) = (name, town)
        return singer
      }
      let tracks = ["1", "2", "3"].map { name in
        let track = OldLists.Track(context: context)
        track.name = name
        return track
      }
      singers[0].tracks = [tracks[2], tracks[0]]
      tracks[0].fans = [singers[1], singers[0]]
      tracks[1].fans = [singers[0]]
    },
    oldValues: { context in
      try context.all(OldLists.Singer.self).map {
        "\($0.name): \($0.tracks.map(\.name)), \($0.liked.map(\.name).sorted()), "
          + "\($0.town?.name ?? "")"
      }
        + context.all(OldLists.Track.self).map {
          "\($0.name): \($0.singer?.name ?? ""), \($0.fans.map(\.name))"
        }
    },
    newValues: { context in
      try context.all(NewLists.Singer.self).map {
        "\($0.name): \($0.tracks.map(\.name).sorted()), \($0.liked.map(\.name).sorted())"
      }
        + context.all(NewLists.Track.self).map {
          "\($0.name): \($0.singer?.name ?? ""), \($0.fans.map(\.name).sorted())"
        }
        + context.all(NewLists.Town.self).map { "\($0.name): \($0.singers.map(\.name))" }
    },
    oldReference: [
      #"A: ["3", "1"], ["1", "2"], Ur"#, #"B: [], ["1"], Ur"#, #"1: A, ["B", "A"]"#,
      #"2: , ["A"]"#, "3: A, []",
    ],
    newReference: [
      #"A: ["1", "3"], ["1", "2"]"#, #"B: [], ["1"]"#, #"1: A, ["A", "B"]"#, #"2: , ["A"]"#,
      "3: A, []", #"Ur: ["A", "B"]"#,
    ])
}

// MARK: Super- and subclasses

private enum Apart {
  final class Cat: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Owner?
    override class var entity: Entity { Entity("Cat") { Index(\Cat.name) } }
  }
  final class Dog: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var tricks: Int = 0
    override class var entity: Entity { Entity("Dog") { Index(\Dog.tricks) } }
  }
  final class Owner: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Cat.owner) var cats: Set<Cat>
  }

  static func schema(version: Int) -> Schema {
    Schema(version: version, Cat.self, Dog.self, Owner.self)
  }

  static func values(_ context: ManagedObjectContext) throws -> [String] {
    try context.expect("name == 'Tom'", \Cat.name, ["Tom"])
    try context.expect("tricks > 2", \Dog.name, ["Rex"])
    return try context.all(Cat.self).map { "cat \($0.name): \($0.owner?.name ?? "")" }
      + context.all(Dog.self).map { "dog \($0.name): \($0.tricks)" }
      + context.all(Owner.self).map { "\($0.name): \($0.cats.map(\.name).sorted())" }
  }
}

private enum Family {
  class Animal: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Owner?
    override class var entity: Entity {
      Entity("Animal", isAbstract: true) { Unique(\Animal.name) }
    }
  }
  final class Cat: Animal {}
  final class Dog: Animal {
    @Attribute var tricks: Int = 0
    override class var entity: Entity { Entity("Dog") { Index(\Dog.tricks) } }
  }
  final class Owner: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Animal.owner, renamedFrom: "cats") var animals: Set<Animal>
  }

  static func schema(version: Int) -> Schema {
    Schema(version: version, Cat.self, Dog.self, Owner.self)
  }

  static func values(_ context: ManagedObjectContext) throws -> [String] {
    try context.expect("name IN {'Kit', 'Rex'}", \Animal.name, ["Kit", "Rex"])
    try context.expect("tricks > 2", \Dog.name, ["Rex"])
    return try context.all(Animal.self).map {
      "\($0 is Cat ? "cat" : "dog") \($0.name): \($0.owner?.name ?? ""), "
        + "\(($0 as? Dog)?.tricks ?? 0)"
    } + context.all(Owner.self).map { "\($0.name): \($0.animals.map(\.name).sorted())" }
  }
}

private enum ApartAgain {
  final class Cat: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Owner?
    override class var entity: Entity { Entity("Cat") { Index(\Cat.name) } }
  }
  final class Dog: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var tricks: Int = 0
  }
  final class Owner: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var favourite: Cat?
  }
  static let schema = Schema(version: 3, Cat.self, Dog.self, Owner.self)
}

extension MigrationKind {
  fileprivate static let family = MigrationKind(
    testDescription: "a new superclass to which properties move",
    old: Apart.schema(version: 1), new: Family.schema(version: 2),
    fill: { context in
      let ada = Apart.Owner(context: context)
      ada.name = "Ada"
      for (name, owner) in [("Tom", ada), ("Kit", nil)] {
        let cat = Apart.Cat(context: context)
        (cat.name, cat.owner) = (name, owner)
      }
      let dog = Apart.Dog(context: context)
      (dog.name, dog.tricks) = ("Rex", 3)
    },
    oldValues: Apart.values, newValues: Family.values,
    oldReference: ["cat Tom: Ada", "cat Kit: ", "dog Rex: 3", #"Ada: ["Tom"]"#],
    newReference: ["cat Tom: Ada, 0", "cat Kit: , 0", "dog Rex: , 3", #"Ada: ["Tom"]"#])

  fileprivate static let noFamily = MigrationKind(
    testDescription: "a superclass that is lost, with properties that move back",
    old: Family.schema(version: 2), new: ApartAgain.schema,
    fill: { context in
      let ada = Family.Owner(context: context)
      ada.name = "Ada"
      for (name, owner) in [("Tom", ada), ("Kit", nil)] {
        let cat = Family.Cat(context: context)
        (cat.name, cat.owner) = (name, owner)
      }
      let dog = Family.Dog(context: context)
      (dog.name, dog.tricks, dog.owner) = ("Rex", 3, ada)
    },
    oldValues: Family.values,
    newValues: { context in
      try context.expect("name == 'Tom'", \ApartAgain.Cat.name, ["Tom"])
      return try context.all(ApartAgain.Cat.self).map {
        "cat \($0.name): \($0.owner?.name ?? "")"
      } + context.all(ApartAgain.Dog.self).map { "dog \($0.name): \($0.tricks)" }
        + context.all(ApartAgain.Owner.self).map { "\($0.name): \($0.favourite?.name ?? "")" }
    },
    oldReference: ["cat Tom: Ada, 0", "cat Kit: , 0", "dog Rex: Ada, 3", #"Ada: ["Rex", "Tom"]"#],
    newReference: ["cat Tom: Ada", "cat Kit: ", "dog Rex: 3", "Ada: "])
}
