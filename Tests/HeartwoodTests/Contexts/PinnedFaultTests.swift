import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests edits of objects that have no row in the generation that their context reads.
@Suite("Edits of objects without a row")
struct PinnedFaultTests {
  enum Reading: CaseIterable { case property, fetch, lookup, refresh }

  /// A context whose generation contains Bob and a car, but neither Ada nor Ada's car.
  private struct Scene {
    let fixture: GraphFixture
    let root: ManagedObjectContext
    let context: ManagedObjectContext
    let ada: Person
    let bob: Person
    /// The car that the context's generation contains.
    let van: Car
    /// Ada's car.
    let bug: Car

    init(isInChild: Bool) throws {
      fixture = try GraphFixture()
      let writer = fixture.context()
      let van = Car(context: writer)
      van.name = "Van"
      let bobsID = try fixture.person("Bob", age: 3)
      try writer.save()
      let earlier = fixture.context()
      try earlier.setQueryGenerationFrom(.current)
      #expect(try earlier.count(for: FetchRequest<Person>()) == 1)
      let id = try fixture.person("Ada", age: 7, cars: 1)
      let reader = fixture.context()
      let bug = try #require(
        try reader.existingObject(Person.self, with: id)?.cars.first?.objectID)
      root = fixture.context()
      context = isInChild ? fixture.child(of: root) : root
      try root.setQueryGenerationFrom(earlier.queryGenerationToken)
      ada = context.object(with: id)
      bob = context.object(with: bobsID)
      self.van = context.object(with: van.objectID)
      self.bug = context.object(with: bug)
      #expect(ada.age == 0 && bob.age == 3 && self.van.name == "Van" && self.bug.name == "")
    }

    func save() throws {
      try context.save()
      if context !== root { try root.save() }
    }

