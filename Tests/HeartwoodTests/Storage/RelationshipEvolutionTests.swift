import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A class whose objects tests identify by name.
private protocol Named: ManagedObject {
  var name: String { get set }
}

extension Sequence where Element: Named {
  fileprivate var names: [String] { map(\.name) }
}

private enum V1 {
  final class Person: ManagedObject, Named {
    @Attribute var name: String = ""
    @Attribute var petCount: Int = 0
    @ToOne var home: House?
    @ToOne(inverse: \Car.driver) var car: Car?
    @ToMany(inverse: \Pet.owner) var pets: Set<Pet>
    @OrderedToMany(inverse: \Track.singer) var tracks: [Track]
    @ToMany(inverse: \Club.members) var clubs: Set<Club>
    override class var entity: Entity {
      Entity("Person") { Derived(\Person.petCount, .count(\Person.pets)) }
    }
  }
  final class House: ManagedObject, Named { @Attribute var name: String = "" }
  final class Car: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToOne var driver: Person?
  }
  final class Pet: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToOne var owner: Person?
  }
  final class Track: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToOne var singer: Person?
  }
  final class Club: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToMany var members: Set<Person>
  }
  static let schema = Schema(Person.self)
}

private enum V2 {
  /// A version in which each relationship is of a different kind.
  final class Person: ManagedObject, Named {
    @Attribute var name: String = ""
    @Attribute var petCount: Int = 0
    @ToMany(inverse: \House.people, renamedFrom: "home") var homes: Set<House>
    @ToMany(inverse: \Car.driver, renamedFrom: "car") var cars: Set<Car>
    @ToMany(inverse: \Pet.owners) var pets: Set<Pet>
    @ToMany(inverse: \Track.singer) var tracks: Set<Track>
    @OrderedToMany(inverse: \Club.members) var clubs: [Club]
    override class var entity: Entity {
      Entity("Person") { Derived(\Person.petCount, .count(\Person.pets)) }
    }
  }
  final class House: ManagedObject, Named {
    @Attribute var name: String = ""
    @Attribute var peopleCount: Int = 0
    @OrderedToMany var people: [Person]
    override class var entity: Entity {
      Entity("House") { Derived(\House.peopleCount, .count(\House.people)) }
    }
  }
  final class Car: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToOne var driver: Person?
  }
  final class Pet: ManagedObject, Named {
    @Attribute var name: String = ""
    @OrderedToMany(renamedFrom: "owner") var owners: [Person]
  }
  final class Track: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToOne var singer: Person?
  }
  final class Club: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToMany var members: Set<Person>
  }
  static let schema = Schema(version: 2, Person.self)
}

private enum V3 {
  /// A version in which some relationships change their kind again, and cars have no inverse.
  final class Person: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToMany(inverse: \House.people) var homes: Set<House>
    @OrderedToMany(inverse: \Pet.owners) var pets: [Pet]
    @OrderedToMany(inverse: \Track.singer) var tracks: [Track]
    @OrderedToMany(inverse: \Club.members) var clubs: [Club]
  }
  final class House: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToMany var people: Set<Person>
  }
  final class Car: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToOne var driver: Person?
  }
  final class Pet: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToMany(renamedFrom: "owner") var owners: Set<Person>
  }
  final class Track: ManagedObject, Named {
    @Attribute var name: String = ""
    @ToOne var singer: Person?
  }
  final class Club: ManagedObject, Named {
    @Attribute var name: String = ""
    @OrderedToMany var members: [Person]
  }
  static let schema = Schema(version: 3, Person.self, Car.self)
}

@Suite("Migrating relationships")
struct RelationshipEvolutionTests {
  /// The expected relationships, by the names of their objects.
  private struct Links {
    var home: [String: String] = [:]
    var car: [String: String] = [:]
    var owner: [String: String] = [:]
    var tracks: [String: [String]] = [:]
    var clubs: [String: Set<String>] = [:]

    func members(_ owners: [String: String], of name: String) -> Set<String> {
      Set(owners.filter { $0.value == name }.keys)
    }
  }

