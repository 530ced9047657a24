import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Detection of unsaved changes")
struct UnsavedChangesTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext

  init() throws {
    fixture = try GraphFixture(crates)
    context = fixture.context()
  }

  @Test(.evidence("C-05"), .evidence("F-09"))
  func `setting a property to its value is not a change`() throws {
    let crate = Crate(context: context)
    crate.number = 5
    try context.save()
    crate.number = 5
    #expect(!context.hasChanges)
    #expect(context.updatedObjects == [])
    try fixture.saved { try $0.existingObject(Crate.self, with: crate.objectID)?.text = "new" }
    let token = try fixture.container.currentHistoryToken
    #expect(try context.fetch(FetchRequest<Crate>()).map(\.text) == ["new"])
    #expect(!context.hasChanges)
    try context.save()
    #expect(try fixture.container.currentHistoryToken == token)
  }

  @Test(.evidence("I-01"))
  func `reading an object that others have deleted is not a change`() throws {
    let crate = Crate(context: context)
    crate.number = 5
    try context.save()
    try fixture.saved { others in
      others.delete(try #require(try others.existingObject(Crate.self, with: crate.objectID)))
    }
    context.refreshAllObjects()
    #expect(crate.number == 0 && crate.isDeleted)
    #expect(!context.hasChanges && context.deletedObjects == [crate])
  }

  @Test(.evidence("N-03"))
  func `a save leaves no changes if a child with edits merges it`() throws {
    let crate = Crate(context: context)
    try context.save()
    let child = fixture.child(of: context)
    child.automaticallyMergesChangesFromParent = true
    let childCrate = try #require(try child.existingObject(Crate.self, with: crate.objectID))
    childCrate.text = "edited"
    context.delete(crate)
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test(.evidence("C-05"), .evidence("N-01"))
  func `a child's assignment of its parent's value is not a change in the parent`() throws {
    let crate = Crate(context: context)
    try context.save()
    let child = fixture.child(of: context)
    let childCrate = try #require(try child.existingObject(Crate.self, with: crate.objectID))
    #expect(childCrate.number == 0)
    crate.number = 5
    try context.save()
    context.tracksUndo = true
    childCrate.number = 5
    #expect(childCrate.isUpdated)
    try child.save()
    #expect(!crate.isUpdated && !context.canUndo)
  }

  @Test(.evidence("C-05"), .evidence("S-03"))
  func `a refresh drops an assignment of the current value`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let ada: Person = context.object(with: id)
    ada.age = 1
    try fixture.change(id) { $0.age = 2 }
    try context.refresh(ada, mergeChanges: true)
    #expect(ada.age == 2 && !context.hasChanges)
  }

  @Test(.evidence("S-03"), .evidence("S-07"))
  func `a rollback after a refresh returns to the values of the refresh`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let ada: Person = context.object(with: id)
    ada.age = 10
    try fixture.change(id) { $0.age = 20 }
    try context.refresh(ada, mergeChanges: true)
    #expect(ada.age == 10)
    context.rollback()
    #expect(ada.age == 20)
  }

  @Test(.evidence("S-02"))
  func `a forced refresh reverts both sides of a one-to-one relationship`() throws {
    let fixture = try GraphFixture()
    let (hall, keeper) = try fixture.saved { context in
      (Hall(context: context), Keeper(context: context))
    }
    let context = fixture.context()
    let (ownHall, ownKeeper): (Hall, Keeper) = (
      context.object(with: hall.objectID), context.object(with: keeper.objectID)
    )
    ownHall.keeper = ownKeeper
    try context.refresh(ownHall, mergeChanges: false, force: true)
    #expect(!ownKeeper.hasChanges && !context.hasChanges && ownKeeper.hall == nil)
  }

  @Test(.evidence("G-01")) func `edits made before a deletion survive undoing it`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.tracksUndo = true
    let ada: Person = context.object(with: id)
    ada.age = 2
    context.endUndoGroup()
    context.delete(ada)
    context.undo()
    #expect(context.updatedObjects == [ada])
    try context.save()
    #expect(try fixture.stored(id)?.age == 2)
  }

  @Test(.evidence("R-06"))
  func `deleting a new object ends relationships whose rule denies the deletion`() throws {
    let fixture = try GraphFixture()
    let hall = try fixture.saved { Hall(context: $0) }
    let context = fixture.context()
    let ownHall: Hall = context.object(with: hall.objectID)
    let club = Club(context: context)
    club.halls = [ownHall]
    context.delete(club)
    #expect(ownHall.club == nil)
  }

  @Test(.evidence("D-01")) func `a fetch keeps a derived value that was set`() throws {
    let fixture = try GraphFixture(purchases)
    try fixture.saved { Purchase(context: $0).number = 7 }
    let context = fixture.context()
    let order = try #require(try context.fetch(FetchRequest<Purchase>()).first)
    order.lineCount = 99
    #expect(try context.fetch(FetchRequest<Purchase>()).map(\.lineCount) == [99])
  }

  @Test(.evidence("R-14")) func `the list of a new object is stored in its last order`() throws {
    let fixture = try GraphFixture()
    try fixture.saved { context in
      let club = Club(context: context)
      for number in 1...3 {
        let hall = Hall(context: context)
        hall.number = number
        club.halls.append(hall)
      }
      club.halls.reverse()
    }
    let club = try #require(try fixture.context().fetch(FetchRequest<Club>()).first)
    #expect(club.halls.map(\.number) == [3, 2, 1])
  }

  @Test(.evidence("P-09")) func `an update keeps the index entries of other values`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    try fixture.change(id) { $0.nickname = "A" }
    let context = fixture.context()
    let request = FetchRequest<Person>(where: #Predicate { $0.age == 1 })
    #expect(try context.existingObject(where: \Person.name, equals: "Ada")?.objectID == id)
    #expect(try context.count(for: request) == 1)
  }
}
