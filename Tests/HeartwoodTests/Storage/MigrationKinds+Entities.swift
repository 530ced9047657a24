import Heartwood
import Testing

// MARK: Attributes

private enum OldBooks {
  final class Book: ManagedObject {
    @Attribute var title: String? = nil
    @Attribute var rank: Int? = nil
    @Attribute var pages: Int16 = 0
    @Attribute var shelf: UInt8 = 0
    @Attribute var weight: Float = 0
    @Attribute var note: String = ""
    @Attribute var stars: Int = 3
    @Attribute var old: String = "gone"
    override class var entity: Entity {
      Entity("Book") {
        Index(\Book.title)
        Index(\Book.pages)
        Unique(\Book.note)
      }
    }
  }
  static let schema = Schema(Book.self)
}

private enum NewBooks {
  final class Book: ManagedObject {
    @Attribute var title: String = "untitled"
    @Attribute var rank: Int = 9
    @Attribute var pages: Int = 0
    @Attribute var shelf: Int32 = 0
    @Attribute var weight: Double = 0
    @Attribute(renamedFrom: "note") var remark: String? = nil
    @Attribute var stars: Int = 5
    @Attribute var language: String = "la"
    override class var entity: Entity {
      Entity("Book") {
        Index(\Book.title)
        Index(\Book.pages, \Book.rank)
        Unique(\Book.remark)
        Index(\Book.language)
      }
    }
  }
  static let schema = Schema(version: 2, Book.self)
}

extension MigrationKind {
  static let attributes = MigrationKind(
    testDescription: "wider, optional, required, renamed, new and removed attributes",
    old: OldBooks.schema, new: NewBooks.schema,
    fill: { context in
      for number in 0..<3 {
        let book = OldBooks.Book(context: context)
        (book.title, book.rank) = number == 1 ? (nil, nil) : ("T\(number)", number)
        (book.pages, book.shelf, book.weight) = (Int16(-number), UInt8(255 - number), 0.25)
        (book.note, book.stars) = ("n\(number)", number)
      }
    },
    oldValues: { context in
      try context.expect("title == nil", \OldBooks.Book.note, ["n1"])
      try context.expect("pages < 0", \OldBooks.Book.note, ["n1", "n2"])
      return try context.all(OldBooks.Book.self).map {
        "\($0.title ?? "-") \($0.rank ?? -1) \($0.pages) \($0.shelf) \($0.weight) \($0.note) "
          + "\($0.stars) \($0.old)"
      }
    },
    newValues: { context in
      try context.expect("title == 'untitled'", \NewBooks.Book.stars, [1])
      try context.expect("pages == -1 AND rank == 9", \NewBooks.Book.stars, [1])
      try context.expect("remark == 'n2'", \NewBooks.Book.stars, [2])
      try context.expect("language == 'la'", \NewBooks.Book.stars, [0, 1, 2])
      return try context.all(NewBooks.Book.self).map {
        "\($0.title) \($0.rank) \($0.pages) \($0.shelf) \($0.weight) \($0.remark ?? "-") "
          + "\($0.stars) \($0.language)"
      }
    },
    oldReference: [
      "T0 0 0 255 0.25 n0 0 gone", "- -1 -1 254 0.25 n1 1 gone", "T2 2 -2 253 0.25 n2 2 gone",
    ],
    newReference: [
      "T0 0 0 255 0.25 n0 0 la", "untitled 9 -1 254 0.25 n1 1 la", "T2 2 -2 253 0.25 n2 2 la",
    ])
}

// MARK: Entities

private enum MoreEntities {
  final class Person: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var car: Car?
    @OrderedToMany(inverse: \Letter.readers) var letters: [Letter]
    @ToMany(inverse: \Dog.owner) var dogs: Set<Dog>
  }
  final class Car: ManagedObject {
    @Attribute var name: String = ""
    override class var entity: Entity { Entity("Car") { Unique(\Car.name) } }
  }
  class Letter: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var readers: Set<Person>
  }
  final class Card: Letter {}
  final class Dog: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Person?
  }
  static let schema = Schema(Person.self, Card.self)
}

private enum FewerEntities {
  final class Human: ManagedObject {
    @Attribute var name: String = ""
    @OrderedToMany(inverse: \Letter.readers) var letters: [Letter]
    @ToMany(inverse: \Dog.owner) var dogs: Set<Dog>
    @ToOne var boat: Boat?
    override class var entity: Entity { Entity("Human", renamedFrom: "Person") }
  }
  final class Boat: ManagedObject { @Attribute var name: String = "" }
  class Letter: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var readers: Set<Human>
  }
  final class Dog: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Human?
  }
  static let schema = Schema(version: 2, removing: ["Car", "Card"], Human.self)
}

