import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests changes to objects that another context has related to an owner, while the owner's side of
/// the relationship was read earlier.
@Suite("An owner that was read before its member")
struct StaleOwnerTests {
  enum Update: CaseIterable { case none, refresh, fetch, merge }

  private func update(_ context: ManagedObjectContext, _ update: Update) throws {
    switch update {
    case .none: break
    case .refresh: context.refreshAllObjects()
    case .fetch:
      _ = try context.fetch(FetchRequest<Person>())
      _ = try context.fetch(FetchRequest<Club>())
    case .merge:
      for object in try context.fetch(FetchRequest<Person>()) {
        try context.refresh(object, mergeChanges: true)
      }
      for object in try context.fetch(FetchRequest<Club>()) {
        try context.refresh(object, mergeChanges: true)
      }
    }
  }

  @Test(
    .evidence("S-05"), .evidence("R-02"), .evidence("F-09"), arguments: 0...2, Update.allCases)
  func `loses a member that the context moves to another owner`(
    depth: Int, update: Update
  ) throws {
    for undoes in [false, true] {
      let fixture = try GraphFixture()
      let ids = try ["a", "b"].map { try fixture.person($0) }
      let clubIDs = try fixture.saved { [Club(context: $0), Club(context: $0)] }.map(\.objectID)
      let chain = fixture.chain(depth: depth)
      chain.root.tracksUndo = true
      var held: [ManagedObject] = []
      // All contexts load the empty relationships.
      for context in chain.contexts {
        let people = ids.map { context.object(Person.self, with: $0) }
        let clubs = clubIDs.map { context.object(Club.self, with: $0) }
        #expect(people.allSatisfy(\.cars.isEmpty) && clubs.allSatisfy(\.halls.isEmpty))
        held += people + clubs
      }
      let new = try fixture.saved { other in
        let (car, hall) = (Car(context: other), Hall(context: other))
        car.owner = other.object(Person.self, with: ids[0])
        hall.club = other.object(Club.self, with: clubIDs[0])
        return (car, hall)
      }
      let (carID, hallID) = (new.0.objectID, new.1.objectID)
      let child = chain.child
      let people = ids.map { child.object(Person.self, with: $0) }
      let clubs = clubIDs.map { child.object(Club.self, with: $0) }
      let car = try #require(try child.existingObject(Car.self, with: carID))
      let hall = try #require(try child.existingObject(Hall.self, with: hallID))
      car.owner = people[1]
      hall.club = clubs[1]
      for context in chain.contexts { try self.update(context, update) }
      #expect(people[0].cars.isEmpty && people[1].cars == [car] && car.owner == people[1])
      #expect(clubs[0].halls.isEmpty && clubs[1].halls == [hall] && hall.club == clubs[1])
      if undoes, depth == 0 {
        child.undo()
        child.refreshAllObjects()
        #expect(people[0].cars == [car] && people[1].cars.isEmpty && !child.hasChanges)
      } else {
        for context in chain.contexts { context.mergePolicy = .mergeByPropertyObjectTrump }
        try chain.save()
        #expect(people[0].cars.isEmpty && people[1].cars == [car])
        #expect(clubs[0].halls.isEmpty && clubs[1].halls == [hall])
        let reader = fixture.context()
        #expect(reader.object(Person.self, with: ids[1]).cars.map(\.objectID) == [carID])
        #expect(reader.object(Club.self, with: clubIDs[1]).halls.map(\.objectID) == [hallID])
      }
      withExtendedLifetime(held) {}
    }
  }

