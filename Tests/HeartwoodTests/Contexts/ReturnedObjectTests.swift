import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Objects restored in a parent context")
struct ReturnedObjectTests {
  enum Return: CaseIterable { case rollback, undo, insertion }
  enum Use: CaseIterable { case fetch, lookup, uniqueValue, count, onlySave }

  private let fixture: GraphFixture
  private let parent: ManagedObjectContext
  private let id: ManagedObjectID
  private let other: ManagedObjectID

  init() throws {
    fixture = try GraphFixture()
    id = try fixture.person("Ada", age: 1, cars: 1)
    other = try fixture.person("Bob")
    parent = fixture.context()
    parent.tracksUndo = true
  }

  /// Deletes Ada in the parent, calls `body`, and reverts the deletion.
  private func withoutAda(_ revert: Return, _ body: () throws -> Void) throws {
    let ada = try #require(try parent.existingObject(Person.self, with: id))
    parent.delete(ada)
    try body()
    switch revert {
    case .rollback: parent.rollback()
    case .undo: parent.undo()
    case .insertion: parent.insert(ada)
    }
    #expect(!ada.isDeleted)
  }

  @Test(
    .evidence("I-01"), .evidence("N-01"), .evidence("N-04"), .evidence("F-10"),
    arguments: Return.allCases, Use.allCases)
  func `an object restored in the parent is found by its child and not deleted by the child's save`(
    revert: Return, use: Use
  ) throws {
    let child = fixture.child(of: parent)
    let ada: Person = child.object(with: id)
    let bob: Person = child.object(with: other)
    try withoutAda(revert) { #expect(ada.name == "" && ada.isDeleted) }
    bob.age = 9
    switch use {
    case .fetch:
      #expect(Set(try child.fetch(FetchRequest<Person>())) == [ada, bob])
      #expect(ada.name == "Ada" && !ada.isDeleted)
    case .lookup: #expect(try child.existingObject(Person.self, with: id) === ada)
    case .uniqueValue:
      #expect(try child.existingObject(where: \Person.name, equals: "Ada") === ada)
    case .count:
      let owned = FetchRequest<Car>(where: #Predicate { $0.owner?.name == "Ada" })
      #expect(try child.count(for: FetchRequest<Person>()) == 2)
      // Inserting Ada again does not revert the deletion of her car.
      #expect(try child.count(for: owned) == (revert == .insertion ? 0 : 1))
    case .onlySave: break
    }
    try child.save()
    #expect(parent.deletedObjects.filter { $0 is Person } == [])
    #expect(ada.managedObjectContext === child && ada.name == "Ada" && ada.age == 1)
    try parent.save()
    #expect(try fixture.stored(id)?.name == "Ada")
    #expect(try fixture.stored(other)?.age == 9)
  }

  @Test(.evidence("F-15"), .evidence("N-04"))
  func `lookups in a child take no longer after many deletions`() throws {
    let fixture = try GraphFixture(purchases)
    let count = TestScale.pick(quick: 4000, all: 16_000)
    try fixture.saved { context in
      for number in 0...count { Sticker(context: context).name = "\(number)" }
    }
    let child = fixture.child(of: fixture.context())
    let stickers = try child.fetch(FetchRequest<Sticker>())
    func lookUp() throws -> Double {
      try ThreadTime.seconds {
        for number in 0..<500 {
          let found = try child.existingObject(where: \Sticker.name, equals: "none \(number)")
          #expect(found == nil)
        }
      }
    }
    child.delete(stickers[count])
    let before = try lookUp()
    for sticker in stickers.dropLast() { child.delete(sticker) }
    #expect(try lookUp() < 5 * before + 0.05)
    #expect(child.deletedObjects.count == count + 1)
  }

  @Test(.evidence("I-01"), .evidence("N-04"))
  func `an object that the outermost context has again is found in an inner child`() throws {
    let middle = fixture.child(of: parent)
    let child = fixture.child(of: middle)
    let (ada, outer): (Person, Person) = (child.object(with: id), middle.object(with: id))
    try withoutAda(.rollback) { #expect(ada.isFault && ada.name == "" && outer.isDeleted) }
    #expect(try child.existingObject(Person.self, with: id) === ada)
    #expect(ada.name == "Ada" && outer.name == "Ada")
    ada.age = 2
    try child.save()
    try middle.save()
    try parent.save()
    #expect(try fixture.stored(id)?.age == 2)
  }

  @Test(.evidence("N-02"), .evidence("R-05"))
  func `a rule does not deny saving a child that saw an object as deleted`() throws {
    let club = Club(context: parent)
    club.halls = [Hall(context: parent)]
    try parent.save()
    let child = fixture.child(of: parent)
    let own: Club = child.object(with: club.objectID)
    parent.delete(club)
    #expect(own.name == "" && own.isDeleted)
    parent.rollback()
    child.object(Person.self, with: other).age = 3
    try child.save()
    #expect(!club.isDeleted && !own.isDeleted && own.halls.count == 1)
  }
}
