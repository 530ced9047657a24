import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Faults")
struct FaultTests {
  @Test(.evidence("F-01"), .evidence("F-04"), .evidence("F-05"))
  func `a fault has a class and an identity but no values`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 36, cars: 2)
    let context = fixture.context()
    let person: Person = context.object(with: id)
    #expect(type(of: person) == Person.self)
    #expect(person.objectID == id && person.managedObjectContext === context)
    #expect(!person.isInserted && !person.isUpdated && !person.isDeleted)
    #expect(Set([person, person]) == [person] && [person: 1][person] == 1)
    #expect(person.isFault)
  }

  @Test(.evidence("F-02"), .evidence("F-03"), .evidence("F-07"))
  func `a fault loads all attributes at once and members on first use`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 36, cars: 2)
    let context = fixture.context()
    let person: Person = context.object(with: id)
    #expect(person.name == "Ada")
    #expect(!person.isFault && person.age == 36)
    #expect(person.cars.count == 2)
    #expect(person.cars.allSatisfy { $0.isFault })
    #expect(person.cars.map(\.name).sorted() == ["Ada's car 0", "Ada's car 1"])
    #expect(!person.cars.contains { $0.isFault })
  }

  @Test(.evidence("F-11"))
  func `objects can be looked up with or without reading`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada")
    try fixture.change(id) { $0.managedObjectContext?.delete($0) }
    let context = fixture.context()
    #expect(context.registeredObject(Person.self, for: id) == nil)
    let assumed: Person = context.object(with: id)
    #expect(assumed.isFault)
    #expect(context.registeredObject(Person.self, for: id) === assumed)
    let found = try context.existingObject(Person.self, with: id)
    #expect(found == nil)
  }

  @Test(.evidence("F-12"), .evidence("F-13"))
  func `callbacks report loading and turning into a fault`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let new = Person(context: context)
    #expect(new.awakenings == 1)
    new.name = "Ada"
    try context.save()
    context.delete(new)
    context.insert(new)
    #expect(new.awakenings == 1)
    let other = fixture.context()
    let person: Person = other.object(with: new.objectID)
    #expect(person.awakenings == 1 && !person.hasChanges)
    try other.refresh(person, mergeChanges: false)
    #expect(person.isFault)
    #expect(person.awakenings == 1 && !person.isFault)
  }

  @Test(.evidence("I-01"))
  func `a fault whose row is missing counts as deleted`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 36)
    let context = fixture.context()
    let person: Person = context.object(with: id)
    try fixture.change(id) { $0.managedObjectContext?.delete($0) }
    #expect(person.name == "" && person.age == 0)
    #expect(person.isDeleted && context.deletedObjects == [person])
    try context.save()
    #expect(context.deletedObjects == [] && context.faultError == nil)
  }

  @Test(.evidence("I-02"))
  func `a fault whose row is missing sets faultError if configured`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 36)
    let context = fixture.context()
    context.shouldDeleteInaccessibleFaults = false
    let person: Person = context.object(with: id)
    try fixture.change(id) { $0.managedObjectContext?.delete($0) }
    #expect(person.name == "" && person.isFault)
    let error = try #require(context.faultError as? ObjectGraphError)
    #expect(error.kind == .missingObject)
    #expect(throws: ObjectGraphError.self) { try context.fetch(FetchRequest<Person>()) }
    let byName = FetchRequest<Person>(where: #Predicate { $0.name == "Bob" })
    #expect(throws: ObjectGraphError.self) { try context.fetch(byName) }
    #expect(throws: ObjectGraphError.self) { try context.save() }
    context.reset()
    #expect(try context.count(for: FetchRequest<Person>()) == 0)
  }

  @Test(.evidence("I-01"), arguments: [false, true])
  func `a fault whose row exists again no longer counts as deleted`(isFetched: Bool) throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 1) }
    let (context, other) = (fixture.context(), fixture.context())
    let ada: Person = context.object(with: ids[0])
    try #require(try other.existingObject(Person.self, with: ids[0])).age = 2
    try fixture.change(ids[0]) { $0.managedObjectContext?.delete($0) }
    #expect(ada.name == "" && ada.isDeleted)
    // The other context still has an unsaved change to the object, so its save restores the row.
    other.mergePolicy = .overwrite
    try other.save()
    if isFetched {
      let found = try context.fetch(FetchRequest<Person>(where: #Predicate { $0.name == "Ada" }))
      #expect(found == [ada] && ada.age == 2 && !ada.isDeleted && !context.hasChanges)
    }
    try #require(try context.existingObject(Person.self, with: ids[1])).age = 3
    try context.save()
    #expect(try fixture.stored(ids[0])?.age == 2)
    #expect(ada.age == 2 && !ada.isDeleted)
  }

  @Test func `changing a transient property loads a fault first`() throws {
    let fixture = try GraphFixture()
    let person: Person = fixture.context().object(with: try fixture.person("Ada"))
    person.awakenings += 1
    #expect(person.awakenings == 2 && !person.isFault)
    let other: Person = fixture.context().object(with: person.objectID)
    other.awakenings = 7
    #expect(!other.isFault && other.awakenings == 7)
  }
}
