import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Relationships")
struct RelationshipTests {
  @Test(.evidence("R-01"))
  func `a long list inserts its owner, and keeps its order when its first member is removed`()
    throws
  {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let club = Club()
    club.halls = (0..<600).map { number in
      let hall = Hall(context: context)
      hall.number = number
      return hall
    }
    #expect(club.managedObjectContext === context)
    club.halls = Array(club.halls.dropFirst())
    try context.save()
    let read = try #require(try fixture.context().existingObject(Club.self, with: club.objectID))
    #expect(read.halls.map(\.number) == Array(1..<600))
  }

  @Test(.evidence("R-01"), .evidence("R-02"))
  func `setting one side of a relationship updates the other side`() throws {
    let fixture = try GraphFixture()
    let ids = (try fixture.person("Ada", cars: 2), try fixture.person("Bob"))
    let context = fixture.context()
    let (ada, bob): (Person, Person) = (context.object(with: ids.0), context.object(with: ids.1))
    let car = try #require(ada.cars.first)
    car.owner = bob
    #expect(ada.cars.count == 1 && bob.cars == [car])
    bob.cars = ada.cars.union(bob.cars)
    #expect(ada.cars == [] && bob.cars.count == 2 && bob.cars.allSatisfy { $0.owner === bob })
    try context.save()
    #expect(try fixture.stored(ids.0)?.cars == 0)
    #expect(try fixture.stored(ids.1)?.cars == 2)
    bob.cars.remove(car)
    #expect(car.owner == nil)
    try context.save()
    #expect(try fixture.stored(ids.1)?.cars == 1)
  }

  @Test(.evidence("R-01"))
  func `many-to-many relationships are stored on both sides`() throws {
    let fixture = try GraphFixture()
    let ids = (try fixture.person("Ada"), try fixture.person("Bob"))
    let context = fixture.context()
    let club = Club(context: context)
    let (ada, bob): (Person, Person) = (context.object(with: ids.0), context.object(with: ids.1))
    club.members = [ada, bob]
    #expect(ada.clubs == [club] && bob.clubs == [club])
    try context.save()
    ada.clubs = []
    #expect(club.members == [bob])
    try context.save()
    let other = fixture.context()
    let found: Club = other.object(with: club.objectID)
    #expect(found.members.map(\.name) == ["Bob"])
    let adaThere: Person = other.object(with: ids.0)
    #expect(adaThere.clubs.isEmpty)
  }

