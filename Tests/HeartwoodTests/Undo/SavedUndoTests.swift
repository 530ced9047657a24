import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Undo across saves")
struct SavedUndoTests {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext

  init() throws {
    fixture = try GraphFixture()
    context = fixture.context()
    context.tracksUndo = true
  }

  private func stored() throws -> [String: (age: Int, cars: Int)] {
    let people = try fixture.context().fetch(FetchRequest<Person>())
    return Dictionary(uniqueKeysWithValues: people.map { ($0.name, ($0.age, $0.cars.count)) })
  }

  @Test(.evidence("G-01")) func `redoing nothing does not end the current group`() throws {
    let ada = Person(context: context)
    ada.name = "Ada"
    try context.save()
    ada.nickname = "A"
    context.redo()
    ada.age = 5
    context.undo()
    #expect(ada.nickname == nil && ada.age == 0 && context.canRedo)
    context.redo()
    #expect(ada.nickname == "A" && ada.age == 5)
  }

  @Test(.evidence("G-03")) func `reverts values, insertions and relationships that were saved`()
    throws
  {
    let ada = Person(context: context)
    ada.name = "Ada"
    try context.save()
    ada.age = 1
    try context.save()
    let car = Car(context: context)
    car.owner = ada
    ada.age = 2
    try context.save()
    #expect(context.canUndo && !context.hasChanges)
    context.undo()
    #expect(ada.age == 1 && ada.cars.isEmpty && car.isDeleted && context.hasChanges)
    try context.save()
    #expect(try stored()["Ada"]?.age == 1 && stored()["Ada"]?.cars == 0)
    #expect(try fixture.context().count(for: FetchRequest<Car>()) == 0)
    context.undo()
    #expect(ada.age == 0)
    context.redo()
    context.redo()
    #expect(ada.age == 2 && ada.cars == [car] && car.isInserted && car.owner === ada)
    try context.save()
    #expect(try stored()["Ada"]?.age == 2 && stored()["Ada"]?.cars == 1)
    while context.canUndo { context.undo() }
    try context.save()
    #expect(try stored().isEmpty)
    while context.canRedo { context.redo() }
    try context.save()
    #expect(try stored()["Ada"]?.age == 2 && stored()["Ada"]?.cars == 1)
  }

  @Test(.evidence("G-03")) func `inserts an object again whose deletion was saved`() throws {
    let ada = Person(context: context)
    (ada.name, ada.age) = ("Ada", 36)
    let cars = (0..<3).map { _ in Car(context: context) }
    for car in cars { car.owner = ada }
    try context.save()
    let id = ada.objectID
    context.delete(ada)
    try context.save()
    let other = fixture.context()
    #expect(try other.existingObject(Person.self, with: id) == nil)
    context.undo()
    #expect(ada.isInserted && ada.name == "Ada" && ada.age == 36 && ada.objectID != id)
    #expect(Set(ada.cars) == Set(cars) && cars.allSatisfy { $0.owner === ada })
    try context.save()
    #expect(try stored()["Ada"]?.age == 36 && stored()["Ada"]?.cars == 3)
    #expect(try other.existingObject(Person.self, with: id) == nil)
    context.redo()
    try context.save()
    #expect(try stored().isEmpty)
  }

  @Test(.evidence("G-03"), arguments: [true, false])
  func `restores a relationship of two objects whose rule denied their deletion`(
    isTeamFirst: Bool
  ) throws {
    let fixture = try GraphFixture(crew)
    let context = fixture.context()
    context.tracksUndo = true
    let (team, job) = (CrewTeam(context: context), CrewJob(context: context))
    team.reserved = [job]
    try context.save()
    for object in isTeamFirst ? [team, job] : [job, team] { context.delete(object) }
    try context.save()
    context.undo()
    #expect(team.reserved == [job] && job.reserve === team)
    try context.save()
    let stored = try #require(try fixture.context().fetch(FetchRequest<CrewTeam>()).first)
    #expect(stored.reserved.map(\.objectID) == [job.objectID])
    context.redo()
    try context.save()
    #expect(try fixture.context().count(for: FetchRequest<CrewTeam>()) == 0)
  }

  @Test(.evidence("G-03")) func `restores a relationship that the delete rule left in place`()
    throws
  {
    let fixture = try GraphFixture(Schema(Shelf.self))
    let context = fixture.context()
    context.tracksUndo = true
    let (shelf, jar) = (Shelf(context: context), Jar(context: context))
    shelf.jars = [jar]
    try context.save()
    #expect(shelf.jars.count == 1)
    context.delete(shelf)
    try context.save()
    context.undo()
    try context.save()
    #expect(shelf.jars == [jar] && jar.shelf === shelf)
    let stored = try #require(try fixture.context().fetch(FetchRequest<Jar>()).first)
    #expect(stored.shelf?.objectID == shelf.objectID)
  }

