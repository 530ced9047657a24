import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Two contexts that change the same object")
struct ConflictTests {
  /// Returns the stored values after two contexts have changed the same person.
  ///
  /// The first context saves with the given policy after the second context has saved its changes.
  private func outcome(_ policy: MergePolicy) throws -> (name: String, age: Int, nickname: String?)
  {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.mergePolicy = policy
    let mine: Person = context.object(with: id)
    mine.age = 10
    mine.nickname = "mine"
    try fixture.change(id) {
      $0.age = 20
      $0.name = "Theirs"
    }
    try context.save()
    let stored: Person = try #require(try fixture.context().existingObject(with: id))
    #expect((mine.name, mine.age) == (stored.name, stored.age))
    #expect(mine.nickname == stored.nickname && !context.hasChanges)
    return (stored.name, stored.age, stored.nickname)
  }

  @Test(.evidence("C-02")) func `conflicts throw by default`() throws {
    let error = try #require(throws: ObjectGraphError.self) { try outcome(.error) }
    #expect(error.kind == .mergeConflict)
  }

  @Test(.evidence("C-02")) func `conflicts merge by property`() throws {
    #expect(try outcome(.mergeByPropertyObjectTrump) == ("Theirs", 10, "mine"))
    #expect(try outcome(.mergeByPropertyStoreTrump) == ("Theirs", 20, "mine"))
  }

  @Test(.evidence("C-02")) func `conflicts overwrite or roll back by policy`() throws {
    #expect(try outcome(.overwrite) == ("Ada", 10, "mine"))
    #expect(try outcome(.rollback) == ("Theirs", 20, nil))
  }

  @Test(.evidence("C-02")) func `a custom policy resolves conflicts`() throws {
    let policy = MergePolicy.custom { conflict in
      guard case .integer(let mine)? = conflict.mine["age"],
        case .integer(let theirs)? = conflict.theirs?["age"],
        case .integer(let base)? = conflict.base["age"],
        // This context has not changed the name, so `mine` contains the value that was read.
        conflict.base["name"] == .string("Ada"), conflict.mine["name"] == .string("Ada")
      else { return }
      conflict.result["age"] = .integer(mine + theirs - base)
    }
    #expect(try outcome(policy) == ("Theirs", 29, "mine"))
  }

  /// Returns whether a row that one context deleted exists after another context has changed it.
  private func survives(_ policy: MergePolicy) throws -> Bool {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.mergePolicy = policy
    let mine: Person = context.object(with: id)
    mine.age = 10
    try fixture.change(id) { $0.managedObjectContext?.delete($0) }
    try context.save()
    let stored = try fixture.stored(id)
    #expect(stored == nil ? mine.isDeleted : stored?.age == 10)
    return stored != nil
  }

  @Test(.evidence("C-02")) func `a deleted row is restored if the object trumps`() throws {
    #expect(throws: ObjectGraphError.self) { try survives(.error) }
    #expect(try survives(.mergeByPropertyObjectTrump))
    #expect(try survives(.overwrite))
    #expect(try !survives(.mergeByPropertyStoreTrump))
    #expect(try !survives(.rollback))
  }

  /// Returns whether a row that one context changed is deleted after another context has deleted
  /// it.
  private func isGone(_ policy: MergePolicy) throws -> Bool {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.mergePolicy = policy
    let mine: Person = context.object(with: id)
    #expect(mine.age == 1)
    context.delete(mine)
    try fixture.change(id) { $0.age = 2 }
    try context.save()
    let stored = try fixture.stored(id)
    #expect(stored == nil ? mine.isDeleted : !mine.isDeleted && mine.age == 2)
    return stored == nil
  }

  @Test(.evidence("C-02")) func `a changed row is deleted if the object trumps`() throws {
    #expect(throws: ObjectGraphError.self) { try isGone(.error) }
    #expect(try isGone(.mergeByPropertyObjectTrump))
    #expect(try isGone(.overwrite))
    #expect(try !isGone(.mergeByPropertyStoreTrump))
    #expect(try !isGone(.rollback))
  }

