import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Predicates with the ID of a new object")
struct TemporaryIDPredicateTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private let ada: Person
  private let car: Car
  /// The temporary IDs of the owner and of the car.
  private let owner: ManagedObjectID
  private let owned: ManagedObjectID

  init() throws {
    fixture = try GraphFixture()
    try fixture.person("Bob", age: 1, cars: 2)
    context = fixture.context()
    (ada, car) = (Person(context: context), Car(context: context))
    (ada.name, ada.age, car.name) = ("Ada", 36, "Ada's")
    car.owner = ada
    (owner, owned) = (ada.objectID, car.objectID)
  }

  private typealias Case<M: ManagedObject, Found> = (
    name: String, predicate: QueryPredicate<M>, found: Found
  )

  private func people() throws -> [Case<Person, [String]>] {
    let (owner, owned) = (owner, owned)
    let ids = [owned, owner]
    return [
      ("==", .init(#Predicate { $0.objectID == owner }), ["Ada"]),
      ("!=", .init(#Predicate { $0.objectID != owner }), ["Bob"]),
      ("contains", .init(#Predicate { ids.contains($0.objectID) }), ["Ada"]),
      ("or", .init(#Predicate { $0.objectID == owner || $0.age == 1 }), ["Ada", "Bob"]),
      ("not", .init(#Predicate { !($0.objectID == owner) }), ["Bob"]),
      ("member", .init(#Predicate { $0.cars.contains { $0.objectID == owned } }), ["Ada"]),
      ("all", .init(#Predicate { $0.cars.allSatisfy { $0.objectID != owned } }), ["Bob"]),
      ("format ==", try .init(format: "SELF == %@", owner), ["Ada"]),
      ("format IN", try .init(format: "SELF IN %@", ids), ["Ada"]),
      ("format NOT IN", try .init(format: "NOT SELF IN %@", ids), ["Bob"]),
      ("format ANY", try .init(format: "ANY cars == %@", owned), ["Ada"]),
    ]
  }

  private func cars() throws -> [Case<Car, Int>] {
    let owner = owner
    return [
      ("==", .init(#Predicate { $0.owner?.objectID == owner }), 1),
      ("!=", .init(#Predicate { $0.owner?.objectID != owner }), 2),
      ("format ==", try .init(format: "owner == %@", owner), 1),
      ("format IN", try .init(format: "owner IN %@", [owner]), 1),
      ("format !=", try .init(format: "owner != %@", owner), 2),
    ]
  }

  private func check(
    _ context: ManagedObjectContext, _ when: String, location: SourceLocation = #_sourceLocation
  ) throws {
    for (name, predicate, found) in try people() {
      var request = FetchRequest<Person>(sort: [SortDescriptor(\.name)])
      request.predicate = predicate
      let names = try context.fetch(request).map(\.name)
      #expect(names == found, "\(name) \(when)", sourceLocation: location)
      let count = try context.count(for: request)
      let batched = try context.fetchBatched(request).count
      let (counted, oldest) = try context.aggregate(request, .count, .max(\.age))
      #expect(
        [count, batched, counted] == Array(repeating: found.count, count: 3), "\(name) \(when)",
        sourceLocation: location)
      #expect((oldest ?? 0) == (found[0] == "Ada" ? 36 : 1), "\(name) \(when)")
    }
    for (name, predicate, expected) in try cars() {
      var request = FetchRequest<Car>()
      request.predicate = predicate
      let count = try context.count(for: request)
      #expect(count == expected, "\(name) \(when)", sourceLocation: location)
    }
  }

  @Test(.evidence("U-11"))
  func `a predicate with a temporary ID finds the same before and after the save`() throws {
    try check(context, "before")
    try context.save()
    try check(context, "after")
    // For a changed object, the predicate is evaluated with the values in memory instead of those
    // in the row.
    ada.age = 36
    car.name = "changed"
    try check(context, "with changes")
    context.rollback()
    try context.setQueryGenerationFrom(.current)
    try check(context, "pinned")
    context.reset()
    try check(context, "after a reset")
  }

  @Test(.evidence("U-11"))
  func `a predicate with a temporary ID finds an object with an early permanent ID`() throws {
    try context.obtainPermanentIDs(for: [car, ada])
    try check(context, "obtained")
    try context.save()
    try check(context, "saved")
  }

  @Test(.evidence("U-11")) func `a predicate with a temporary ID works in child contexts`() throws {
    let child = fixture.child(of: context)
    try check(child, "before")
    let eve = Person(context: child)
    eve.name = "Eve"
    let id = eve.objectID
    let request = FetchRequest<Person>(where: #Predicate { $0.objectID == id })
    #expect(try child.fetch(request) == [eve] && context.count(for: request) == 0)
    try child.save()
    #expect(try context.fetch(request).map(\.name) == ["Eve"])
    #expect(try child.fetch(request) == [eve])
    context.delete(try #require(try context.fetch(request).first))
    try context.save()
    try check(context, "after")
    try check(child, "after, in the child")
  }

  @Test(.evidence("U-11")) func `a predicate with a temporary ID works in asynchronous fetches`()
    async throws
  {
    try context.save()
    let owner = owner
    let request = FetchRequest<Person>(where: #Predicate { $0.objectID == owner })
    let found = try await context.fetchAsync(request)
    #expect(found == [ada])
  }

  @Test(.evidence("U-11"))
  func `a predicate with a temporary ID works in batch updates and deletes`() throws {
    try context.save()
    let (owner, owned) = (owner, owned)
    let updated = try context.execute(
      BatchUpdateRequest<Person>(where: #Predicate { $0.objectID == owner }) { $0[\.age] = 7 })
    #expect(updated.count == 1)
    #expect(try fixture.stored(ada.objectID)?.age == 7)
    let elsewhere = try fixture.context().execute(
      BatchDeleteRequest<Car>(where: #Predicate { $0.objectID == owned }))
    #expect(elsewhere.count == 0)
    let named = try context.execute(BatchDeleteRequest<Car>(objectIDs: [owned]))
    #expect(named.count == 1)
    let cars = try context.execute(
      BatchDeleteRequest<Person>(where: #Predicate { $0.objectID == owner }))
    #expect(cars.count == 1)
  }

  @Test(.evidence("U-11"), arguments: [false, true])
  func `a predicate with a temporary ID keeps live results complete across the save`(
    isInChild: Bool
  )
    throws
  {
    let watched = isInChild ? fixture.child(of: context) : context
    let (owner, owned) = (owner, owned)
    let owns = FetchedResultsController(
      fetchRequest: FetchRequest<Car>(where: #Predicate { $0.owner?.objectID == owner }),
      context: watched)
    let itself = FetchedResultsController(
      fetchRequest: FetchRequest<Person>(where: #Predicate { $0.objectID == owner }),
      context: watched)
    let has = FetchedResultsController(
      fetchRequest: FetchRequest<Person>(
        where: #Predicate { $0.cars.contains { $0.objectID == owned } }), context: watched)
    try owns.performFetch()
    try itself.performFetch()
    try has.performFetch()
    #expect(owns.count == 1 && itself.count == 1 && has.count == 1)
    try context.save()
    #expect(owns.count == 1 && itself.count == 1 && has.count == 1)
    #expect(owns.index(of: owned) == 0 && itself.index(of: owner) == 0)
    #expect(itself.fetchedObjects.map(\.name) == ["Ada"])
    Car(context: context).owner = ada
    try context.save()
    #expect(owns.count == 2)
    // With many lists, the lists to update are found by the owners in their predicates.
    var lists: [FetchedResultsController<Car>] = []
    var people: [Person] = []
    for number in 0..<12 {
      let person = Person(context: context)
      person.name = "\(number)"
      let id = person.objectID
      people.append(person)
      lists.append(
        FetchedResultsController(
          fetchRequest: FetchRequest<Car>(where: #Predicate { $0.owner?.objectID == id }),
          context: watched))
      try lists.last?.performFetch()
    }
    try context.save()
    for person in people { Car(context: context).owner = person }
    #expect(lists.map(\.count) == Array(repeating: 1, count: 12))
    try context.save()
    #expect(lists.map(\.count) == Array(repeating: 1, count: 12))
    context.delete(people[3])
    try context.save()
    #expect(lists[3].count == 0 && lists[4].count == 1)
  }

  @Test(.evidence("U-11")) func `a predicate with a temporary ID works in an added store`() throws {
    let stores = try StoresFixture()
    let context = stores.context()
    let memo = Memo(context: context)
    memo.text = "milk"
    let id = memo.objectID
    let request = FetchRequest<Memo>(where: #Predicate { $0.objectID == id })
    let remarks = FetchRequest<Remark>(where: #Predicate { $0.memo?.objectID == id })
    Remark(context: context).memo = memo
    #expect(try context.count(for: request) == 1 && context.count(for: remarks) == 1)
    try context.save()
    #expect(try context.count(for: request) == 1 && context.count(for: remarks) == 1)
    #expect(context.object(Memo.self, with: id) === memo)
    let child = stores.child(of: context)
    #expect(try child.count(for: request) == 1)
    let other = try stores.context().existingObject(Memo.self, with: id)
    #expect(other == nil)
  }
}