  @Test(.evidence("G-03")) func `restores references that have no inverse`() throws {
    let fixture = try GraphFixture(Schema(Tin.self))
    let context = fixture.context()
    context.tracksUndo = true
    let (first, second) = (Tin(context: context), Tin(context: context))
    (first.code, second.code, second.text) = ("1", "2", "kept")
    first.other = second
    try context.save()
    context.delete(second)
    try context.save()
    context.undo()
    try context.save()
    #expect(first.other === second)
    let stored = try #require(
      try fixture.context().existingObject(where: \Tin.code, equals: "1"))
    #expect(stored.other?.text == "kept")
    context.redo()
    try context.save()
    #expect(try fixture.context().count(for: FetchRequest<Tin>()) == 1)
  }

  @Test(.evidence("G-03"), arguments: [true, false])
  func `restores the values of an object that was refreshed after its deletion`(
    isChild: Bool
  ) throws {
    let fixture = try GraphFixture(Schema(Tin.self))
    let parent = fixture.context()
    let original = Tin(context: parent)
    (original.code, original.text) = ("1", "kept")
    try parent.save()
    let context = isChild ? ManagedObjectContext(parent: parent) : parent
    context.tracksUndo = true
    let tin = try #require(try context.existingObject(Tin.self, with: original.objectID))
    context.delete(tin)
    context.refreshAllObjects()
    try context.save()
    context.undo()
    #expect(tin.text == "kept" && tin.code == "1")
    try context.save()
    if isChild { try parent.save() }
    #expect(try fixture.context().fetch(FetchRequest<Tin>()).map(\.text) == ["kept"])
  }

  @Test(.evidence("G-03")) func `ends when a save merges a new object into an existing row`() throws
  {
    let fixture = try GraphFixture(Schema(Tin.self))
    let (context, others) = (fixture.context(), fixture.context())
    let theirs = Tin(context: others)
    (theirs.code, theirs.text) = ("1", "theirs")
    try others.save()
    context.tracksUndo = true
    context.mergePolicy = .mergeByPropertyObjectTrump
    let mine = Tin(context: context)
    mine.code = "1"
    try context.save()
    #expect(mine.text == "theirs" && !context.canUndo)
  }

  @Test(.evidence("G-03")) func `reverts a reference that was changed between two saves`() throws {
    let (ada, bob) = (Person(context: context), Person(context: context))
    (ada.name, bob.name) = ("Ada", "Bob")
    let car = Car(context: context)
    car.owner = ada
    try context.save()
    car.owner = bob
    try context.save()
    context.undo()
    #expect(car.owner === ada && ada.cars == [car] && bob.cars.isEmpty)
    try context.save()
    #expect(try stored()["Ada"]?.cars == 1 && stored()["Bob"]?.cars == 0)
  }

  @Test(.evidence("G-03"), .evidence("C-11"))
  func `merges all attributes of an object into a row that others have inserted`() throws {
    let fixture = try GraphFixture(Schema(Tin.self))
    let context = fixture.context()
    context.tracksUndo = true
    context.mergePolicy = .mergeByPropertyObjectTrump
    let tin = Tin(context: context)
    (tin.code, tin.text) = ("1", "mine")
    try context.save()
    context.delete(tin)
    try context.save()
    try fixture.saved { other in
      let theirs = Tin(context: other)
      (theirs.code, theirs.text) = ("1", "theirs")
    }
    context.undo()
    try context.save()
    #expect(tin.text == "mine")
    #expect(try fixture.context().fetch(FetchRequest<Tin>()).map(\.text) == ["mine"])
  }

  @Test(.evidence("G-03")) func `does not call callbacks of new objects again`() throws {
    let fixture = try GraphFixture(Schema(Waking.self))
    let context = fixture.context()
    let object = Waking(context: context)
    object.text = "set"
    try context.save()
    let other = fixture.context()
    other.tracksUndo = true
    let same = try #require(try other.fetch(FetchRequest<Waking>()).first)
    // Deleting a fault first loads its values.
    try other.refresh(same, mergeChanges: false)
    other.delete(same)
    try other.save()
    other.undo()
    #expect(same.text == "set" && same.isInserted)
    try other.save()
    #expect(try fixture.context().fetch(FetchRequest<Waking>()).map(\.text) == ["set"])
  }

  @Test(.evidence("G-03")) func `keeps a limited number of groups, each with its name`() throws {
    let ada = Person(context: context)
    try context.save()
    context.undoLimit = 3
    for age in 1...5 {
      ada.age = age
      context.undoActionName = "Set \(age)"
      #expect(context.undoActionName == "Set \(age)")
      try context.save()
    }
    #expect(context.undoActionName == "Set 5" && context.redoActionName == nil)
    context.undo()
    #expect(context.undoActionName == "Set 4" && context.redoActionName == "Set 5")
    context.undo()
    context.undo()
    #expect(!context.canUndo && ada.age == 2 && context.undoActionName == nil)
    context.redo()
    #expect(ada.age == 3 && context.undoActionName == "Set 3")
    context.undoLimit = 0
    #expect(!context.canUndo)
  }

  @Test(.evidence("G-03")) func `ends with a rollback, a reset or a save that discards it`() throws
  {
    let ada = Person(context: context)
    try context.save()
    context.rollback()
    #expect(!context.canUndo)
    ada.age = 1
    try context.save()
    context.discardsUndoOnSave = true
    ada.age = 2
    try context.save()
    #expect(!context.canUndo)
  }

  @Test(.evidence("G-05")) func `reverts what a child has saved as one group of its parent`() throws
  {
    let ada = Person(context: context)
    let child = ManagedObjectContext(parent: context)
    let own = child.object(Person.self, with: ada.objectID)
    own.age = 5
    own.name = "Ada"
    Car(context: child).owner = own
    try child.save()
    ada.age = 6
    context.undo()
    #expect(ada.age == 5 && ada.name == "Ada" && ada.cars.count == 1)
    context.undo()
    #expect(ada.age == 0 && ada.name == "" && ada.cars.isEmpty && ada.isInserted)
    context.undo()
    #expect(!ada.isInserted && !context.canUndo)
  }

  @Test(.evidence("G-03")) func `reverts what a child context has saved to its parent`() throws {
    let ada = Person(context: context)
    ada.name = "Ada"
    try context.save()
    let child = ManagedObjectContext(parent: context)
    child.tracksUndo = true
    let own = child.object(Person.self, with: ada.objectID)
    own.age = 5
    let car = Car(context: child)
    car.owner = own
    try child.save()
    #expect(ada.age == 5 && ada.cars.count == 1)
    child.undo()
    try child.save()
    #expect(ada.age == 0 && ada.cars.isEmpty)
    try context.save()
    #expect(try stored()["Ada"]?.cars == 0)
    child.redo()
    try child.save()
    try context.save()
    #expect(try stored()["Ada"]?.age == 5 && stored()["Ada"]?.cars == 1)
  }

  @MainActor @Test(.evidence("G-04"))
  func `groups the changes of an event`() async throws {
    let container = try PersistentContainer.inMemory(schema: people)
    let context = container.viewContext
    context.tracksUndo = true
    context.groupsUndoByEvent = true
    var began = 0
    context.undoGroupBegan = { began += 1 }
    let ada = Person(context: context)
    (ada.name, ada.age) = ("Ada", 1)
    #expect(began == 1)
    while began == 1 {
      await Task.yield()
      ada.age += 1
    }
    let age = ada.age
    context.undo()
    #expect(ada.age == age - 1 && ada.name == "Ada" && context.canUndo)
    context.undo()
    #expect(!ada.isInserted && !context.canUndo)

    let background = container.newBackgroundContext()
    let groups = try await background.perform { context in
      context.tracksUndo = true
      context.groupsUndoByEvent = true
      let eve = Person(context: context)
      eve.age = 1
      return context.registeredObjects.count
    }
    #expect(groups == 1)
    try await background.perform { context in
      let eve = try #require(context.insertedObjects.first as? Person)
      eve.age = 2
      context.undo()
      #expect(eve.age == 1 && eve.isInserted && context.canUndo)
    }
  }
}

private final class Tin: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute var text: String = ""
  /// A relationship without an inverse.
  @ToOne var other: Tin?
}

private final class Shelf: ManagedObject {
  @ToMany(inverse: \Jar.shelf, deleteRule: .noAction) var jars: Set<Jar>
}

private final class Jar: ManagedObject {
  @ToOne var shelf: Shelf?
}

private final class Waking: ManagedObject {
  @Attribute var text: String = ""

  override func awakeFromInsert() { text = "new" }
}
