import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A class whose entity has a name that is unusual in URIs.
private final class UnusualName: ManagedObject {
  static let all = ["a/b", "/", "a%2Fb", "ä ö", "a?b#c", "..", "a;b", "😀\u{301}"]
  @TaskLocal static var current = ""

  override class var entity: Entity { Entity(current) }
}

@Suite("Saving")
struct SavingTests {
  @Test(.evidence("C-01")) func `a save creates one generation, or none without changes`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let before = try fixture.container.store.snapshot().generation
    try context.save()
    #expect(try fixture.container.store.snapshot().generation == before)
    for number in 0..<10 { Person(context: context).name = "\(number)" }
    try context.save()
    let after = try fixture.container.store.snapshot().generation
    #expect(after > before)
    try context.save()
    #expect(try fixture.container.store.snapshot().generation == after)
    #expect(fixture.container.store.statistics.activity.commitCount == 2)
  }

  @Test(.evidence("U-07"), .evidence("U-08"))
  func `a save replaces temporary IDs with permanent ones`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let person = Person(context: context)
    let temporary = person.objectID
    #expect(temporary.isTemporary)
    try context.save()
    let id = person.objectID
    #expect(!id.isTemporary && id != temporary)
    #expect(ManagedObjectID(uriRepresentation: id.uriRepresentation) == id)
    let coded = try JSONDecoder().decode(
      ManagedObjectID.self, from: JSONEncoder().encode(id))
    #expect(coded == id && coded.hashValue == id.hashValue)
    let found = try fixture.context().existingObject(Person.self, with: coded)
    #expect(found != nil)
    #expect(context.registeredObject(Person.self, for: id) === person)
    #expect(context.registeredObject(Person.self, for: temporary) === person)
  }

  @Test(.evidence("C-01"))
  func `a save with invalid objects throws and changes nothing`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let ada: Person = context.object(with: id)
    ada.age = 2
    Person(context: context).name = "Ada"
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .constraintConflict)
    #expect(context.insertedObjects.count == 1 && context.updatedObjects == [ada])
    #expect(ada.age == 2)
    #expect(try fixture.stored(id)?.age == 1)
    context.rollback()
    #expect(ada.age == 1 && !context.hasChanges)
  }

  @Test(.evidence("C-04")) func `a save can move unique values between objects`() throws {
    let fixture = try GraphFixture()
    let ids = (try fixture.person("Ada"), try fixture.person("Bob"))
    let context = fixture.context()
    let (ada, bob): (Person, Person) = (context.object(with: ids.0), context.object(with: ids.1))
    (ada.name, bob.name) = (bob.name, ada.name)
    try context.save()
    #expect(try fixture.stored(ids.0)?.name == "Bob")
    let found = try fixture.context().fetch(
      FetchRequest<Person>(where: #Predicate { $0.name == "Ada" }))
    #expect(found.map(\.objectID) == [ids.1])
    context.delete(ada)
    let new = Person(context: context)
    new.name = "Bob"
    try context.save()
    #expect(try fixture.stored(new.objectID)?.name == "Bob")
  }

  @Test(.evidence("S-07"))
  func `unsaved changes can be rolled back`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 2)
    let context = fixture.context()
    let ada: Person = context.object(with: id)
    let cars = ada.cars
    ada.age = 5
    let new = Car(context: context)
    new.owner = ada
    context.delete(try #require(cars.first))
    context.rollback()
    #expect(!context.hasChanges && new.managedObjectContext == nil)
    #expect(ada.age == 1 && ada.cars == cars && cars.allSatisfy { $0.owner === ada })
    #expect(!cars.contains { $0.isDeleted })
  }

  @Test(.evidence("U-01"), .evidence("U-02"), .evidence("U-03"), .evidence("U-04"))
  func `a context releases unused objects and has one object for each row`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada")
    let context = fixture.context()
    do {
      let person: Person = context.object(with: id)
      let byName = try context.fetch(FetchRequest<Person>(where: #Predicate { $0.name == "Ada" }))
      #expect(byName.first === person)
      #expect(fixture.context().object(with: id) as Person !== person)
      #expect(context.registeredObjects == [person])
    }
    #expect(context.registeredObjects == [])
    do {
      let person: Person = context.object(with: id)
      person.age = 7
    }
    #expect(context.registeredObjects.count == 1)
    try context.save()
    #expect(context.registeredObjects == [])
    context.retainsRegisteredObjects = true
    _ = try context.fetch(FetchRequest<Person>())
    #expect(context.registeredObjects.count == 1)
  }

  @Test(.evidence("U-08"))
  func `an ID from another store identifies no object`() throws {
    let (fixture, other) = (try GraphFixture(), try GraphFixture())
    let id = try fixture.person("Ada")
    try other.person("Bob")
    let context = other.context()
    let people = try context.fetch(FetchRequest<Person>())
    #expect(people.count == 1)
    let found = try context.existingObject(Person.self, with: id)
    #expect(found == nil)
    #expect(context.registeredObject(Person.self, for: id) == nil)
  }

  @Test(.evidence("U-08"), arguments: UnusualName.all)
  func `the URI of an ID identifies the same object, whatever the entity's name`(
    name: String
  ) throws {
    try UnusualName.$current.withValue(name) {
      let container = try PersistentContainer.inMemory(schema: Schema(UnusualName.self))
      let context = container.newContext()
      let object = UnusualName(context: context)
      try context.save()
      let id = try #require(
        ManagedObjectID(uriRepresentation: object.objectID.uriRepresentation))
      #expect(id == object.objectID)
      #expect(id.entityName == name)
      #expect(try container.newContext().existingObject(UnusualName.self, with: id) != nil)
    }
  }

  @Test(.evidence("R-03"))
  func `saving a deletion removes all entries of the object`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let club = Club(context: context)
    let person = Person(context: context)
    person.clubs = [club]
    Hall(context: context).club = club
    try context.save()
    for hall in club.halls { context.delete(hall) }
    context.delete(person)
    context.delete(club)
    try context.save()
    let snapshot = try fixture.container.store.snapshot()
    for name in try snapshot.keyspaceNames where !name.hasPrefix("heartwood.") {
      #expect(try snapshot.keyspace(name)?.count() == 0, "\(name)")
    }
  }

  @Test(.evidence("C-06"), arguments: [false, true], [false, true])
  func `a save leaves no reference to a new object that was deleted`(isNew: Bool, isOnlyEdit: Bool)
    throws
  {
    let context = try GraphFixture(crew).context()
    let member = CrewMember(context: context)
    if !isNew { try context.save() }
    // The relationship `mentor` has no inverse, so deleting the mentor does not clear it.
    let mentor = CrewMember(context: context)
    member.mentor = mentor
    if !isOnlyEdit { member.title = "changed" }
    context.delete(mentor)
    try context.save()
    #expect(member.mentor == nil && !context.hasChanges)
  }
}