  @Test func `setting a one-to-one relationship releases the previous partner`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let halls = (Hall(context: context), Hall(context: context))
    let keepers = (Keeper(context: context), Keeper(context: context))
    halls.0.keeper = keepers.0
    halls.1.keeper = keepers.1
    keepers.0.hall = halls.1
    #expect(halls.0.keeper == nil && halls.1.keeper === keepers.0 && keepers.1.hall == nil)
    try context.save()
    let other = fixture.context()
    let found: Hall = other.object(with: halls.1.objectID)
    #expect(found.keeper?.objectID == keepers.0.objectID)
    let left: Keeper = other.object(with: keepers.1.objectID)
    #expect(left.hall == nil)
  }

  @Test func `relationships between objects of one class have an inverse`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let halls = (0..<3).map { _ in Hall(context: context) }
    halls[0].next = halls[1]
    halls[1].next = halls[2]
    #expect(halls[2].previous === halls[1])
    halls[2].previous = halls[0]
    #expect(halls[0].next === halls[2] && halls[1].next == nil && halls[1].previous == nil)
    halls[0].next = halls[0]
    #expect(halls[0].previous === halls[0] && halls[2].previous == nil)
    try context.save()
  }

  @Test func `an ordered relationship keeps its order`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let club = Club(context: context)
    let halls = (0..<5).map { number in
      let hall = Hall(context: context)
      hall.number = number
      return hall
    }
    club.halls = [halls[2], halls[0], halls[1]]
    halls[4].club = club
    #expect(club.halls.map(\.number) == [2, 0, 1, 4])
    try context.save()
    let id = club.objectID
    func stored() -> [Int] { (fixture.context().object(with: id) as Club).halls.map(\.number) }
    #expect(stored() == [2, 0, 1, 4])
    club.halls.swapAt(0, 3)
    club.halls.removeLast()
    try context.save()
    #expect(stored() == [4, 0, 1])
    #expect(halls[2].club == nil)
  }

  @Test(.evidence("R-03"), .evidence("R-06"))
  func `delete rules decide the effect of a deletion on related objects`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", cars: 3)
    let context = fixture.context()
    let ada: Person = context.object(with: id)
    let club = Club(context: context)
    club.members = [ada]
    try context.save()
    let cars = ada.cars
    context.delete(ada)
    #expect(cars.allSatisfy(\.isDeleted) && club.members == [])
    try context.save()
    #expect(try fixture.context().count(for: FetchRequest<Car>()) == 0)
    #expect(ada.isDeleted && ada.name == "Ada" && ada.cars.isEmpty && cars.first?.owner == nil)
    let new = Car(context: context)
    context.delete(new)
    #expect(!context.hasChanges && new.managedObjectContext == nil)
  }

  @Test(.evidence("R-03"), .evidence("R-05"))
  func `a deny rule prevents a deletion unless the related objects are deleted too`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let club = Club(context: context)
    let hall = Hall(context: context)
    club.halls = [hall]
    try context.save()
    context.delete(club)
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .deniedDelete)
    context.delete(hall)
    try context.save()
    #expect(try fixture.context().count(for: FetchRequest<Club>()) == 0)
  }

  @Test func `references to new objects survive a refresh`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let stop = Stop(context: context)
    let house = House(context: context)
    try context.save()
    let (kept, dropped) = (Town(context: context), Town(context: context))
    (kept.name, dropped.name) = ("kept", "dropped")
    house.town = kept
    stop.next = dropped
    try context.refresh(house, mergeChanges: true)
    context.delete(dropped)
    try context.save()
    #expect(house.town === kept)
    let other = fixture.context()
    #expect(other.object(House.self, with: house.objectID).town?.objectID == kept.objectID)
    #expect(other.object(Stop.self, with: stop.objectID).next == nil)
  }

  @Test(.evidence("R-18"))
  func `a reference without an inverse remains until its own object is saved`() throws {
    let fixture = try GraphFixture(crew)
    let context = fixture.context()
    let (ada, bob) = (CrewMember(context: context), CrewMember(context: context))
    (ada.mentor, ada.title) = (bob, "Ada")
    try context.save()
    let other = fixture.context()
    other.delete(other.object(CrewMember.self, with: bob.objectID))
    try other.save()
    context.reset()
    let request = FetchRequest<CrewMember>()
    let stored = try #require(try context.fetch(request).first)
    #expect(stored.mentor?.title == "" && stored.mentor?.isDeleted == true)
    context.rollback()
    stored.title = "Ada again"
    try context.save()
    #expect(try fixture.context().fetch(request).first?.mentor == nil)
  }

  @Test(.evidence("R-03"))
  func `a cascade ignores objects that were removed from its relationships before`() throws {
    final class Rack: ManagedObject {
      @ToMany(inverse: \Tool.racks, deleteRule: .cascade) var tools: Set<Tool>
      @ToOne(deleteRule: .cascade) var favourite: Tool?
    }
    final class Tool: ManagedObject {
      @ToMany var racks: Set<Rack>
    }
    let fixture = try GraphFixture(Schema(Rack.self, Tool.self))
    let context = fixture.context()
    let rack = Rack(context: context)
    let tools = (0..<3).map { _ in Tool(context: context) }
    (rack.tools, rack.favourite) = (Set(tools[0...1]), tools[2])
    try context.save()
    rack.tools.remove(tools[0])
    rack.favourite = nil
    context.delete(rack)
    try context.save()
    let left = try fixture.context().fetchObjectIDs(FetchRequest<Tool>())
    #expect(left == [tools[0].objectID, tools[2].objectID])
  }
}
