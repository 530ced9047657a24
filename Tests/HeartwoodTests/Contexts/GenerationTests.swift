import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Contexts pinned to a generation")
struct GenerationTests {
  private func age(_ context: ManagedObjectContext, _ id: ManagedObjectID) throws -> Int? {
    try context.existingObject(Person.self, with: id)?.age
  }

  @Test(.evidence("QG-01"), .evidence("QG-02"), .evidence("QG-03"), .evidence("QG-04"))
  func `a context pins the newest generation at its first read`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 1)
    let context = fixture.context()
    #expect(context.queryGenerationToken == nil)
    try context.setQueryGenerationFrom(.current)
    #expect(context.queryGenerationToken == .current)
    try fixture.person("Bob")
    #expect(try context.count(for: FetchRequest<Person>()) == 2)
    let token = try #require(context.queryGenerationToken)
    #expect(token != .current)
    try fixture.person("Cid")
    try fixture.change(id) { person in
      person.age = 2
      for car in person.cars { person.managedObjectContext?.delete(car) }
    }
    #expect(try context.count(for: FetchRequest<Person>()) == 2)
    #expect(try context.fetch(FetchRequest<Person>()).map(\.age) == [1, 0])
    let ada: Person = context.object(with: id)
    #expect(ada.cars.first?.name == "Ada's car 0")
    #expect(context.queryGenerationToken == token)
  }

  @Test(.evidence("QG-05"), .evidence("QG-06"), .evidence("I-04"))
  func `a pinned context loads faults whose rows are deleted later`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 7) }
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let ada: Person = context.object(with: ids[0])
    #expect(ada.age == 7)
    for id in ids { try fixture.change(id) { $0.managedObjectContext?.delete($0) } }
    let bob: Person = context.object(with: ids[1])
    #expect(bob.name == "Bob" && bob.age == 7 && !bob.isDeleted)
    #expect(!context.hasChanges && context.faultError == nil)
  }

  @Test(.evidence("I-04"), .evidence("QG-32"))
  func `a pinned context does not delete rows that are newer than its generation`() throws {
    let fixture = try GraphFixture()
    let ada = try fixture.person("Ada")
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
    let bob = try fixture.person("Bob", age: 7)
    let early: Person = context.object(with: bob)
    #expect(early.name == "" && early.isFault && !early.isDeleted)
    let child = fixture.child(of: context)
    let childPerson: Person = child.object(with: bob)
    #expect(childPerson.name == "" && !childPerson.isDeleted && !child.hasChanges)
    #expect(!context.hasChanges && context.faultError == nil)
    try #require(try context.existingObject(Person.self, with: ada)).age = 2
    try context.save()
    #expect(try fixture.stored(bob)?.age == 7)
    #expect(early.name == "Bob" && childPerson.name == "Bob")
  }

  @Test(.evidence("QG-07"), .evidence("QG-08"), .evidence("QG-09"), .evidence("QG-10"))
  func `fetches in a pinned context see only its generation`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", cars: 2)
    let gone = try fixture.person("Bob")
    let context = fixture.context()
    let other = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.count(for: FetchRequest<Person>()) == 2)
    try fixture.change(id) { person in
      person.name = "Eve"
      person.cars = []
    }
    try fixture.change(gone) { $0.managedObjectContext?.delete($0) }
    let new = try fixture.person("Cid")
    func found(_ name: String, _ context: ManagedObjectContext) throws -> Person? {
      try context.fetch(FetchRequest<Person>(where: #Predicate { $0.name == name })).first
    }
    #expect(try found("Eve", context) == nil)
    #expect(try found("Ada", context)?.cars.count == 2)
    #expect(try found("Ada", other) == nil)
    #expect(try found("Eve", other)?.cars.count == 0)
    #expect(try context.existingObject(Person.self, with: gone)?.name == "Bob")
    #expect(try context.existingObject(Person.self, with: new) == nil)
    #expect(try other.existingObject(Person.self, with: gone) == nil)
    #expect(try other.existingObject(Person.self, with: new)?.name == "Cid")
  }

  @Test(.evidence("QG-11"), .evidence("QG-12"), .evidence("QG-13"), .evidence("QG-34"))
  func `contexts share generations by token, older and newer`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let (first, second) = (fixture.context(), fixture.context())
    try first.setQueryGenerationFrom(.current)
    try second.setQueryGenerationFrom(first.queryGenerationToken)
    #expect(try age(first, id) == 1)
    try fixture.change(id) { $0.age = 2 }
    #expect(try age(second, id) == 2, "it chooses for itself")
    #expect(first.queryGenerationToken != second.queryGenerationToken)
    try fixture.change(id) { $0.age = 3 }
    for context in [first, second] { context.refreshAllObjects() }
    #expect(try age(first, id) == 1)
    #expect(try age(second, id) == 2)
    let third = fixture.context()
    let ada: Person = third.object(with: id)
    #expect(ada.age == 3)
    try third.setQueryGenerationFrom(first.queryGenerationToken)
    #expect(third.queryGenerationToken == first.queryGenerationToken)
    #expect(ada.age == 3)
    let again = try third.fetch(FetchRequest<Person>())
    #expect(again == [ada] && ada.age == 1, "a fetch shows the earlier generation")
  }

  @Test(.evidence("QG-14"), .evidence("QG-51"), .evidence("QG-52"))
  func `an encoded token is valid while its generation is retained`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try age(context, id) == 1)
    let token = try #require(context.queryGenerationToken)
    let coded = try JSONEncoder().encode([token, .current])
    #expect(
      try JSONDecoder().decode([QueryGenerationToken].self, from: coded) == [token, .current])
    let stranger = try GraphFixture().context()
    let foreign = #expect(throws: StorageError.self) {
      try stranger.setQueryGenerationFrom(token)
    }
    #expect(foreign?.kind == .foreignStore && stranger.queryGenerationToken == nil)
    for age in 2...4 { try fixture.change(id) { $0.age = age } }
    try context.setQueryGenerationFrom(nil)
    #expect(try age(context, id) == 4)
    // A context retains the generation of its last read only briefly, so wait until the generation
    // is released.
    try fixture.waitUntilOnlyNewestIsLive()
    try fixture.container.store.checkpoint()
    let expired = #expect(throws: StorageError.self) { try context.setQueryGenerationFrom(token) }
    #expect(expired?.kind == .generationExpired && context.queryGenerationToken == nil)
  }

  @Test(.evidence("QG-45"))
  func `only pinned contexts retain a generation for long`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    #expect(try age(context, id) == 1)
    let pinned = fixture.context()
    try pinned.setQueryGenerationFrom(.current)
    #expect(try age(pinned, id) == 1)
    try fixture.change(id) { $0.age = 2 }
    let held = try #require(pinned.queryGenerationToken)
    #expect(throws: (any Error).self) { try fixture.waitUntilOnlyNewestIsLive(seconds: 0.5) }
    #expect(pinned.queryGenerationToken == held)
    try pinned.setQueryGenerationFrom(nil)
    try fixture.waitUntilOnlyNewestIsLive()
    withExtendedLifetime(context) {}
  }

  @Test(.evidence("QG-15")) func `a nil token is not a pinned generation`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    try context.setQueryGenerationFrom(context.queryGenerationToken)
    #expect(context.queryGenerationToken == nil)
    try fixture.person("Ada")
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
  }

  @Test(.evidence("QG-16"), .evidence("QG-22"), .evidence("QG-23"))
  func `a pinned context saves on top of the newest generation and advances to the result`() throws
  {
    for after in [ManagedObjectContext.GenerationAfterSave.advance, .unpin] {
      let fixture = try GraphFixture()
      let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 1) }
      let context = fixture.context()
      context.generationAfterSave = after
      try context.setQueryGenerationFrom(.current)
      let ada = try #require(try context.existingObject(Person.self, with: ids[0]))
      let before = context.queryGenerationToken
      try fixture.change(ids[1]) { $0.age = 2 }
      ada.age = 10
      #expect(try age(context, ids[0]) == 10)
      #expect(try context.fetch(FetchRequest<Person>()).map(\.age) == [10, 1])
      try context.save()
      let token = context.queryGenerationToken
      #expect(token != before && (after == .unpin) == (token == nil))
      try fixture.change(ids[1]) { $0.age = 3 }
      let expected = after == .unpin ? 3 : 2
      #expect(try context.fetch(FetchRequest<Person>()).map(\.age) == [10, expected])
      #expect(try fixture.stored(ids[1])?.age == 3)
    }
  }

  @Test(.evidence("QG-24"))
  func `saving without changes advances a pinned context to the newest generation`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
    try fixture.person("Bob")
    let newest = try fixture.container.store.snapshot().generation
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
    try context.save()
    #expect(try fixture.container.store.snapshot().generation == newest)
    #expect(context.queryGenerationToken != nil)
    #expect(try context.count(for: FetchRequest<Person>()) == 2)
    #expect(try age(context, id) == 1)
  }

  @Test(.evidence("QG-24"), arguments: [true, false], [true, false])
  func `saving without changes unpins a context that is unpinned by saves`(
    reads: Bool, hasDiscardedObject: Bool
  ) throws {
    let fixture = try StoresFixture()
    let id = try fixture.memo("milk", rank: 1)
    let context = fixture.context()
    context.generationAfterSave = .unpin
    try context.setQueryGenerationFrom(.current)
    if reads { #expect(try context.contents() == ["milk 1"]) }
    if hasDiscardedObject { context.delete(Person(context: context)) }
    #expect(context.queryGenerationToken != nil)
    try context.save()
    #expect(context.queryGenerationToken == nil)
    #expect(try context.contents() == ["milk 1"])
    try fixture.change(id) { $0.rank = 2 }
    try fixture.person("Ada")
    #expect(try context.contents() == ["Ada 0", "milk 2"])
  }

  @Test(.evidence("QG-25")) func `a failed save leaves the pin unchanged`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let ada = try #require(try context.existingObject(Person.self, with: id))
    let token = context.queryGenerationToken
    try fixture.change(id) { $0.age = 2 }
    ada.age = 3
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .mergeConflict && error?.objectID == id)
    #expect(context.queryGenerationToken == token)
    #expect(context.updatedObjects == [ada] && ada.age == 3)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try fixture.stored(id)?.age == 3)
  }

  @Test(.evidence("QG-29"), .evidence("QG-30"), .evidence("QG-31"), .evidence("QG-32"))
  func `after the pin moves, objects are refreshed individually or all at once`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob", "Cid"].map { try fixture.person($0, age: 1) }
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let people: [Person] = ids.map { context.object(with: $0) }
    #expect(people[0].age == 1 && people[1].age == 1)
    people[1].nickname = "mine"
    for id in ids { try fixture.change(id) { $0.age = 2 } }
    try context.setQueryGenerationFrom(.current)
    #expect(people[0].age == 1 && people[2].age == 2)
    context.refreshAllObjects()
    #expect(people.map(\.age) == [2, 2, 2] && people[1].nickname == "mine")
    for id in ids { try fixture.change(id) { $0.age = 3 } }
    context.reset()
    #expect(context.queryGenerationToken == .current)
    #expect(try ids.map { try age(context, $0) } == [3, 3, 3])
    #expect(context.queryGenerationToken != .current)
  }

  @Test(.evidence("QG-37"), .evidence("QG-38"), .evidence("QG-39"), .evidence("QG-40"))
  func `child contexts read the pinned generation and cannot be pinned`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try age(context, id) == 1)
    let token = context.queryGenerationToken
    let child = fixture.child(of: context)
    try fixture.change(id) { $0.age = 2 }
    try fixture.person("Bob")
    let ada = try #require(try child.existingObject(Person.self, with: id))
    #expect(ada.age == 1 && child.queryGenerationToken == nil)
    #expect(try child.count(for: FetchRequest<Person>()) == 1)
    let error = #expect(throws: ObjectGraphError.self) {
      try child.setQueryGenerationFrom(.current)
    }
    #expect(error?.kind == .childContext)
    ada.nickname = "new"
    let newest = try fixture.container.store.snapshot().generation
    try child.save()
    #expect(try fixture.container.store.snapshot().generation == newest)
    #expect(context.queryGenerationToken == token && context.hasChanges)
  }
}
