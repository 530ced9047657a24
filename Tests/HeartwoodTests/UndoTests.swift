import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Undo")
struct UndoTests {
  @Test(.evidence("G-01"))
  func `takes back groups of changes, and does them again`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 2)
    let context = fixture.context()
    context.tracksUndo = true
    let ada: Person = context.object(with: id)
    let cars = ada.cars
    ada.age = 2
    ada.nickname = "A"
    context.endUndoGroup()
    let bob = Person(context: context)
    bob.name = "Bob"
    try #require(cars.first).owner = bob
    context.endUndoGroup()
    context.delete(ada)
    #expect(cars.count { $0.isDeleted } == 1)
    context.undo()
    #expect(!ada.isDeleted && ada.cars.count == 1 && bob.cars.count == 1)
    #expect(!cars.contains { $0.isDeleted })
    context.undo()
    #expect(ada.cars == cars && context.insertedObjects == [])
    #expect(ada.age == 2 && cars.allSatisfy { $0.owner === ada })
    context.undo()
    #expect(ada.age == 1 && ada.nickname == nil && !context.canUndo)
    context.redo()
    context.redo()
    #expect(ada.age == 2 && bob.isInserted && bob.cars.count == 1 && bob.name == "Bob")
    context.redo()
    #expect(ada.isDeleted && !context.canRedo)
    context.undo()
    ada.age = 9
    #expect(!context.canRedo)
    try context.save()
    #expect(!context.canUndo)
    #expect(try fixture.stored(id)?.age == 9)
    #expect(try fixture.stored(bob.objectID)?.cars == 1)
  }

  @Test(.evidence("G-01"))
  func `of everything leaves nothing to save`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.tracksUndo = true
    let ada: Person = context.object(with: id)
    ada.age = 2
    ada.age = 3
    context.undo()
    #expect(ada.age == 1 && !context.hasChanges && !ada.hasChanges)
    context.redo()
    #expect(ada.age == 3 && ada.isUpdated)
  }

  @Test(.evidence("G-01"))
  func `puts members back where they were`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let club = Club(context: context)
    for number in 0..<4 {
      let hall = Hall(context: context)
      hall.number = number
      hall.club = club
    }
    try context.save()
    context.tracksUndo = true
    club.halls[1].club = nil
    context.endUndoGroup()
    club.halls.swapAt(0, 1)
    #expect(club.halls.map(\.number) == [2, 0, 3])
    context.undo()
    context.undo()
    #expect(club.halls.map(\.number) == [0, 1, 2, 3] && club.halls.allSatisfy { $0.club === club })
    context.redo()
    #expect(club.halls.map(\.number) == [0, 2, 3])
    context.redo()
    #expect(club.halls.map(\.number) == [2, 0, 3])
    try context.save()
    let stored: Club = fixture.context().object(with: club.objectID)
    #expect(stored.halls.map(\.number) == [2, 0, 3])
  }
}