  /// Fills a store with random objects, and returns their relationships.
  private func filled(seed: UInt64, _ store: EvolvingStore) throws -> Links {
    var random = SeededGenerator(seed: seed)
    var links = Links()
    try store.open(V1.schema) { context in
      func make<M: Named>(_ type: M.Type, _ count: Int) -> [M] {
        (0..<count).map { number in
          let object = M()
          context.insert(object)
          object.name = "\(M.self)\(number)"
          return object
        }
      }
      let people = make(V1.Person.self, 8)
      let houses = make(V1.House.self, 3)
      let clubs = make(V1.Club.self, 4)
      for (number, car) in make(V1.Car.self, 6).enumerated() where random.isTrue(in256: 200) {
        people[number].car = car
        links.car[people[number].name] = car.name
      }
      for pet in make(V1.Pet.self, 12) where random.isTrue(in256: 200) {
        pet.owner = people[random.below(people.count)]
        links.owner[pet.name] = pet.owner?.name
      }
      for track in make(V1.Track.self, 12) {
        let person = people[random.below(people.count)]
        // Insert tracks at random positions, so that the tracks are not in creation order.
        person.tracks.insert(track, at: random.below(person.tracks.count + 1))
      }
      for person in people {
        if random.isTrue(in256: 200) { person.home = houses[random.below(3)] }
        links.home[person.name] = person.home?.name
        links.tracks[person.name] = person.tracks.names
        person.clubs = Set(clubs.filter { _ in random.isTrue(in256: 100) })
        links.clubs[person.name] = Set(person.clubs.names)
      }
    }
    return links
  }

  private func expectSecond(_ context: ManagedObjectContext, _ links: Links) throws {
    for person in try context.all(V2.Person.self) {
      #expect(Set(person.homes.names) == Set([links.home[person.name]].compactMap { $0 }))
      #expect(Set(person.cars.names) == Set([links.car[person.name]].compactMap { $0 }))
      #expect(Set(person.pets.names) == links.members(links.owner, of: person.name))
      #expect(person.petCount == person.pets.count)
      #expect(Set(person.tracks.names) == Set(links.tracks[person.name] ?? []))
      #expect(Set(person.clubs.names) == links.clubs[person.name])
    }
    for house in try context.all(V2.House.self) {
      #expect(Set(house.people.names) == links.members(links.home, of: house.name))
      #expect(house.peopleCount == house.people.count)
    }
    for car in try context.all(V2.Car.self) {
      #expect(Set([car.driver?.name].compactMap { $0 }) == links.members(links.car, of: car.name))
    }
    for pet in try context.all(V2.Pet.self) {
      #expect(pet.owners.names == [links.owner[pet.name]].compactMap { $0 })
    }
    for club in try context.all(V2.Club.self) {
      let members = links.clubs.filter { $0.value.contains(club.name) }.keys
      #expect(Set(club.members.names) == Set(members))
    }
    for track in try context.all(V2.Track.self) {
      #expect(track.singer.map { links.tracks[$0.name]?.contains(track.name) } == true)
    }
  }

  private func expectThird(_ context: ManagedObjectContext, _ links: Links) throws {
    for person in try context.all(V3.Person.self) {
      #expect(Set(person.homes.names) == Set([links.home[person.name]].compactMap { $0 }))
      #expect(Set(person.pets.names) == links.members(links.owner, of: person.name))
      #expect(Set(person.tracks.names) == Set(links.tracks[person.name] ?? []))
      #expect(Set(person.clubs.names) == links.clubs[person.name])
    }
    for house in try context.all(V3.House.self) {
      #expect(Set(house.people.names) == links.members(links.home, of: house.name))
    }
    for car in try context.all(V3.Car.self) {
      #expect(Set([car.driver?.name].compactMap { $0 }) == links.members(links.car, of: car.name))
    }
    for pet in try context.all(V3.Pet.self) {
      #expect(Set(pet.owners.names) == Set([links.owner[pet.name]].compactMap { $0 }))
    }
    for club in try context.all(V3.Club.self) {
      let members = links.clubs.filter { $0.value.contains(club.name) }.keys
      #expect(Set(club.members.names) == Set(members))
    }
  }

  @Test(.evidence("E-06"), .evidence("E-07"), arguments: TestScale.seeds(quick: 2, all: 6))
  func `relationships keep their members in a new form`(seed: UInt64) throws {
    let store = EvolvingStore()
    let links = try filled(seed: seed, store)
    try store.open(V2.schema) { try expectSecond($0, links) }
    #expect(try store.keyspaces("heartwood.sorting").isEmpty)
    try store.open(V3.schema) { context in
      try expectThird(context, links)
      // The migrated relationships can still be changed.
      guard let person = try context.all(V3.Person.self).first else { return }
      for pet in person.pets { context.delete(pet) }
      for club in person.clubs { club.members.removeAll { $0 === person } }
      #expect(person.clubs.isEmpty && person.pets.isEmpty)
    }
    try store.open(V3.schema) { context in
      let person = try #require(try context.all(V3.Person.self).first)
      #expect(person.pets.isEmpty && person.clubs.isEmpty)
    }
  }

