import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

@Suite("Limits of an object graph")
struct BoundaryTests {
  @Test(.evidence("F-09")) func `a fetch rereads objects that others have changed`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 1, cars: 1) }
    let context = fixture.context()
    let people: [Person] = ids.map { context.object(with: $0) }
    #expect(people.map(\.age) == [1, 1] && people.map(\.cars.count) == [1, 1])
    people[1].nickname = "mine"
    for id in ids {
      try fixture.change(id) { person in
        person.age = 2
        Car(context: person.managedObjectContext ?? context).owner = person
      }
    }
    #expect(people.map(\.age) == [1, 1])
    #expect(try context.fetch(FetchRequest<Person>()).count == 2)
    #expect(people.map(\.age) == [2, 1] && people.map(\.cars.count) == [2, 1])
  }

  @Test(.evidence("U-05"), .evidence("C-05"), arguments: [false, true])
  func `unreferenced objects without changes and rows are deallocated`(
    isMerging: Bool
  ) throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let member = CrewMember(context: writer)
    member.mentor = member
    try writer.save()
    let context = fixture.context()
    context.automaticallyMergesChangesFromParent = isMerging
    weak var weakCopy: CrewMember?
    do {
      let copy: CrewMember = context.object(with: member.objectID)
      weakCopy = copy
      #expect(copy.mentor === copy)
      copy.number = nil
      writer.delete(member)
      try writer.save()
      if !isMerging { context.refreshAllObjects() }
      #expect(try context.count(for: FetchRequest<CrewMember>()) == 0)
      #expect(!context.hasChanges)
    }
    #expect(weakCopy == nil)
  }

  @Test(.evidence("U-05")) func `cycles of related objects are released by a refresh`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", cars: 1)
    let context = fixture.context()
    weak var held: Car?
    do {
      let ada: Person = context.object(with: id)
      held = ada.cars.first
      #expect(held?.owner === ada)
    }
    #expect(held != nil && context.registeredObjects.count == 2)
    context.refreshAllObjects()
    #expect(held == nil && context.registeredObjects.isEmpty)
  }

  @Test(.evidence("U-06"), .evidence("U-09"), arguments: [false, true])
  func `loaded values outlive their context`(isReset: Bool) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 36, cars: 1)
    weak var lost: Car?
    weak var changed: Person?
    var held: Person?
    do {
      let context = fixture.container.newContext()
      let ada: Person = context.object(with: id)
      lost = ada.cars.first
      #expect(lost?.owner === ada)
      let new = Person(context: context)
      new.cars = [Car(context: context)]
      changed = new
      if isReset { context.reset() } else { held = ada }
      withExtendedLifetime(context) {}
    }
    #expect(lost == nil && changed == nil)
    #expect(isReset || (held?.name == "Ada" && held?.age == 36 && held?.objectID == id))
    #expect(held?.managedObjectContext == nil)
  }

  @Test(.spawning, .evidence("U-09"), .evidence("X-08"))
  func `using an object beyond its loaded values without a context traps`() async {
    func message(_ result: ExitTest.Result?) -> String {
      String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }
    let related = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let fixture = try GraphFixture()
      let id = try fixture.person("Ada", cars: 1)
      var context: ManagedObjectContext? = fixture.container.newContext()
      let ada = try #require(try context?.existingObject(Person.self, with: id))
      context = nil
      print(ada.cars.count)
    }
    #expect(message(related).contains("Retain the context"))
    let fault = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let fixture = try GraphFixture()
      let id = try fixture.person("Ada", cars: 1)
      var context: ManagedObjectContext? = fixture.container.newContext()
      let ada = try #require(context?.object(Person.self, with: id))
      context = nil
      print(ada.name)
    }
    #expect(message(fault).contains("Retain the context"))
  }

  @Test(.evidence("I-03")) func `a context decides how to handle a fault whose row is missing`()
    throws
  {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob", "Cid"].map { try fixture.person($0, cars: 1) }
    let context = fixture.context()
    let people: [Person] = ids.map { context.object(with: $0) }
    let cars = people[2].cars
    try fixture.change(try #require(cars.first).owner?.objectID ?? ids[2]) { person in
      for car in person.cars { person.managedObjectContext?.delete(car) }
    }
    for id in ids.prefix(2) { try fixture.change(id) { $0.managedObjectContext?.delete($0) } }
    var asked: [ManagedObject] = []
    context.shouldHandleInaccessibleFault = { fault in
      asked.append(fault)
      return fault === people[0]
    }
    // A lookup does not call the handler, and neither does a deletion that finds related rows
    // missing.
    #expect(try context.existingObject(Person.self, with: ids[1]) == nil)
    context.delete(people[2])
    #expect(asked == [] && cars.allSatisfy { $0.isDeleted })
    #expect(people[0].name == "" && people[0].isDeleted && context.faultError == nil)
    #expect(people[1].name == "" && people[1].isFault && context.faultError != nil)
    #expect(asked == [people[0], people[1]])
    context.reset()
  }

  @Test(.evidence("S-02")) func `discarding changed relationships requires force`() throws {
    let fixture = try GraphFixture()
    let ids = (try fixture.person("Ada", cars: 1), try fixture.person("Bob"))
    let context = fixture.context()
    let (ada, bob): (Person, Person) = (context.object(with: ids.0), context.object(with: ids.1))
    let car = try #require(ada.cars.first)
    car.owner = bob
    for object in [ada, bob, car] {
      let error = #expect(throws: ObjectGraphError.self) {
        try context.refresh(object, mergeChanges: false)
      }
      #expect(error?.kind == .unsavedRelationships && error?.objectID == object.objectID)
    }
    for object in [ada, bob, car] {
      try context.refresh(object, mergeChanges: false, force: true)
    }
    #expect(!context.hasChanges && car.owner === ada && ada.cars == [car] && bob.cars == [])
  }

  @Test(.evidence("R-04"), .evidence("R-07"))
  func `deleted objects are marked and cannot be used again`() throws {
    let fixture = try GraphFixture(Schema(CallbackLog.self))
    let context = fixture.context()
    let parent = CallbackLog(context: context)
    let child = CallbackLog(context: context)
    child.parent = parent
    try context.save()
    CallbackLog.notes.withLock { $0 = [] }
    context.delete(parent)
    #expect(child.isDeleted && context.deletedObjects == [parent, child])
    try context.save()
    #expect(
      CallbackLog.notes.withLock { $0 } == [
        "prepares with 1", "prepares with 0", "will save", "will save", "did save", "did save",
      ])
    #expect(try fixture.context().count(for: FetchRequest<CallbackLog>()) == 0)
    #expect(parent.isDeleted && parent.managedObjectContext == nil && !context.hasChanges)
  }

  @Test(.spawning, .evidence("R-09")) func `relationships between contexts trap`() async {
    func message(_ result: ExitTest.Result?) -> String {
      String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }
    let context = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let container = try PersistentContainer.inMemory(schema: people)
      let (first, second) = (container.newContext(), container.newContext())
      Car(context: first).owner = Person(context: second)
      withExtendedLifetime((first, second)) {}
    }
    #expect(message(context).contains("look it up in this context by its objectID"))
    let store = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let containers = try (0..<2).map { _ in try PersistentContainer.inMemory(schema: people) }
      let contexts = containers.map { $0.newContext() }
      Car(context: contexts[0]).owner = Person(context: contexts[1])
      withExtendedLifetime(contexts) {}
    }
    #expect(message(store).contains("store the URI of its objectID"))
  }

  @Test(.evidence("C-02")) func `a save that only detects conflicts creates no generation`() throws
  {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let ada = try #require(try context.existingObject(Person.self, with: id))
    context.detectConflicts(for: ada)
    let before = try fixture.container.store.snapshot().generation
    try context.save()
    #expect(try fixture.container.store.snapshot().generation == before)
  }
}

private final class CallbackLog: ManagedObject {
  @Attribute var text: String = ""
  @ToMany(inverse: \CallbackLog.parent, deleteRule: .cascade) var children: Set<CallbackLog>
  @ToOne var parent: CallbackLog?

  static let notes = Mutex<[String]>([])

  override func prepareForDeletion() {
    Self.notes.withLock { $0.append("prepares with \(children.count)") }
  }
  override func willSave() throws { Self.notes.withLock { $0.append("will save") } }
  override func didSave() {
    Self.notes.withLock { $0.append("did save") }
    // A deleted object belongs to no context, so this assignment changes only the object itself.
    text = "changed"
  }
}