  @Test(.evidence("C-02"), arguments: [false, true])
  func `changes of unchanged objects are detected on request only`(isSet: Bool) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let mine: Person = context.object(with: id)
    #expect(mine.age == 1)
    try fixture.change(id) { $0.age = 2 }
    if isSet { mine.age = 1 }
    try context.save()
    context.detectConflicts(for: mine)
    if isSet { mine.age = 1 }
    #expect(throws: ObjectGraphError.self) { try context.save() }
    // The other context has not read any property of the object, so it has no value that could be
    // outdated.
    let other = fixture.context()
    other.detectConflicts(for: other.object(with: id) as Person)
    try other.save()
  }

  /// Saves a new object with the unique name of a stored object, and returns the result.
  private func clash(_ policy: MergePolicy) throws -> (age: Int, isRow: Bool, cars: Int) {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 1)
    let context = fixture.context()
    context.mergePolicy = policy
    let new = Person(context: context)
    new.name = "Ada"
    new.age = 2
    Car(context: context).owner = new
    try context.save()
    let people = try fixture.context().fetch(FetchRequest<Person>())
    #expect(people.count == 1 && people.first?.objectID == id)
    return (
      people.first?.age ?? 0, new.objectID == id && new.age == people.first?.age,
      people.first?.cars.count ?? 0
    )
  }

  @Test(.evidence("C-03"))
  func `a new object becomes the stored one with the same unique values`() throws {
    #expect(throws: ObjectGraphError.self) { try clash(.error) }
    #expect(try clash(.mergeByPropertyObjectTrump) == (2, true, 2))
    #expect(try clash(.overwrite) == (2, true, 2))
    #expect(try clash(.mergeByPropertyStoreTrump) == (1, true, 2))
    #expect(try clash(.rollback) == (1, true, 2))
  }

  /// Saves two new objects with the same unique name, and returns the age of the remaining object.
  private func twins(_ policy: MergePolicy) throws -> Int {
    let fixture = try GraphFixture()
    let context = fixture.context()
    context.mergePolicy = policy
    for age in 1...2 {
      let new = Person(context: context)
      new.name = "Ada"
      new.age = age
    }
    try context.save()
    let people = try fixture.context().fetch(FetchRequest<Person>())
    #expect(people.count == 1)
    return people.first?.age ?? 0
  }

  @Test(.evidence("C-03")) func `of two new objects with the same unique values one remains`()
    throws
  {
    #expect(throws: ObjectGraphError.self) { try twins(.error) }
    #expect(try twins(.mergeByPropertyObjectTrump) == 2)
    #expect(try twins(.overwrite) == 2)
    #expect(try twins(.mergeByPropertyStoreTrump) == 1)
    #expect(try twins(.rollback) == 1)
  }

  @Test(.evidence("C-02"), arguments: [true, false])
  func `a custom policy sees a deletion by either side`(keeps: Bool) throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0, age: 1) }
    let context = fixture.context()
    context.mergePolicy = .custom { conflict in
      // Another context deleted Ada, and this context deleted Bob.
      #expect(conflict.isDeletedHere == (conflict.objectID == ids[1]))
      #expect((conflict.theirs == nil) == (conflict.objectID == ids[0]))
      #expect(conflict.isDeleted == conflict.isDeletedHere)
      #expect(conflict.base["age"] == .integer(1))
      conflict.isDeleted = !keeps
    }
    let (ada, bob): (Person, Person) = (context.object(with: ids[0]), context.object(with: ids[1]))
    ada.age = 5
    #expect(bob.age == 1)
    context.delete(bob)
    try fixture.change(ids[0]) { $0.managedObjectContext?.delete($0) }
    try fixture.change(ids[1]) { $0.age = 2 }
    try context.save()
    #expect(try fixture.stored(ids[0])?.age == (keeps ? 5 : nil))
    #expect(try fixture.stored(ids[1])?.age == (keeps ? 2 : nil))
    #expect(ada.isDeleted == !keeps && bob.isDeleted == !keeps)
  }

  @Test(.evidence("C-02"), .evidence("C-06"))
  func `a custom policy sees the targets of references`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob", "Cid"].map { try fixture.person($0, cars: $0 == "Ada" ? 1 : 0) }
    let context = fixture.context()
    context.mergePolicy = .custom { conflict in
      guard conflict.entityName == "Car" else { return }
      #expect(conflict.baseReferences == ["owner": ids[0]])
      #expect(conflict.myReferences == ["owner": ids[1]])
      #expect(conflict.theirReferences == ["owner": ids[2]])
      conflict.resultReferences["owner"] = ids[0]
    }
    let car = try #require(try context.fetch(FetchRequest<Car>()).first)
    car.owner = context.object(Person.self, with: ids[1])
    let other = fixture.context()
    try #require(try other.fetch(FetchRequest<Car>()).first).owner = other.object(with: ids[2])
    try other.save()
    try context.save()
    #expect(car.owner?.objectID == ids[0])
    #expect(try ids.map { try fixture.stored($0)?.cars } == [1, 0, 0])
  }

  @Test(
    .evidence("V-02"), .evidence("C-02"),
    arguments: [
      ("name", .integer(3)), ("name", .null), ("name", .bytes([0xFF, 0xFE])),
      ("age", .null), ("age", .string("x")), ("age", .double(.nan)),
      ("nickname", .bool(true)),
    ] as [(String, StoredValue)])
  func `a custom policy cannot set a value of the wrong type`(
    name: String, value: StoredValue
  ) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.mergePolicy = .custom { $0.result[name] = value }
    context.object(Person.self, with: id).age = 2
    try fixture.change(id) { $0.age = 3 }
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .validation && error?.objectID == id)
    #expect(error?.message.contains("Person.\(name)") == true)
    #expect(try fixture.stored(id)?.age == 3)
  }

  @Test(.evidence("C-02"), .evidence("C-06"), arguments: [false, true])
  func `a custom policy cannot set a reference to an object of another class`(isNew: Bool) throws {
    let fixture = try GraphFixture()
    _ = try fixture.person("Ada", cars: 1)
    let context = fixture.context()
    let car = try #require(try context.fetch(FetchRequest<Car>()).first)
    let id = isNew ? Club(context: context).objectID : car.objectID
    context.mergePolicy = .custom { $0.resultReferences["owner"] = id }
    car.name = "mine"
    let other = fixture.context()
    try #require(try other.fetch(FetchRequest<Car>()).first).name = "theirs"
    try other.save()
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .validation && error?.objectID == car.objectID)
  }

  @Test(.evidence("C-02"), .evidence("C-06"))
  func `a custom policy can set a reference to an object that is new in the save`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", cars: 1)
    let context = fixture.context()
    let car = try #require(try context.fetch(FetchRequest<Car>()).first)
    let new = Person(context: context)
    new.name = "new"
    let newID = new.objectID
    context.mergePolicy = .custom { conflict in
      if conflict.entityName == "Car" { conflict.resultReferences["owner"] = newID }
    }
    car.owner = nil
    let other = fixture.context()
    let theirs = Person(context: other)
    try #require(try other.fetch(FetchRequest<Car>()).first).owner = theirs
    try other.save()
    try context.save()
    #expect(car.owner === new && new.cars == [car])
    #expect(
      try [id, theirs.objectID, new.objectID].map { try fixture.stored($0)?.cars } == [0, 0, 1])
  }

  @Test(.evidence("C-05"), .evidence("R-18"))
  func `clearing a new reference to a missing row leaves the referring row unchanged`() throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let (mentor, member) = (CrewMember(context: writer), CrewMember(context: writer))
    member.mentor = mentor
    try writer.save()
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyStoreTrump
    let mine: CrewMember = context.object(with: member.objectID)
    mine.mate = context.object(with: mentor.objectID)
    writer.delete(mentor)
    try writer.save()
    let watching = fixture.context()
    let watched: CrewMember = watching.object(with: member.objectID)
    #expect(watched.title == "")
    watching.detectConflicts(for: watched)
    try context.save()
    #expect(mine.mate == nil)
    try watching.save()
  }

  @Test(.evidence("U-03"))
  func `conflict detection does not retain objects deleted by others`() throws {
    let fixture = try GraphFixture(crew)
    let writer = fixture.context()
    let member = CrewMember(context: writer)
    try writer.save()
    let context = fixture.context()
    context.automaticallyMergesChangesFromParent = true
    weak var watched: CrewMember?
    do {
      let copy: CrewMember = context.object(with: member.objectID)
      watched = copy
      #expect(copy.title == "")
      context.detectConflicts(for: copy)
    }
    #expect(watched != nil)
    writer.delete(member)
    try writer.save()
    #expect(try context.count(for: FetchRequest<CrewMember>()) == 0)
    #expect(watched == nil)
  }

  @Test(.evidence("C-02")) func `conflicts are requested for one save`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0) }
    let context = fixture.context()
    let people: [Person] = ids.map { context.object(with: $0) }
    #expect(people.map(\.age) == [0, 0])
    context.detectConflicts(for: people[0])
    people[1].age = 1
    try context.save()
    try fixture.change(ids[0]) { $0.age = 1 }
    people[1].age = 2
    try context.save()
    #expect(try fixture.stored(ids[1])?.age == 2)
  }

  @Test(.evidence("C-17"))
  func `a save that merges removes objects that others have deleted`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob"].map { try fixture.person($0) }
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let people: [Person] = ids.map { context.object(with: $0) }
    #expect(people.map(\.age) == [0, 0])
    try fixture.change(ids[0]) { $0.age = 1 }
    try fixture.change(ids[1]) { $0.managedObjectContext?.delete($0) }
    people[0].nickname = "A"
    try context.save()
    #expect(people[0].age == 1 && people[1].isDeleted)
  }

  @Test(.evidence("C-02"), arguments: [false, true])
  func `detected changes of unchanged objects are adopted by a policy that merges`(
    isDeleted: Bool
  ) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let ada = try #require(try context.existingObject(Person.self, with: id))
    context.detectConflicts(for: ada)
    try fixture.change(id) {
      if isDeleted { $0.managedObjectContext?.delete($0) } else { $0.age = 2 }
    }
    Person(context: context).name = "Bob"
    try context.save()
    #expect(ada.isDeleted == isDeleted)
    if !isDeleted { #expect(ada.age == 2) }
  }

  @Test(.evidence("C-02"), arguments: [false, true])
  func `a custom policy cannot set a property that the class lacks`(isReference: Bool) throws {
    let policy = MergePolicy.custom { conflict in
      if isReference {
        conflict.resultReferences["cars"] = .some(nil)
      } else {
        conflict.result["awakenings"] = .integer(1)
      }
    }
    let error = #expect(throws: ObjectGraphError.self) { try outcome(policy) }
    #expect(error?.kind == .unknownProperty)
    #expect(error?.message.contains(isReference ? "cars" : "awakenings") == true)
  }
}