  @Test(.evidence("E-06"), .evidence("E-07"), arguments: 10..<14 as Range<UInt64>)
  func `relationships can skip a version`(seed: UInt64) throws {
    let store = EvolvingStore()
    let links = try filled(seed: seed, store)
    try store.open(V3.schema) { context in
      // Only version 2 declares that `homes` was called `home`. Without version 2, `homes` is a new
      // relationship.
      #expect(try context.all(V3.Person.self).flatMap(\.homes).isEmpty)
      var others = links
      others.home = [:]
      try expectThird(context, others)
    }
    // No entries remain from the relationships' previous kinds.
    #expect(try store.keyspaces("edges.").count == 0)
  }

  @Test(.evidence("E-06"))
  func `relationships to missing rows are dropped`() throws {
    let store = EvolvingStore()
    let links = try filled(seed: 6, store)
    let gone = try store.open(V1.schema) { context in
      // The relationship `home` has no inverse, so people still refer to the deleted house.
      let house = try #require(try context.all(V1.House.self).first)
      let name = house.name
      context.delete(house)
      return name
    }
    #expect(links.home.values.contains(gone))
    try store.open(V2.schema) { context in
      var others = links
      others.home = links.home.filter { $0.value != gone }
      try expectSecond(context, others)
      let homeless = links.clubs.keys.filter { others.home[$0] == nil }
      try context.expect("homes.@count == 0", \V2.Person.name, homeless.sorted())
    }
  }

  @Test(.evidence("E-07"))
  func `a to-one relationship that would need several targets is rejected`() throws {
    let store = EvolvingStore()
    let links = try filled(seed: 5, store)
    let schema = Schema(version: 2, removing: ["Car", "Pet", "Club"], Single.Person.self)
    let refusal = try store.refusal(schema)
    #expect(refusal.kind == .incompatibleSchema && refusal.objectID?.entityName == "House")
    #expect(refusal.message.contains("House.person can refer to only one object"))
    // The version is accepted once each house has at most one person.
    let kept = try store.open(V1.schema) { context in
      var kept: [String: String] = [:]
      for person in try context.all(V1.Person.self) {
        guard let home = person.home?.name else { continue }
        if kept[home] == nil { kept[home] = person.name } else { person.home = nil }
      }
      return kept
    }
    try store.open(schema) { context in
      for house in try context.all(Single.House.self) {
        #expect(house.person?.name == kept[house.name])
        #expect(house.person == nil || house.person?.home === house)
      }
      for person in try context.all(Single.Person.self) {
        let members = Set(person.tracks.map(\.name))
        #expect(members == Set(links.tracks[person.name] ?? []))
      }
    }
  }

  @Test(.evidence("E-06"))
  func `ordered relationships keep their order`() throws {
    let store = EvolvingStore()
    let links = try filled(seed: 77, store)
    let schema = Schema(
      version: 2, removing: ["House", "Car", "Pet", "Club"], Listed.Person.self)
    try store.open(schema) { context in
      for person in try context.all(Listed.Person.self) {
        #expect(person.songs.map(\.name) == links.tracks[person.name])
        #expect(person.songs.allSatisfy { $0.singers == [person] })
      }
    }
  }
}

/// A version in which `home` has a to-one inverse and tracks are unordered.
private enum Single {
  final class Person: ManagedObject {
    @Attribute var name: String = ""
    @ToOne(inverse: \House.person) var home: House?
    @ToMany(inverse: \Track.singer) var tracks: Set<Track>
  }
  final class House: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var person: Person?
  }
  final class Track: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var singer: Person?
  }
}

/// A version in which a track may have several singers, and people's tracks are still ordered.
private enum Listed {
  final class Person: ManagedObject {
    @Attribute var name: String = ""
    @OrderedToMany(inverse: \Track.singers, renamedFrom: "tracks") var songs: [Track]
  }
  final class Track: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(renamedFrom: "singer") var singers: Set<Person>
  }
}
