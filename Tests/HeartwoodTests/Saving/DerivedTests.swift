import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Derived attributes")
struct DerivedTests {
  /// Saves a town with one house for each number of rooms, and returns the town.
  private func town(
    _ name: String, rooms: [Int] = [], _ context: ManagedObjectContext
  ) throws -> Town {
    let town = Town(context: context)
    town.name = name
    for count in rooms {
      let house = House(context: context)
      house.rooms = count
      house.town = town
    }
    try context.save()
    return town
  }

  @Test(.evidence("D-01"))
  func `a save computes derived attributes and shows them`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let start = Date()
    let town = Town(context: context)
    town.name = "São Paulo"
    town.alias = "SAMPA"
    town.searchName = "set by hand"
    #expect(town.searchName == "set by hand" && town.capitals == "")
    try context.save()
    #expect(town.searchName == "sao paulo" && town.capitals == "SÃO PAULO")
    #expect(town.smallAlias == "sampa" && !context.hasChanges)
    let saved = try #require(town.saved)
    #expect(saved >= start && saved <= Date())
    town.capitals = "set by hand"
    try context.save()
    #expect(town.capitals == "SÃO PAULO")
    town.name = "Rio"
    town.alias = nil
    try context.save()
    let other = fixture.context()
    for seen in [town, other.object(Town.self, with: town.objectID)] {
      #expect(seen.searchName == "rio" && seen.capitals == "RIO" && seen.smallAlias == nil)
      #expect(seen.saved == town.saved && seen.saved ?? start > saved)
    }
  }

  @Test(.evidence("D-02"))
  func `derived attributes follow members that join, leave, change or are deleted`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let rome = try town("Rome", rooms: [1, 2, 6], context)
    #expect(rome.houseCount == 3 && rome.rooms == 9 && rome.meanRooms == 3)
    #expect(rome.fewestRooms == 1 && rome.mostRooms == 6)
    let oslo = try town("Oslo", context)
    let house = try #require(rome.houses.first { $0.rooms == 6 })
    #expect(house.townName == "Rome")
    house.town = oslo
    house.height = 2.5
    try context.save()
    #expect(rome.houseCount == 2 && rome.rooms == 3 && rome.mostRooms == 2)
    #expect(oslo.houseCount == 1 && oslo.rooms == 6 && oslo.height == 2.5)
    #expect(house.townName == "Oslo")
    oslo.name = "Kristiania"
    oslo.alias = "K"
    try context.save()
    #expect(house.townName == "Kristiania" && house.townAlias == "K")
    context.delete(house)
    try context.save()
    #expect(oslo.houseCount == 0 && oslo.rooms == 0 && oslo.mostRooms == nil)
    context.delete(rome)
    try context.save()
    let left = try fixture.context().fetch(FetchRequest<House>())
    #expect(left.map(\.townName) == ["nowhere", "nowhere"])
  }

  @Test(.evidence("D-02"))
  func `derived attributes follow references without an inverse list`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let stop = Stop(context: context)
    stop.town = try town("Rome", context)
    stop.next = try town("Oslo", context)
    try context.save()
    #expect(stop.townName == "Rome" && stop.nextName == "Oslo" && stop.town?.stopCount == 1)
    let other = fixture.context()
    for town in try other.fetch(FetchRequest<Town>()) { town.name += "!" }
    try other.save()
    let seen: Stop = fixture.context().object(with: stop.objectID)
    #expect(seen.townName == "Rome!" && seen.nextName == "Oslo!")
    // `next` has no inverse, so deleting a town does not clear it, but `nextName` must become
    // `nil`.
    for town in try other.fetch(FetchRequest<Town>()) { other.delete(town) }
    try other.save()
    let left: Stop = fixture.context().object(with: stop.objectID)
    #expect(left.townName == nil && left.nextName == nil && left.town == nil)
  }

  @Test(.evidence("D-02"))
  func `derived attributes follow both sides of a many-to-many relationship`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let places = [try town("Rome", context), try town("Oslo", context)]
    let team = Team(context: context)
    team.towns = Set(places)
    places[0].inhabitants = 5
    try context.save()
    #expect(team.townCount == 2 && team.fans == 5)
    places[1].inhabitants = 7
    try context.save()
    #expect(team.fans == 12)
    places[0].teams = []
    try context.save()
    #expect(team.townCount == 1 && team.fans == 7)
    context.delete(places[1])
    try context.save()
    #expect(team.townCount == 0 && team.fans == 0)
  }

  @Test(.evidence("D-02"))
  func `recomputing derived attributes of unloaded objects causes no conflict`() throws {
    let fixture = try GraphFixture(towns)
    let id = try town("Rome", rooms: [1], fixture.context()).objectID
    let context = fixture.context()
    let rome: Town = context.object(with: id)
    let saved = try #require(rome.saved)
    rome.alias = "Caput Mundi"
    let other = fixture.context()
    let house = try #require(try other.fetch(FetchRequest<House>()).first)
    house.rooms = 4
    try other.save()
    let seen: Town = fixture.context().object(with: id)
    #expect(seen.rooms == 4 && seen.saved == saved)
    try context.save()
    #expect(rome.rooms == 4 && rome.saved ?? saved > saved)
  }

  @Test(
    .evidence("D-03"),
    arguments: [
      MergePolicy.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
    ])
  func `derived attributes match the values that a merge policy chose`(policy: MergePolicy) throws {
    let fixture = try GraphFixture(towns)
    let id = try town("Rome", rooms: [1], fixture.context()).objectID
    let contexts = [fixture.context(), fixture.context()]
    let seen: [Town] = contexts.map { $0.object(with: id) }
    for (context, town) in zip(contexts, seen) {
      context.mergePolicy = policy
      town.name += context === contexts[0] ? " first" : " second"
      let house = House(context: context)
      house.rooms = 10
      house.town = town
    }
    for context in contexts { try context.save() }
    let stored: Town = fixture.context().object(with: id)
    #expect(stored.houseCount == 3 && stored.rooms == 21)
    #expect(stored.searchName == stored.name.lowercased())
    #expect(seen[1].houseCount == 3 && seen[1].searchName == stored.searchName)
    let houses = try fixture.context().fetch(FetchRequest<House>())
    #expect(houses.allSatisfy { $0.townName == stored.name })
  }

  @Test(.evidence("D-04"))
  func `derived attributes can be indexed and unique`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    _ = try town("Rome", rooms: [1, 2], context)
    let oslo = try town("Óslo", context)
    let byCount = FetchRequest<Town>(where: #Predicate { $0.houseCount == 2 })
    #expect(try context.fetch(byCount).map(\.name) == ["Rome"])
    let byName = FetchRequest<Town>(where: #Predicate { $0.searchName == "oslo" })
    #expect(try context.fetch(byName) == [oslo])
    try #require(try context.fetch(byCount).first).houses.first?.town = oslo
    try context.save()
    #expect(try fixture.context().fetch(byCount) == [])
    let byTown = FetchRequest<House>(where: #Predicate { $0.townName == "Óslo" })
    #expect(try fixture.context().fetch(byTown).count == 1)

    let twin = Town(context: context)
    twin.name = "OSLO"
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .constraintConflict && error.message.contains("searchName"))
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    let names = try fixture.context().fetch(FetchRequest<Town>()).map(\.name)
    #expect(names == ["Rome", "OSLO"])
    #expect(try fixture.context().fetch(byTown).isEmpty)
  }

  @Test(.evidence("D-04"))
  func `unique derived attributes over relationships are checked after all writes`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    context.mergePolicy = .overwrite
    let (rome, oslo) = (try town("Rome", context), try town("Oslo", context))
    let stops = (0..<3).map { _ in Stop(context: context) }
    // The first two stops differ only in `townName`, so the save must compute this attribute before
    // it checks the unique constraint.
    stops[0].town = rome
    stops[1].town = oslo
    try context.save()
    stops[0].town = oslo
    stops[1].town = rome
    for stop in stops { stop.townName = "alike, and set by hand" }
    try context.save()
    #expect(stops.map(\.townName) == ["Oslo", "Rome", nil])
    stops[2].town = rome
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .constraintConflict && error.message.contains("townName, number"))
    stops[2].number = 1
    try context.save()
    // The towns swap names, so the derived names of their stops are swapped as well.
    (rome.name, oslo.name) = ("Oslo", "Rome")
    try context.save()
    #expect(stops.map(\.townName) == ["Rome", "Oslo", "Oslo"])
    let unique = FetchRequest<Stop>(where: #Predicate { $0.townName == "Rome" && $0.number == 0 })
    #expect(try context.fetch(unique) == [stops[0]])
  }

  @Test(.evidence("D-05"))
  func `derived attributes are computed when nested changes reach the store`() throws {
    let fixture = try GraphFixture(towns)
    let parent = fixture.context()
    let rome = try town("Rome", rooms: [1], parent)
    let child = ManagedObjectContext(parent: parent)
    let childTown: Town = child.object(with: rome.objectID)
    childTown.name = "Roma"
    House(context: child).town = childTown
    try child.save()
    #expect(childTown.searchName == "rome" && rome.searchName == "rome" && rome.houseCount == 1)
    try parent.save()
    #expect(rome.searchName == "roma" && rome.houseCount == 2)
    let stored: Town = fixture.context().object(with: rome.objectID)
    #expect(stored.searchName == "roma" && stored.houseCount == 2)
    #expect(stored.houses.allSatisfy { $0.townName == "Roma" })
  }

  @Test(.evidence("D-06"))
  func `derived attributes without a source have the default, and throw if they do not fit`() throws
  {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let rome = try town("Rome", context)
    #expect(rome.houseCount == 0 && rome.rooms == 0 && rome.height == 0 && rome.meanRooms == nil)
    let house = House(context: context)
    house.townName = "set by hand"
    try context.save()
    #expect(house.townName == "nowhere" && house.townAlias == nil)
    // An intermediate sum may overflow, as long as the final sum does not.
    for rooms in [Int.max, 1, -1] {
      let house = House(context: context)
      house.rooms = rooms
      house.town = rome
    }
    try context.save()
    #expect(rome.rooms == .max && rome.houseCount == 3)
    house.rooms = 1
    house.town = rome
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .validation && error.message.contains("Town.rooms"))
    #expect(error.objectID == rome.objectID)
  }

  @Test(.evidence("D-09"))
  func `batch requests compute derived attributes`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let rome = try town("Rome", rooms: [1, 2], context)
    let team = Team(context: context)
    team.towns = [rome]
    let stop = Stop(context: context)
    stop.next = rome
    try context.save()
    func stored(_ id: ManagedObjectID) throws -> Town {
      try #require(try fixture.context().existingObject(with: id))
    }
    try context.execute(
      BatchUpdateRequest<House> { row in
        row[\.rooms] *= 10
        row[\.townName] = "set by hand"
      })
    #expect(try stored(rome.objectID).rooms == 30 && stored(rome.objectID).mostRooms == 20)
    try context.execute(
      BatchUpdateRequest<Town> { row in
        row[\.name] = "Ürom"
        row[\.inhabitants] = 7
      })
    let seen = try stored(rome.objectID)
    #expect(seen.searchName == "urom" && seen.capitals == "ÜROM" && seen.rooms == 30)
    #expect(seen.houses.map(\.townName) == ["Ürom", "Ürom"])
    let there = fixture.context()
    #expect(there.object(Team.self, with: team.objectID).fans == 7)
    #expect(there.object(Stop.self, with: stop.objectID).nextName == "Ürom")

    var names = ["Évora", "Rom"]
    let inserted = BatchInsertRequest<Town> { row in
      row[\.houseCount] = 9
      row[\.name] = names.last ?? ""
      return names.popLast() == nil
    }
    try context.execute(inserted)
    let byName = FetchRequest<Town>(where: #Predicate { $0.searchName == "evora" })
    let evora = try #require(try there.fetch(byName).first)
    #expect(evora.houseCount == 0 && evora.saved != nil)
    let twoRooms = FetchRequest<House>(where: #Predicate { $0.rooms == 20 })
    #expect(try there.count(for: twoRooms) == 1)
    try context.execute(BatchDeleteRequest<House>(where: #Predicate { $0.rooms == 20 }))
    #expect(try stored(rome.objectID).houseCount == 1 && stored(rome.objectID).rooms == 10)
    try context.execute(BatchDeleteRequest<Town>(objectIDs: [rome.objectID]))
    let left = fixture.context()
    #expect(try left.fetch(FetchRequest<House>()).map(\.townName) == ["nowhere"])
    #expect(left.object(Team.self, with: team.objectID).fans == 0)
    #expect(left.object(Team.self, with: team.objectID).townCount == 0)
    #expect(left.object(Stop.self, with: stop.objectID).nextName == nil)
  }

  @Test(.evidence("D-10"))
  func `fetches and merges show derived attributes recomputed by others`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let rome = try town("Rome", rooms: [1], context)
    rome.alias = "changed here"
    let other = fixture.context()
    try #require(try other.fetch(FetchRequest<House>()).first).rooms = 4
    try other.save()
    #expect(rome.rooms == 1)
    #expect(try context.fetch(FetchRequest<Town>()) == [rome])
    #expect(rome.rooms == 4 && rome.alias == "changed here")
    try context.save()
    try #require(try other.fetch(FetchRequest<House>()).first).rooms = 5
    try other.save()
    let history = try #require(try fixture.container.fetchHistory(after: nil).last)
    try context.mergeChanges(from: history)
    #expect(rome.rooms == 5)
  }

  @Test(.evidence("D-01")) func `a change of members updates the time of the save`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let (town, team) = (Town(context: context), Team(context: context))
    town.name = "Oslo"
    try context.save()
    let before = town.saved
    town.teams = [team]
    try context.save()
    #expect(before != nil && town.saved != before)
  }

  @Test(.evidence("D-02"), .evidence("C-11"), arguments: [false, true])
  func `an upsert that only derives values causes no conflict`(isOther: Bool) throws {
    final class Shelf: ManagedObject {
      @Attribute(.unique) var name: String = ""
      @Attribute var note: String = ""
      @Attribute var weight: Int = 0
      @ToMany(inverse: \Box.shelf) var boxes: Set<Box>
      override class var entity: Entity {
        Entity("Shelf") { Derived(\Shelf.weight, .sum(\Shelf.boxes, \Box.weight)) }
      }
    }
    final class Box: ManagedObject {
      @Attribute var weight: Int = 0
      @ToOne var shelf: Shelf?
    }
    let fixture = try GraphFixture(Schema(Shelf.self, Box.self))
    try fixture.saved { context in
      let (shelf, box) = (Shelf(context: context), Box(context: context))
      (shelf.name, box.shelf, box.weight) = ("A", shelf, 1)
    }
    let (context, others) = (fixture.context(), fixture.context())
    let theirs = try #require(try others.fetch(FetchRequest<Shelf>()).first)
    context.mergePolicy = .mergeByPropertyStoreTrump
    let box = try #require(try context.fetch(FetchRequest<Box>()).first)
    // After the second save, the context rereads nothing, because no other context has saved.
    let shelves = try [4, 5].map { weight in
      let shelf = Shelf(context: context)
      (shelf.name, box.weight) = ("A", weight)
      try context.save()
      return shelf
    }
    let shelf = shelves[0]
    #expect(shelf.weight == 5)
    context.mergePolicy = .error
    (isOther ? theirs : shelf).note = "edited"
    try (isOther ? others : context).save()
    let stored = try fixture.context().fetch(FetchRequest<Shelf>())
    #expect(stored.map(\.weight) == [5] && stored.map(\.note) == ["edited"])
  }
}
