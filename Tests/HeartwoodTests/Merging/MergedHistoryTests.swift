import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A class whose objects call a closure at the start of a save.
private final class Announcer: ManagedObject {
  @Attribute var number: Int = 0
  var saving: () throws -> Void = {}

  override func willSave() throws { try saving() }
}

@Suite("Merging saves of other contexts")
struct MergedHistoryTests {
  @Test(.evidence("QG-35"), .evidence("H-03"))
  func `automatic merging continues after the history was deleted`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob", "Cid"].map { try fixture.person($0, age: 1) }
    let context = fixture.context()
    context.automaticallyMergesChangesFromParent = true
    context.retainsRegisteredObjects = true
    let people = try context.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)]))
    #expect(people.count == 3)
    people[1].nickname = "mine"
    try fixture.change(ids[0]) { $0.age = 2 }
    try fixture.change(ids[1]) { $0.age = 3 }
    try fixture.change(ids[2]) { $0.managedObjectContext?.delete($0) }
    let token = try #require(try fixture.container.currentHistoryToken)
    try fixture.container.deleteHistory(before: token)
    try fixture.change(ids[0]) { $0.age = 4 }
    #expect(try context.count(for: FetchRequest<Person>()) == 2)
    #expect(people.map(\.age) == [4, 3, 1] && people[2].isDeleted)
    #expect(people[1].nickname == "mine")
    try context.save()
    try fixture.change(ids[0]) { $0.age = 5 }
    #expect(try context.fetch(FetchRequest<Person>()).map(\.age) == [5, 3])
  }

  @Test(.evidence("QG-35"), .evidence("H-03"), arguments: StoresFixture.Kind.allCases)
  func `automatic merging that began with an empty history includes deleted transactions`(
    kind: StoresFixture.Kind
  ) throws {
    let fixture = try StoresFixture(kind)
    let context = fixture.context()
    #expect(try context.contents().isEmpty)
    context.automaticallyMergesChangesFromParent = true
    let ids = (try fixture.person("Ada", age: 1), try fixture.memo("milk", rank: 1))
    // Loading objects by their IDs does not merge.
    let ada = try #require(try context.existingObject(Person.self, with: ids.0))
    let milk = try #require(try context.existingObject(Memo.self, with: ids.1))
    #expect(ada.age == 1 && milk.rank == 1)
    let other = fixture.context()
    try #require(try other.existingObject(Person.self, with: ids.0)).age = 2
    try other.save()
    try fixture.change(ids.1) { $0.rank = 2 }
    try fixture.container.deleteHistory(before: Date.distantFuture)
    #expect(try context.count(for: FetchRequest<Stamp>()) == 0)
    #expect(ada.age == 2 && milk.rank == 2)
    ada.age = 3
    try context.save()
    #expect(try fixture.stored() == ["Ada 3", "milk 2"])
  }

  @Test(.evidence("QG-35"), .evidence("K-03"))
  func `automatic merging that began during a suspension merges everything`() throws {
    let fixture = try StoresFixture(.inFiles)
    let id = try fixture.memo("milk", rank: 1)
    let context = fixture.context()
    let milk = try #require(try context.existingObject(Memo.self, with: id))
    try fixture.container.suspend()
    context.automaticallyMergesChangesFromParent = true
    try fixture.container.resume()
    try fixture.change(id) { $0.rank = 2 }
    try fixture.container.deleteHistory(before: Date.distantFuture)
    #expect(try context.count(for: FetchRequest<Stamp>()) == 0)
    #expect(milk.rank == 2)
  }

  @Test(.evidence("QG-35")) func `automatic merging precedes a save with changes`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.automaticallyMergesChangesFromParent = true
    let ada = try #require(try context.existingObject(Person.self, with: id))
    ada.nickname = "mine"
    try fixture.change(id) { $0.age = 2 }
    // The merge has resolved the conflict, so the save succeeds.
    try context.save()
    #expect(ada.age == 2 && ada.nickname == "mine")
  }

  @Test(.evidence("QG-55")) func `a context merges the save notification of another context`()
    async throws
  {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 1) }
    let view = fixture.context()
    try view.setQueryGenerationFrom(.current)
    view.retainsRegisteredObjects = true
    let people = try view.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)]))
    let context = fixture.context()
    var changes = context.changes.makeAsyncIterator()
    context.object(Person.self, with: ids[0]).age = 7
    context.delete(context.object(Person.self, with: ids[1]))
    try context.save()
    while let change = await changes.next(isolation: nil) {
      try view.mergeChanges(from: change)
      if change.kind == .didSave { break }
      #expect(people.map(\.age) == [1, 1])
    }
    #expect(people[0].age == 7 && people[1].isDeleted)
  }

  @Test(.evidence("QG-27"), .evidence("C-09"))
  func `merging combines a changed order with the members of both sides`() throws {
    let fixture = try GraphFixture(purchases)
    let id = try fixture.saved { context in
      let order = Purchase(context: context)
      for text in ["a", "b", "c"] {
        let line = Article(context: context)
        (line.text, line.order) = (text, order)
      }
      return order
    }.objectID
    let context = fixture.context()
    let own = try #require(try context.existingObject(Purchase.self, with: id))
    own.lines.reverse()
    let token = try #require(try fixture.container.currentHistoryToken)
    try fixture.saved { other in
      let order = try #require(try other.existingObject(Purchase.self, with: id))
      let line = Article(context: other)
      line.text = "t"
      order.lines.append(line)
      other.delete(order.lines[1])
    }
    for transaction in try fixture.container.fetchHistory(after: token) {
      try context.mergeChanges(from: transaction)
    }
    #expect(own.lines.map(\.text) == ["c", "a", "t"])
    try context.save()
    try fixture.expectAgreement(in: context)
    try fixture.stored { try fixture.expectAgreement(in: $0) }
    #expect(own.lines.map(\.text) == ["c", "a", "t"])
  }

  @Test(.evidence("QG-27"))
  func `merging a move removes the member from an owner that has since been deleted`() throws {
    let fixture = try GraphFixture()
    let ids = [try fixture.person("Ada", cars: 1), try fixture.person("Bob")]
    let context = fixture.context()
    let people: [Person] = ids.map { context.object(with: $0) }
    let car = try #require(people[0].cars.first)
    #expect(people[1].cars.isEmpty)
    let token = try fixture.container.currentHistoryToken
    try fixture.saved { other in
      let bob: Person = other.object(with: ids[1])
      for car in other.object(Person.self, with: ids[0]).cars { car.owner = bob }
    }
    try fixture.change(ids[0]) { $0.managedObjectContext?.delete($0) }
    try context.mergeChanges(
      from: try #require(try fixture.container.fetchHistory(after: token).first))
    #expect(car.owner === people[1] && people[1].cars == [car] && people[0].cars.isEmpty)
  }

  @Test(.evidence("S-03"), .evidence("C-05"))
  func `a merged list equals the stored list once the own edit is reverted`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let club = Club(context: context)
    let halls = (0..<4).map { _ in Hall(context: context) }
    for (number, hall) in halls.enumerated() { hall.number = number }
    club.halls = Array(halls[..<3])
    try context.save()
    club.halls.append(halls[3])
    try fixture.saved { $0.object(Club.self, with: club.objectID).halls.reverse() }
    try context.refresh(club, mergeChanges: true)
    #expect(club.halls.map(\.number) == [2, 1, 0, 3])
    club.halls.removeLast()
    #expect(!context.hasChanges)
  }

  @Test(.evidence("QG-35"))
  func `automatic merging includes what others save while the context is saving`() throws {
    let fixture = try GraphFixture(Schema(Announcer.self))
    let ids = try fixture.saved { context in (0..<2).map { _ in Announcer(context: context) } }
      .map(\.objectID)
    let context = fixture.context()
    context.automaticallyMergesChangesFromParent = true
    let own: [Announcer] = ids.map { context.object(with: $0) }
    #expect(own.map(\.number) == [0, 0])
    own[0].saving = { try fixture.saved { $0.object(Announcer.self, with: ids[1]).number = 2 } }
    own[0].number = 1
    try context.save()
    #expect(try context.count(for: FetchRequest<Announcer>()) == 2)
    #expect(own.map(\.number) == [1, 2])
  }

  @Test(.evidence("QG-27")) func `merging leaves the context's own saves unchanged`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", cars: 1)
    let context = fixture.context()
    context.automaticallyMergesChangesFromParent = true
    let ada = try #require(try context.existingObject(Person.self, with: id))
    Car(context: context).owner = ada
    try context.save()
    #expect(ada.cars.count == 2)
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
    try fixture.change(id) { Car(context: $0.managedObjectContext!).owner = $0 }
    // The objects do not change until the next fetch.
    #expect(ada.cars.count == 2)
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
    #expect(ada.cars.count == 3)
  }

  @Test(.evidence("QG-58"), .evidence("C-05"))
  func `rows that a revert left unchanged cause no conflict`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 1) }
    let past = fixture.context()
    try past.setQueryGenerationFrom(.current)
    _ = try past.count(for: FetchRequest<Person>())
    let token = try #require(past.queryGenerationToken)
    try fixture.change(ids[0]) { $0.age = 2 }
    // Write the second row twice, so that it ends up with its original values.
    try fixture.change(ids[1]) { $0.age = 3 }
    try fixture.change(ids[1]) { $0.age = 1 }
    let context = fixture.context()
    let bob = try #require(try context.existingObject(Person.self, with: ids[1]))
    bob.nickname = "mine"
    let changes = try fixture.container.revert(to: token)
    #expect(Set(changes.updated.keys) == [ids[0]])
    try context.save()
    #expect(try fixture.stored(ids[0])?.age == 1)
  }
}
