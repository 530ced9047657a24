import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests edits that a context discards when it loads relationships, because others have made the
/// same changes.
@Suite("Edits that others have also made")
struct DiscardedEditTests {
  enum Change: CaseIterable { case addition, move, deletion }

  @Test(
    .evidence("F-10"), .evidence("N-01"), .evidence("LR-01"), .evidence("LR-06"),
    arguments: Change.allCases, [false, true])
  func `do not hide an object from a fetch in a child`(change: Change, isLive: Bool) throws {
    let fixture = try GraphFixture()
    let root = fixture.context()
    let (ada, bob, car) = (Person(context: root), Person(context: root), Car(context: root))
    (ada.name, bob.name) = ("Ada", "Bob")
    try root.save()
    let child = fixture.child(of: root)
    let request = FetchRequest<Person>(where: #Predicate { $0.cars.count > 0 || $0.age == 1 })
    let cars = FetchedResultsController(fetchRequest: FetchRequest<Car>(), context: child)
    let list = FetchedResultsController(fetchRequest: request, context: child)
    if isLive {
      try cars.performFetch()
      try list.performFetch()
    }
    switch change {
    case .addition:
      let owner = child.object(Person.self, with: ada.objectID)
      child.object(Car.self, with: car.objectID).owner = owner
      car.owner = ada
    case .move:
      (ada.age, car.owner) = (1, ada)
      try root.save()
      car.owner = bob
      child.delete(child.object(Person.self, with: bob.objectID))
    case .deletion:
      ada.cars = [car]
      child.delete(child.object(Car.self, with: car.objectID))
      ada.age = 1
      root.delete(car)
    }
    if isLive { #expect(list.results.map(\.name) == ["Ada"]) }
    #expect(try child.fetch(request).map(\.name) == ["Ada"])
    #expect(try child.count(for: request) == 1)
    if isLive { #expect(list.results.map(\.name) == ["Ada"]) }
  }

  @Test(
    .evidence("C-02"), .evidence("C-05"), .evidence("N-04"), arguments: [false, true],
    [false, true])
  func `keep an object edited that others have deleted`(isRead: Bool, isInChild: Bool) throws {
    let fixture = try GraphFixture()
    let new = try fixture.saved { other in
      let (ada, bob, car) = (Person(context: other), Person(context: other), Car(context: other))
      (ada.name, bob.name, car.owner) = ("Ada", "Bob", ada)
      return (ada: ada, bob: bob, car: car)
    }
    let root = fixture.context()
    root.mergePolicy = .mergeByPropertyObjectTrump
    let context = isInChild ? fixture.child(of: root) : root
    let ada = context.object(Person.self, with: new.ada.objectID)
    #expect(ada.name == "Ada")
    let car = context.object(Car.self, with: new.car.objectID)
    car.owner = context.object(Person.self, with: new.bob.objectID)
    if isInChild {
      root.delete(root.object(Person.self, with: new.ada.objectID))
    } else {
      try fixture.change(new.ada.objectID) { $0.managedObjectContext?.delete($0) }
    }
    if isRead { #expect(ada.cars.isEmpty) }
    #expect(ada.isUpdated && context.updatedObjects.contains(ada))
    let request = FetchRequest<Person>(sort: [SortDescriptor(\.name)])
    #expect(try context.fetch(request).map(\.name) == ["Ada", "Bob"])
    try context.save()
    try root.save()
    let expected = isInChild ? ["Bob"] : ["Ada", "Bob"]
    #expect(try fixture.stored { try $0.fetch(request).map(\.name) } == expected)
  }
}
