import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Objects whose rows were changed by others")
struct StalenessTests {
  @Test(.evidence("S-03"))
  func `a refresh keeps unsaved changes on top of the new values`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 1)
    let context = fixture.context()
    let ada: Person = context.object(with: id)
    ada.age = 10
    #expect(ada.cars.count == 1)
    try fixture.change(id) { person in
      person.age = 20
      person.nickname = "theirs"
      Car(context: person.managedObjectContext ?? context).owner = person
    }
    #expect(ada.nickname == nil)
    try context.refresh(ada, mergeChanges: true)
    #expect(ada.age == 10 && ada.nickname == "theirs" && ada.cars.count == 2)
    #expect(context.updatedObjects == [ada])
    try context.save()
    #expect(try fixture.stored(id)?.age == 10)
  }

  @Test(.evidence("C-05"), arguments: [false, true])
  func `unchanged objects are refreshed by a fetch`(isDeleted: Bool) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let ada = try #require(try context.existingObject(Person.self, with: id))
    ada.age = 1
    ada.name = "Bob"
    ada.name = "Ada"
    try fixture.change(id) { person in
      if isDeleted { person.managedObjectContext?.delete(person) } else { person.age = 2 }
    }
    var request = FetchRequest<Person>()
    request.predicate = try QueryPredicate(format: "age == 1")
    #expect(try context.fetch(request).isEmpty)
    request.predicate = nil
    #expect(try context.fetch(request).map(\.age) == (isDeleted ? [] : [2]))
    #expect(!context.hasChanges)
    try context.save()
  }

  @Test(.evidence("C-05"), arguments: [false, true])
  func `predicates use the stored values of unchanged related objects`(inChild: Bool) throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 1, cars: 1) }
    let context = fixture.context()
    let child = inChild ? fixture.child(of: context) : context
    let people: [Person] = ids.map { context.object(with: $0) }
    people[0].age = 2
    people[0].age = 1
    people[1].nickname = "mine"
    for id in ids { try fixture.change(id) { $0.age = 7 } }
    var request = FetchRequest<Car>()
    request.predicate = try QueryPredicate(format: "owner.age == 7")
    #expect(try child.count(for: request) == 1)
    #expect(try child.fetch(request).map(\.owner?.name) == ["Ada"])
    #expect(context.updatedObjects == [people[1]])
  }

  @Test(.evidence("N-01"), .evidence("F-09"))
  func `a fetch in a grandchild rereads objects whose values equal the declared defaults`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.saved { Car(context: $0) }.objectID
    let chain = fixture.chain(depth: 2)
    let car: Car = chain.child.object(with: id)
    #expect(car.name == "")
    try fixture.saved { $0.object(Car.self, with: id).name = "changed" }
    #expect(try chain.child.fetch(FetchRequest<Car>()) == [car] && car.name == "changed")
  }

  @Test(.evidence("S-05"))
  func `refreshing all objects keeps their identity`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 1) }
    let context = fixture.context()
    let people: [Person] = ids.map { context.object(with: $0) }
    #expect(people.map(\.age) == [1, 1])
    people[0].nickname = "mine"
    for id in ids { try fixture.change(id) { $0.age = 2 } }
    #expect(people.map(\.age) == [1, 1])
    context.refreshAllObjects()
    #expect(people.map(\.age) == [2, 2] && people[0].nickname == "mine")
    let found = try context.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)]))
    #expect(zip(found, people).allSatisfy { $0 === $1 })
  }

  @Test(.evidence("S-06"))
  func `a reset removes all objects`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let old: Person = context.object(with: id)
    old.age = 2
    let new = Person(context: context)
    context.reset()
    #expect(!context.hasChanges && context.registeredObjects == [])
    #expect(old.managedObjectContext == nil && new.managedObjectContext == nil)
    #expect(old.objectID == id)
    let again: Person = context.object(with: id)
    #expect(again !== old && again.age == 1)
  }
}