  @Test(
    .evidence("S-05"), .evidence("R-02"), .evidence("P-09"), arguments: 0...1, Update.allCases)
  func `loses its only target when the context moves it to another owner`(
    depth: Int, update: Update
  ) throws {
    for isChanged in [false, true] {
      let fixture = try GraphFixture()
      let new = try fixture.saved { context in
        ([Hall(context: context), Hall(context: context)], Keeper(context: context))
      }
      let (halls, keeperID) = (new.0.map(\.objectID), new.1.objectID)
      let chain = fixture.chain(depth: depth)
      var held: [ManagedObject] = []
      for context in chain.contexts {
        let loaded = halls.map { context.object(Hall.self, with: $0) }
        #expect(loaded.allSatisfy { $0.keeper == nil })
        held += loaded
      }
      try fixture.saved { other in
        other.object(Keeper.self, with: keeperID).hall = other.object(Hall.self, with: halls[0])
      }
      let child = chain.child
      let own = halls.map { child.object(Hall.self, with: $0) }
      if isChanged { own[0].number = 5 }
      let keeper = try #require(try child.fetch(FetchRequest<Keeper>()).first)
      #expect(keeper.hall == own[0])
      keeper.hall = own[1]
      for context in chain.contexts { try self.update(context, update) }
      child.refreshAllObjects()
      #expect(own[0].keeper == nil && own[1].keeper == keeper && keeper.hall == own[1])
      let request = FetchRequest<Hall>(where: #Predicate<Hall> { $0.keeper != nil })
      #expect(try child.fetch(request) == [own[1]])
      for context in chain.contexts { context.mergePolicy = .mergeByPropertyObjectTrump }
      try chain.save()
      #expect(own[0].keeper == nil && own[1].keeper == keeper)
      let reader = fixture.context()
      #expect(try reader.fetch(request).map(\.objectID) == [halls[1]])
      #expect(reader.object(Hall.self, with: halls[0]).number == (isChanged ? 5 : 0))
      withExtendedLifetime(held) {}
    }
  }

  @Test(.evidence("R-02"), .evidence("C-07"))
  func `keeps the edits of its list when the context removes a member added by another`() throws {
    let fixture = try GraphFixture()
    let new = try fixture.saved { context in
      let (club, halls) = (Club(context: context), (0..<3).map { _ in Hall(context: context) })
      for (number, hall) in halls.enumerated() { hall.number = number }
      club.halls = Array(halls.prefix(2))
      return (club, halls)
    }
    let (clubID, hallIDs) = (new.0.objectID, new.1.map(\.objectID))
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let club = context.object(Club.self, with: clubID)
    club.halls = [club.halls[1]]
    try fixture.saved { other in
      other.object(Hall.self, with: hallIDs[2]).club = other.object(Club.self, with: clubID)
    }
    let hall = try #require(try context.existingObject(Hall.self, with: hallIDs[2]))
    #expect(hall.club == club && club.halls.map(\.number) == [1])
    hall.club = nil
    #expect(hall.club == nil && club.halls.map(\.number) == [1])
    try context.save()
    let reader = fixture.context()
    #expect(reader.object(Club.self, with: clubID).halls.map(\.objectID) == [hallIDs[1]])
    #expect(reader.object(Hall.self, with: hallIDs[2]).club == nil)
  }

  @Test(.evidence("R-01"), .evidence("R-02"), arguments: [false, true], [false, true])
  func `lists a member once if another context has already added it`(
    undoes: Bool, readsOwner: Bool
  ) throws {
    let fixture = try GraphFixture()
    let new = try fixture.saved { (Club(context: $0), Hall(context: $0)) }
    let (clubID, hallID) = (new.0.objectID, new.1.objectID)
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.tracksUndo = true
    let hall = context.object(Hall.self, with: hallID)
    #expect(hall.club == nil)
    let owner = context.object(Club.self, with: clubID)
    if readsOwner { #expect(owner.name.isEmpty) }
    try fixture.saved { other in
      other.object(Hall.self, with: hallID).club = other.object(Club.self, with: clubID)
    }
    let club = context.object(Club.self, with: clubID)
    #expect(club.halls == [hall])
    hall.club = club
    #expect(club.halls == [hall] && hall.club == club)
    if undoes {
      context.undo()
      #expect(club.halls == [] && hall.club == nil && !context.hasChanges)
    }
    try context.save()
    context.refreshAllObjects()
    #expect(club.halls == [hall] && hall.club == club)
    #expect(fixture.context().object(Club.self, with: clubID).halls.count == 1)
  }

  @Test(.evidence("N-02"), .evidence("R-02"), .evidence("C-06"), arguments: [false, true])
  func `stays without a member that a child context removes`(clears: Bool) throws {
    let fixture = try GraphFixture()
    let ownerID = try fixture.person("a")
    let carID = try fixture.saved { Car(context: $0) }.objectID
    let chain = fixture.chain(depth: 1)
    chain.root.mergePolicy = .mergeByPropertyObjectTrump
    let cars = chain.contexts.map { $0.object(Car.self, with: carID) }
    #expect(cars.allSatisfy { $0.owner == nil })
    try fixture.saved { other in
      other.object(Car.self, with: carID).owner = other.object(Person.self, with: ownerID)
    }
    let owner = chain.child.object(Person.self, with: ownerID)
    #expect(owner.cars == [cars[1]])
    if clears { owner.cars = [] } else { owner.cars.remove(cars[1]) }
    try chain.save()
    #expect(owner.cars.isEmpty && cars.allSatisfy { $0.owner == nil })
    let reader = fixture.context()
    #expect(reader.object(Car.self, with: carID).owner == nil)
    #expect(reader.object(Person.self, with: ownerID).cars.isEmpty)
  }

  @Test(.evidence("C-08"), .evidence("R-02"))
  func `does not separate its former target from the target's new partner`() throws {
    let fixture = try GraphFixture()
    let new = try fixture.saved { context in
      let objects = (
        Hall(context: context), Hall(context: context), Keeper(context: context),
        Keeper(context: context)
      )
      objects.2.hall = objects.0
      return objects
    }
    let ids = (new.0.objectID, new.1.objectID, new.2.objectID, new.3.objectID)
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let hall = context.object(Hall.self, with: ids.0)
    #expect(hall.keeper?.objectID == ids.2)
    // Because of this edit, fetches do not reread the hall.
    hall.number = 5
    try fixture.saved { other in
      other.object(Keeper.self, with: ids.2).hall = other.object(Hall.self, with: ids.1)
    }
    let keepers = try context.fetch(FetchRequest<Keeper>())
    let former = try #require(keepers.first { $0.objectID == ids.2 })
    let keeper = try #require(keepers.first { $0.objectID == ids.3 })
    #expect(former.hall?.objectID == ids.1)
    keeper.hall = hall
    #expect(former.hall?.objectID == ids.1)
    try context.save()
    let reader = fixture.context()
    #expect(reader.object(Keeper.self, with: ids.2).hall?.objectID == ids.1)
    #expect(reader.object(Keeper.self, with: ids.3).hall?.objectID == ids.0)
  }
}
