import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Child contexts")
struct NestingTests {
  @Test(.evidence("N-01"))
  func `a child context sees unsaved changes of its parent`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 1)
    let parent = fixture.context()
    let ada: Person = parent.object(with: id)
    ada.age = 2
    let bob = Person(context: parent)
    bob.name = "Bob"
    Car(context: parent).owner = bob
    let child = fixture.child(of: parent)
    let people = try child.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)]))
    #expect(people.map(\.age) == [2, 0] && people.map(\.name) == ["Ada", "Bob"])
    #expect(people[0] !== ada && people[0].objectID == ada.objectID)
    #expect(people[1].objectID == bob.objectID && people[1].cars.count == 1)
    #expect(people[1].cars.first?.owner === people[1])
    #expect(!child.hasChanges)
    parent.delete(ada)
    #expect(try child.count(for: FetchRequest<Person>()) == 1)
  }

  @Test(.evidence("N-01"), .evidence("F-09"))
  func `a child context fetches later changes of its parent`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 2)
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let childObject = try #require(try child.fetch(FetchRequest<Person>()).first)
    #expect(childObject.age == 1 && childObject.cars.count == 2)
    let ada: Person = parent.object(with: id)
    (ada.age, ada.nickname) = (2, "new")
    Car(context: parent).owner = ada
    let request = FetchRequest<Person>(where: #Predicate { $0.age == 2 })
    #expect(try child.fetch(request) == [childObject])
    #expect(childObject.age == 2 && childObject.nickname == "new" && childObject.cars.count == 3)
    let names = try child.fetchValues(request, \.nickname)
    #expect(names.count == 1 && names[0] == "new")
    ada.age = 3
    try parent.save()
    #expect(try child.fetch(request).isEmpty)
    #expect(try child.fetch(FetchRequest<Person>()).map(\.age) == [3])
    childObject.nickname = "child"
    ada.nickname = "parent"
    #expect(try child.fetch(FetchRequest<Person>()).map(\.nickname) == ["child"])
  }

  @Test(.evidence("N-01"), .evidence("F-09"), .evidence("P-09"))
  func `a child context combines relationship changes of its parent with its own`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 2)
    _ = try fixture.person("Bob")
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let childObject: Person = child.object(with: id)
    #expect(childObject.cars.count == 2)
    let bob = try #require(try child.existingObject(where: \Person.name, equals: "Bob"))
    bob.age = 9
    let ada: Person = parent.object(with: id)
    ada.age = 2
    Car(context: parent).owner = ada
    for (age, count, found) in [(1, 2, []), (1, 3, []), (2, 2, []), (2, 3, [childObject])] {
      let request = FetchRequest<Person>(
        where: try QueryPredicate(
          format: "age == %d AND cars.@count == %d", arguments: [age, count]))
      #expect(try child.fetch(request) == found, "\(age), \(count)")
      #expect(try child.count(for: request) == found.count)
    }
  }

  @Test(.evidence("N-01"), .evidence("S-03"))
  func `a changed order in a child context survives rereading`() throws {
    let fixture = try GraphFixture()
    let parent = fixture.context()
    let club = Club(context: parent)
    for number in 0..<3 {
      let hall = Hall(context: parent)
      hall.number = number
      club.halls.append(hall)
    }
    try parent.save()
    let child = fixture.child(of: parent)
    let childObject: Club = child.object(with: club.objectID)
    childObject.halls.reverse()
    Hall(context: parent).club = club
    club.name = "parent"
    try child.refresh(childObject, mergeChanges: true)
    #expect(
      childObject.halls.map(\.number) == [2, 0, 1, 0]
        || childObject.halls.map(\.number) == [2, 1, 0, 0])
    #expect(childObject.name == "parent")
    try child.save()
    #expect(club.halls.map(\.number) == childObject.halls.map(\.number))
  }

  @Test(.evidence("N-02"))
  func `a child context saves to its parent only`() throws {
    let fixture = try GraphFixture()
    let ids = (try fixture.person("Ada", age: 1, cars: 2), try fixture.person("Bob"))
    let before = try fixture.container.store.snapshot().generation
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let (ada, bob): (Person, Person) = (child.object(with: ids.0), child.object(with: ids.1))
    ada.age = 5
    let moved = try #require(ada.cars.first)
    moved.owner = bob
    let club = Club(context: child)
    club.name = "club"
    club.members = [ada, bob]
    for number in 0..<3 {
      let hall = Hall(context: child)
      hall.number = number
      hall.club = club
    }
    club.halls.reverse()
    child.delete(try #require(ada.cars.first))
    #expect(!parent.hasChanges)
    try child.save()
    #expect(!child.hasChanges && parent.hasChanges)
    #expect(try fixture.container.store.snapshot().generation == before)
    let adaThere: Person = parent.object(with: ids.0)
    #expect(adaThere.age == 5 && adaThere.cars.isEmpty && adaThere.clubs.count == 1)
    #expect(adaThere.clubs.first?.halls.map(\.number) == [2, 1, 0])
    #expect(club.objectID.isTemporary)
    try parent.save()
    #expect(!club.objectID.isTemporary)
    #expect(adaThere.clubs.first?.objectID == club.objectID)
    let stored: Club = fixture.context().object(with: club.objectID)
    #expect(Set(stored.members.map(\.name)) == ["Ada", "Bob"])
    #expect(stored.halls.map(\.number) == [2, 1, 0])
    #expect(try fixture.stored(ids.0)?.cars == 0)
    #expect(try fixture.stored(ids.1)?.cars == 1)
  }

  /// Saving a child must not restore an object whose insertion its parent rolled back.
  ///
  /// The child still has the object, but restoring it would create an object without values.
  @Test(.evidence("N-04"))
  func `saving a child context does not restore objects that its parent rolled back`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let parent = fixture.context()
    let (car, other) = (Car(context: parent), Car(context: parent))
    let child = fixture.child(of: parent)
    let ada: Person = child.object(with: id)
    let (seen, alsoSeen): (Car, Car) = (
      child.object(with: car.objectID), child.object(with: other.objectID)
    )
    #expect(!seen.isFault || seen.owner == nil)
    parent.rollback()
    seen.owner = ada
    ada.age = 2
    child.delete(alsoSeen)
    try child.save()
    let adaThere: Person = parent.object(with: id)
    #expect(adaThere.age == 2 && adaThere.cars.isEmpty)
    #expect(parent.insertedObjects.isEmpty && parent.deletedObjects.isEmpty)
    #expect(parent.updatedObjects == [adaThere])
    try parent.save()
    #expect(try fixture.context().count(for: FetchRequest<Car>()) == 0)
  }

  /// If the parent later rolls back, it must restore the object without the child's changes.
  ///
  /// The object must be in the state in which the parent deleted it.
  @Test(.evidence("N-04"))
  func `saving a child context does not restore objects deleted by its parent`() throws {
    let fixture = try GraphFixture()
    let ids = (try fixture.person("Ada", age: 1, cars: 1), try fixture.person("Bob", age: 1))
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let (ada, bob): (Person, Person) = (child.object(with: ids.0), child.object(with: ids.1))
    let car = try #require(ada.cars.first)
    let carThere: Car = parent.object(with: car.objectID)
    #expect(carThere.owner?.name == "Ada")
    parent.delete(carThere)
    car.owner = bob
    bob.age = 2
    try child.save()
    let bobThere: Person = parent.object(with: ids.1)
    #expect(carThere.isDeleted && bobThere.age == 2 && bobThere.cars.isEmpty)
    parent.rollback()
    #expect(carThere.owner?.name == "Ada" && bobThere.cars.isEmpty && !parent.hasChanges)
  }

  /// The object has no row in the generation to which the parent is pinned when the child saves.
  ///
  /// The default values of a new object must be neither shown nor saved in its place.
  @Test(.evidence("N-04"))
  func `saving a child context does not change rows newer than its parent's generation`() throws {
    let fixture = try GraphFixture()
    let parent = fixture.context()
    try parent.setQueryGenerationFrom(.current)
    #expect(try parent.count(for: FetchRequest<Person>()) == 0)
    let token = try #require(parent.queryGenerationToken)
    let id = try fixture.person("Ada", age: 1)
    try parent.setQueryGenerationFrom(.current)
    let child = fixture.child(of: parent)
    let ada: Person = child.object(with: id)
    #expect(ada.name == "Ada")
    try parent.setQueryGenerationFrom(token)
    ada.age = 2
    try child.save()
    #expect(try parent.fetch(FetchRequest<Person>()).isEmpty && !parent.hasChanges)
    try parent.setQueryGenerationFrom(.current)
    let adaThere: Person = parent.object(with: id)
    #expect(adaThere.name == "Ada" && adaThere.age == 1)
  }

  /// The innermost context sees an unsaved object of the outermost context.
  @Test(.evidence("N-04"))
  func `new objects are saved through several levels of contexts`() throws {
    let fixture = try GraphFixture()
    let top = fixture.context()
    let car = Car(context: top)
    let middle = fixture.child(of: top)
    let child = fixture.child(of: middle)
    let seen: Car = child.object(with: car.objectID)
    let person = Person(context: child)
    person.name = "Ada"
    seen.owner = person
    try child.save()
    try middle.save()
    #expect(car.owner?.name == "Ada")
    try top.save()
    #expect(try fixture.context().fetch(FetchRequest<Car>()).map(\.owner?.name) == ["Ada"])
  }

  @Test(.evidence("N-02"))
  func `discarding a child context leaves no trace in its parent`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let ada: Person = child.object(with: id)
    ada.age = 7
    Person(context: child).name = "new"
    child.rollback()
    try child.save()
    #expect(ada.age == 1 && !parent.hasChanges)
  }

  @Test(.evidence("U-07"))
  func `parent and child identify an object by its early permanent ID`() throws {
    let fixture = try GraphFixture()
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let person = Person(context: child)
    person.name = "Ada"
    try child.obtainPermanentIDs(for: [person])
    let id = person.objectID
    #expect(!id.isTemporary && person.isInserted)
    try child.save()
    let original = parent.registeredObject(Person.self, for: id)
    #expect(original?.name == "Ada" && original?.isInserted == true)
    try parent.save()
    #expect(try fixture.stored(id)?.name == "Ada")
  }

  @Test(.evidence("N-01"))
  func `a child context finds objects that its parent saved after the first lookup`() throws {
    let fixture = try GraphFixture()
    let parent = fixture.context()
    let owner = Person(context: parent)
    owner.name = "Ada"
    let car = Car(context: parent)
    car.owner = owner
    try parent.obtainPermanentIDs(for: [car])
    let child = fixture.child(of: parent)
    let here: Car = child.object(with: car.objectID)
    #expect(!here.isDeleted && here.name == "")
    let people = try child.fetchBatched(FetchRequest<Person>())
    try parent.save()
    #expect(here.owner?.name == "Ada" && here.owner?.objectID == owner.objectID)
    #expect(people.map(\.name) == ["Ada"] && people.objectIDs == [owner.objectID])
  }

  @Test(.evidence("I-01")) func `relating objects deleted by others does not trap`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0) }
    let context = fixture.context()
    let people: [Person] = ids.map { context.object(with: $0) }
    let club = Club(context: context)
    let car = Car(context: context)
    for id in ids { try fixture.change(id) { $0.managedObjectContext?.delete($0) } }
    club.members = [people[0]]
    car.owner = people[1]
    try context.save()
    let other = fixture.context()
    let found: Club = other.object(with: club.objectID)
    #expect(found.members.allSatisfy { $0.name == "" && $0.isDeleted })
    let stored: Car = other.object(with: car.objectID)
    #expect(stored.owner.map { $0.name == "" && $0.isDeleted } ?? true)
  }

  @Test(.evidence("N-04"), .evidence("C-07"), arguments: MergePolicy.Each.merging, [false, true])
  func `saving a child context omits members deleted by other contexts`(
    policy: MergePolicy.Each, isMerging: Bool
  ) throws {
    let fixture = try GraphFixture(orders)
    let root = fixture.context()
    root.mergePolicy = policy.policy
    let order = Order(context: root)
    order.lines = [OrderLine(context: root), OrderLine(context: root)]
    order.pieces = [Piece(context: root)]
    order.labels = [Label(context: root)]
    try root.save()
    let child = ManagedObjectContext(parent: root)
    child.automaticallyMergesChangesFromParent = isMerging
    let childObject = child.object(Order.self, with: order.objectID)
    #expect(
      childObject.lines.count == 2 && childObject.pieces.count == 1 && childObject.labels.count == 1
    )
    let other = fixture.context()
    let theirs = other.object(Order.self, with: order.objectID)
    other.delete(theirs.lines[0])
    for piece in theirs.pieces { other.delete(piece) }
    for label in theirs.labels { other.delete(label) }
    try other.save()
    _ = try child.fetch(FetchRequest<Order>())
    let (line, piece) = (OrderLine(context: child), Piece(context: child))
    let label = Label(context: child)
    line.number = 9
    childObject.lines.append(line)
    childObject.pieces.insert(piece)
    childObject.labels.insert(label)
    try child.save()
    try root.save()
    #expect(order.lines.map(\.number) == [0, 9])
    #expect(order.pieces.count == 1 && order.labels.count == 1)
    let stored = fixture.context().object(Order.self, with: order.objectID)
    #expect(stored.lines.map(\.number) == [0, 9])
    #expect(stored.pieces.count == 1 && stored.labels.count == 1)
    #expect(try fixture.context().count(for: FetchRequest<Label>()) == 1)
  }

  @Test(.evidence("N-04"), .evidence("R-11"))
  func `a child context cannot relate objects that its parent deleted and saved`() throws {
    let fixture = try GraphFixture(orders)
    let root = fixture.context()
    let order = Order(context: root)
    try root.save()
    let child = ManagedObjectContext(parent: root)
    let childObject = child.object(Order.self, with: order.objectID)
    #expect(childObject.title == "")
    root.delete(order)
    try root.save()
    let line = OrderLine(context: child)
    line.order = childObject
    try child.save()
    let parentObject = try #require(root.insertedObjects.first as? OrderLine)
    #expect(parentObject.order == nil)
    try root.save()
    #expect(try fixture.context().fetch(FetchRequest<OrderLine>()).first?.order == nil)
  }

  @Test(.evidence("N-03")) func `a merging child shows what its parent saves`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let parent = fixture.context()
    let children = [fixture.child(of: parent), fixture.child(of: parent)]
    children[0].automaticallyMergesChangesFromParent = true
    let copies: [Person] = children.map { $0.object(with: id) }
    #expect(copies.map(\.age) == [1, 1])
    (parent.object(with: id) as Person).age = 2
    try parent.save()
    #expect(copies.map(\.age) == [2, 1])
  }

  @Test(.evidence("R-05")) func `a child cannot save a deletion that a rule denies`() throws {
    let fixture = try GraphFixture()
    let parent = fixture.context()
    let club = Club(context: parent)
    club.halls = [Hall(context: parent)]
    let child = fixture.child(of: parent)
    child.delete(child.object(Club.self, with: club.objectID))
    let error = #expect(throws: ObjectGraphError.self) { try child.save() }
    #expect(error?.kind == .deniedDelete)
  }

  @Test(.evidence("N-01")) func `a fetch in a child shows the order of its parent`() throws {
    let fixture = try GraphFixture()
    let parent = fixture.context()
    let club = Club(context: parent)
    club.halls = [Hall(context: parent), Hall(context: parent)]
    let child = fixture.child(of: parent)
    let own = try #require(try child.fetch(FetchRequest<Club>()).first)
    let before = own.halls
    club.halls.reverse()
    #expect(try child.fetch(FetchRequest<Club>()).first?.halls == before.reversed())
  }
}