extension MigrationKind {
  static let fewerEntities = MigrationKind(
    testDescription: "entities that are removed, renamed and new",
    old: MoreEntities.schema, new: FewerEntities.schema,
    fill: { context in
      let car = MoreEntities.Car(context: context)
      car.name = "DB5"
      let people = ["A", "B"].map { name in
        let person = MoreEntities.Person(context: context)
        (person.name, person.car) = (name, name == "A" ? car : nil)
        let dog = MoreEntities.Dog(context: context)
        (dog.name, dog.owner) = ("dog of \(name)", person)
        return person
      }
      let letters = ["1", "2", "3"].map { name in
        let letter =
          name == "2" ? MoreEntities.Card(context: context) : MoreEntities.Letter(context: context)
        letter.name = name
        return letter
      }
      people[0].letters = [letters[2], letters[1], letters[0]]
      people[1].letters = [letters[1]]
    },
    oldValues: { context in
      try context.expect("name == 'DB5'", \MoreEntities.Car.name, ["DB5"])
      return try context.all(MoreEntities.Person.self).map {
        "\($0.name): \($0.car?.name ?? ""), \($0.letters.map(\.name)), \($0.dogs.map(\.name))"
      }
        + context.all(MoreEntities.Letter.self).map {
          "\($0.name): \($0 is MoreEntities.Card), \($0.readers.map(\.name).sorted())"
        }
    },
    newValues: { context in
      try context.all(FewerEntities.Human.self).map {
        "\($0.name): \($0.boat?.name ?? ""), \($0.letters.map(\.name)), \($0.dogs.map(\.name))"
      }
        + context.all(FewerEntities.Letter.self).map {
          "\($0.name): \($0.readers.map(\.name).sorted())"
        } + context.all(FewerEntities.Boat.self).map(\.name)
    },
    oldReference: [
      #"A: DB5, ["3", "2", "1"], ["dog of A"]"#, #"B: , ["2"], ["dog of B"]"#, #"1: false, ["A"]"#,
      #"3: false, ["A"]"#, #"2: true, ["A", "B"]"#,
    ],
    newReference: [
      #"A: , ["3", "1"], ["dog of A"]"#, #"B: , [], ["dog of B"]"#, #"1: ["A"]"#, #"3: ["A"]"#,
    ])
}

// MARK: Derived attributes

private enum OldDerived {
  final class Town: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var search: String = ""
    @Attribute var rooms: Int? = nil
    @ToMany(inverse: \House.town) var houses: Set<House>
    override class var entity: Entity {
      Entity("Town") {
        Unique(\Town.search)
        Derived(\Town.search, .uppercase(\Town.name))
        Derived(\Town.rooms, .max(\Town.houses, \House.rooms))
      }
    }
  }
  final class House: ManagedObject {
    @Attribute var rooms: Int = 0
    @ToOne var town: Town?
  }
  static let schema = Schema(Town.self)
}

private enum NewDerived {
  final class Town: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var search: String = ""
    @Attribute var rooms: Int? = nil
    @Attribute var houseCount: Int = 0
    @ToMany(inverse: \House.town) var houses: Set<House>
    override class var entity: Entity {
      Entity("Town") {
        Unique(\Town.search)
        Index(\Town.houseCount)
        Derived(\Town.search, .lowercase(\Town.name))
        Derived(\Town.rooms, .min(\Town.houses, \House.rooms))
        Derived(\Town.houseCount, .count(\Town.houses))
      }
    }
  }
  final class House: ManagedObject {
    @Attribute var rooms: Int = 0
    @ToOne var town: Town?
    @Attribute var townName: String? = nil
    override class var entity: Entity {
      Entity("House") { Derived(\House.townName, .copy(of: \House.town, \Town.name)) }
    }
  }
  static let schema = Schema(version: 2, Town.self)
}

extension MigrationKind {
  static let derived = MigrationKind(
    testDescription: "derived attributes that are new, and others than before",
    old: OldDerived.schema, new: NewDerived.schema,
    fill: { context in
      for name in ["Ur", "Uruk", "Aka"] {
        let town = OldDerived.Town(context: context)
        town.name = name
        for rooms in 0..<(name.count - 1) * (name == "Aka" ? 0 : 1) {
          let house = OldDerived.House(context: context)
          (house.rooms, house.town) = (rooms + 1, town)
        }
      }
    },
    oldValues: { context in
      try context.expect("search == 'URUK'", \OldDerived.Town.name, ["Uruk"])
      return try context.all(OldDerived.Town.self).map { "\($0.search) \($0.rooms ?? -1)" }
        + context.all(OldDerived.House.self).map { "\($0.rooms) \($0.town?.name ?? "")" }.sorted()
    },
    newValues: { context in
      try context.expect("search == 'uruk'", \NewDerived.Town.name, ["Uruk"])
      try context.expect("houseCount > 0", \NewDerived.Town.name, ["Ur", "Uruk"])
      return try context.all(NewDerived.Town.self).map {
        "\($0.search) \($0.rooms ?? -1) \($0.houseCount)"
      }
        + context.all(NewDerived.House.self).map { "\($0.rooms) \($0.townName ?? "")" }.sorted()
    },
    oldReference: ["UR 1", "URUK 3", "AKA -1", "1 Ur", "1 Uruk", "2 Uruk", "3 Uruk"],
    newReference: ["ur 1 1", "uruk 1 3", "aka -1 0", "1 Ur", "1 Uruk", "2 Uruk", "3 Uruk"])
}