    /// Expects the index over ages to contain Ada's age, and no former age.
    func expectAge(_ age: Int) throws {
      let reader = fixture.context()
      for other in [0, 5, 7, 9] {
        let found = try reader.fetch(FetchRequest<Person>(where: #Predicate { $0.age == other }))
        #expect(found.map(\.name) == (other == age ? ["Ada"] : []))
      }
    }
  }

  @Test(.evidence("QG-22"), .evidence("QG-32"), arguments: [false, true], Reading.allCases)
  func `an edit applies to the object's row in a later generation`(
    isInChild: Bool, reading: Reading
  ) throws {
    let scene = try Scene(isInChild: isInChild)
    let (context, ada) = (scene.context, scene.ada)
    ada.age = 5
    #expect(ada.isFault && ada.age == 5 && ada.cars == [])
    try scene.root.setQueryGenerationFrom(nil)
    switch reading {
    case .property: break
    case .fetch:
      let request = FetchRequest<Person>(sort: [SortDescriptor(\.name)])
      #expect(try context.fetch(request) == [ada, scene.bob])
    case .lookup: #expect(try context.existingObject(with: ada.objectID) === ada)
    case .refresh: context.refreshAllObjects()
    }
    #expect(ada.age == 5 && ada.name == "Ada" && ada.cars == [scene.bug])
    #expect(context.updatedObjects == [ada])
    ada.age = 9
    try scene.save()
    #expect(ada.age == 9 && !context.hasChanges)
    try scene.expectAge(9)
  }

  @Test(.evidence("S-07"), arguments: [false, true], [false, true])
  func `a rollback shows the values of the row`(isInChild: Bool, isRead: Bool) throws {
    let scene = try Scene(isInChild: isInChild)
    scene.ada.age = 5
    try scene.root.setQueryGenerationFrom(nil)
    if isRead { #expect(scene.ada.age == 5) }
    scene.context.rollback()
    #expect(scene.ada.age == 7 && scene.ada.name == "Ada" && !scene.context.hasChanges)
  }

  @Test(.evidence("S-02"), .evidence("S-03"), arguments: [false, true], [false, true])
  func `a refresh keeps or discards an edit`(isInChild: Bool, isPinned: Bool) throws {
    for mergesChanges in [false, true] {
      let scene = try Scene(isInChild: isInChild)
      let (context, ada) = (scene.context, scene.ada)
      ada.age = 5
      if !isPinned { try scene.root.setQueryGenerationFrom(nil) }
      try context.refresh(ada, mergeChanges: mergesChanges)
      #expect(context.hasChanges == mergesChanges && ada.isUpdated == mergesChanges)
      if isPinned { #expect(ada.age == (mergesChanges ? 5 : 0)) }
      try scene.root.setQueryGenerationFrom(nil)
      #expect(ada.age == (mergesChanges ? 5 : 7) && ada.name == "Ada")
      try scene.save()
      try scene.expectAge(mergesChanges ? 5 : 7)
    }
  }

  @Test(
    .evidence("C-02"), .evidence("C-17"),
    arguments: [
      (MergePolicy.overwrite, 5), (.mergeByPropertyObjectTrump, 5),
      (.mergeByPropertyStoreTrump, 7), (.rollback, 7),
    ])
  func `a save in the earlier generation writes at most the edits`(
    policy: MergePolicy, age: Int
  ) throws {
    let scene = try Scene(isInChild: false)
    let (context, ada) = (scene.context, scene.ada)
    ada.age = 5
    #expect(throws: ObjectGraphError.self) { try context.save() }
    context.mergePolicy = policy
    try context.save()
    #expect(!context.hasChanges && context.updatedObjects == [])
    #expect(ada.age == age && ada.name == "Ada" && ada.cars == [scene.bug])
    try scene.expectAge(age)
  }

  @Test(
    .evidence("F-03"), .evidence("QG-22"), .evidence("N-04"), arguments: [false, true],
    [false, true])
  func `a child that has saved an edit shows the values of the row`(
    isPinned: Bool, isRelated: Bool
  ) throws {
    let scene = try Scene(isInChild: true)
    let (child, ada) = (scene.context, scene.ada)
    if isRelated { scene.van.owner = ada } else { ada.age = 5 }
    if !isPinned { try scene.root.setQueryGenerationFrom(nil) }
    try child.save()
    #expect(!child.hasChanges && !ada.isUpdated && scene.root.hasChanges == !isPinned)
    if isPinned { #expect(ada.isFault && ada.age == 0 && scene.van.owner == nil) }
    try scene.root.setQueryGenerationFrom(nil)
    _ = try child.fetch(FetchRequest<Person>())
    let age = isPinned || isRelated ? 7 : 5
    #expect(ada.name == "Ada" && ada.age == age)
    #expect(ada.cars == (isPinned || !isRelated ? [scene.bug] : [scene.bug, scene.van]))
    try scene.root.save()
    try scene.expectAge(age)
    #expect(try scene.fixture.stored(ada.objectID)?.cars == ada.cars.count)
  }

  @Test(.evidence("F-15"), .evidence("QG-22"), arguments: [false, true], ["Ada", "", "Eve"])
  func `a lookup finds an edited object by the value in its row`(
    isInChild: Bool, name: String
  ) throws {
    let scene = try Scene(isInChild: isInChild)
    let (context, ada) = (scene.context, scene.ada)
    if name == "Eve" { ada.name = name } else { ada.age = 5 }
    #expect(try context.existingObject(where: \Person.name, equals: "Ada") == nil)
    try scene.root.setQueryGenerationFrom(nil)
    let wanted: Person? = name.isEmpty ? nil : ada
    #expect(try context.existingObject(where: \Person.name, equals: name) === wanted)
    let request = FetchRequest<Person>(where: #Predicate { $0.name == name })
    #expect(try context.fetch(request) == (name.isEmpty ? [] : [ada]))
    let former: Person? = name == "Eve" ? nil : ada
    #expect(try context.existingObject(where: \Person.name, equals: "Ada") === former)
  }

  @Test(.evidence("G-01"), .evidence("G-02"), arguments: [false, true], [false, true])
  func `an undo reverts edits and a redo makes them again`(
    isInChild: Bool, isRedone: Bool
  ) throws {
    let scene = try Scene(isInChild: isInChild)
    let (context, ada, bob) = (scene.context, scene.ada, scene.bob)
    let (van, bug) = (scene.van, scene.bug)
    context.tracksUndo = true
    ada.age = 5
    van.owner = ada
    bug.owner = bob
    context.undo()
    #expect(!context.hasChanges && ada.age == 0 && ada.cars == [] && bob.cars == [])
    #expect(van.owner == nil && bug.owner == nil)
    if isRedone {
      context.redo()
      #expect(ada.age == 5 && ada.cars == [van] && van.owner === ada)
      // The redo omits a member that the generation lacks.
      #expect(bob.cars == [] && bug.owner == nil)
    }
    try scene.root.setQueryGenerationFrom(nil)
    #expect(ada.name == "Ada")
    try scene.save()
    try scene.expectAge(isRedone ? 5 : 7)
    let reader = scene.fixture.context()
    let cars = try reader.fetch(FetchRequest<Car>(sort: [SortDescriptor(\.name)]))
    #expect(cars.map(\.owner?.name) == (isRedone ? ["Ada", "Ada"] : ["Ada", nil]))
  }

  @Test(.evidence("C-02"), .evidence("I-01"), arguments: MergePolicy.Each.allCases, [false, true])
  func `a save in the earlier generation writes no row for an object that has none`(
    policy: MergePolicy.Each, isRelated: Bool
  ) throws {
    let scene = try Scene(isInChild: false)
    let (context, ada) = (scene.context, scene.ada)
    if isRelated { scene.van.owner = ada } else { ada.age = 5 }
    try scene.fixture.change(ada.objectID) { $0.managedObjectContext?.delete($0) }
    context.mergePolicy = policy.policy
    if policy == .error {
      #expect(throws: ObjectGraphError.self) { try context.save() }
    } else {
      try context.save()
      #expect(!context.hasChanges && ada.isDeleted && scene.van.owner == nil)
    }
    #expect(try scene.fixture.context().fetch(FetchRequest<Person>()).map(\.name) == ["Bob"])
  }

  @Test(.evidence("QG-22"), .evidence("C-06"), arguments: [false, true])
  func `edits of relationships are combined with those of the row`(isInChild: Bool) throws {
    let scene = try Scene(isInChild: isInChild)
    let (ada, bob, van, bug) = (scene.ada, scene.bob, scene.van, scene.bug)
    bug.owner = bob
    van.owner = ada
    #expect(ada.cars == [van] && bob.cars == [bug])
    try scene.root.setQueryGenerationFrom(nil)
    scene.context.refreshAllObjects()
    #expect(bug.owner === bob && van.owner === ada)
    #expect(ada.cars == [van] && bob.cars == [bug] && ada.name == "Ada")
    try scene.save()
    #expect(ada.cars == [van] && bob.cars == [bug])
    let reader = scene.fixture.context()
    let cars = try reader.fetch(FetchRequest<Car>(sort: [SortDescriptor(\.name)]))
    #expect(cars.map(\.name) == ["Ada's car 0", "Van"])
    #expect(cars.map(\.owner?.name) == ["Bob", "Ada"])
    #expect(cars.map(\.owner?.cars.count) == [1, 1])
  }

  @Test(.evidence("QG-30"), .evidence("QG-32"), arguments: [false, true])
  func `members are read again once there is a row`(isInChild: Bool) throws {
    let scene = try Scene(isInChild: isInChild)
    #expect(scene.ada.cars == [] && scene.ada.isFault)
    try scene.root.setQueryGenerationFrom(nil)
    #expect(scene.ada.name == "Ada" && scene.ada.cars == [scene.bug])
    #expect(!scene.context.hasChanges)
  }

  @Test(.evidence("I-01"), .evidence("S-07"), arguments: [false, true], [false, true])
  func `an edited object is treated as deleted if no later generation contains its row`(
    isInChild: Bool, isRolledBack: Bool
  ) throws {
    let scene = try Scene(isInChild: isInChild)
    let (context, ada) = (scene.context, scene.ada)
    ada.age = 5
    try scene.fixture.change(ada.objectID) { $0.managedObjectContext?.delete($0) }
    try scene.root.setQueryGenerationFrom(nil)
    #expect(try context.fetch(FetchRequest<Person>()) == [scene.bob])
    #expect(ada.name == "" && ada.isDeleted)
    #expect(context.updatedObjects == [] && context.deletedObjects == [ada])
    if isRolledBack {
      context.rollback()
      #expect(context.deletedObjects == [] && ada.age == 0 && ada.isDeleted)
    }
    scene.root.mergePolicy = .overwrite
    scene.bob.age = 4
    try scene.save()
    #expect(try scene.fixture.context().fetch(FetchRequest<Person>()).map(\.age) == [4])
  }

  @Test(.evidence("I-01"), .evidence("S-07"), arguments: [false, true])
  func `an edit of an object whose row exists again applies to the row`(
    isRolledBack: Bool
  ) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let (context, other) = (fixture.context(), fixture.context())
    let ada: Person = context.object(with: id)
    try #require(try other.existingObject(Person.self, with: id)).age = 7
    try fixture.change(id) { $0.managedObjectContext?.delete($0) }
    #expect(ada.name == "" && ada.isDeleted)
    ada.age = 5
    // The other context still has an unsaved change to the object, so its save restores the row.
    other.mergePolicy = .overwrite
    try other.save()
    #expect(try context.fetch(FetchRequest<Person>()) == [ada])
    #expect(ada.age == 5 && ada.name == "Ada" && context.updatedObjects == [ada])
    if isRolledBack {
      context.rollback()
      #expect(ada.age == 7)
    } else {
      ada.age = 9
    }
    try context.save()
    #expect(!context.hasChanges)
    for age in [0, 1, 5, 7, 9] {
      let count = try context.count(for: FetchRequest<Person>(where: #Predicate { $0.age == age }))
      #expect(count == (age == (isRolledBack ? 7 : 9) ? 1 : 0))
    }
  }
}
