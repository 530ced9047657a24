import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("The ID of a new object")
struct TemporaryIDTests {
  private let fixture: GraphFixture

  init() throws { fixture = try GraphFixture() }

  /// Creates a person in a context, and returns the person with its temporary ID.
  private func newPerson(
    _ name: String, _ context: ManagedObjectContext
  ) -> (person: Person, id: ManagedObjectID) {
    let person = Person(context: context)
    person.name = name
    return (person, person.objectID)
  }

  @Test(.evidence("U-07")) func `a temporary ID is valid in its context before and after the save`()
    throws
  {
    let context = fixture.context()
    let (ada, id) = newPerson("Ada", context)
    #expect(context.object(Person.self, with: id) === ada)
    try context.save()
    #expect(context.object(Person.self, with: id) === ada)
    #expect(context.registeredObject(Person.self, for: id) === ada)
    let found = try context.existingObject(Person.self, with: id)
    #expect(found === ada && found?.objectID.isTemporary == false && id.isTemporary)
    context.reset()
    let again = try context.existingObject(Person.self, with: id)
    #expect(again?.name == "Ada" && again !== ada)
    context.delete(try #require(again))
    try context.save()
    let gone = try context.existingObject(Person.self, with: id)
    #expect(gone == nil)
  }

  @Test(.evidence("FO-01"))
  func `permanent IDs are assigned in insertion order`() throws {
    let context = fixture.context()
    let (ada, bob) = (newPerson("Ada", context).person, newPerson("Bob", context).person)
    try context.obtainPermanentIDs(for: [bob, ada])
    try context.save()
    #expect(try context.fetch(FetchRequest<Person>()) == [ada, bob])
  }

  @Test(.evidence("U-07"))
  func `a temporary ID is valid in parents and children that have the object`() throws {
    let parent = fixture.context()
    let (child, other) = (fixture.child(of: parent), fixture.child(of: parent))
    let (ada, id) = newPerson("Ada", child)
    let early = try parent.existingObject(Person.self, with: id)
    #expect(early == nil)
    // The parent creates a fault for the unknown ID. The saved object must replace the fault.
    let ghost: Person = parent.object(with: id)
    #expect(ghost.name == "" && ghost.isDeleted)
    try child.save()
    let parentPerson = try #require(try parent.existingObject(Person.self, with: id))
    #expect(
      parentPerson.name == "Ada" && parentPerson !== ghost && !parentPerson.isDeleted
        && parentPerson.isInserted)
    let beside = try other.existingObject(Person.self, with: id)
    #expect(beside?.name == "Ada")
    try parent.save()
    #expect(try fixture.stored(parentPerson.objectID)?.name == "Ada")
    for context in [parent, child, other] {
      let found = try context.existingObject(Person.self, with: id)
      #expect(found?.name == "Ada" && found?.objectID == parentPerson.objectID)
    }
    #expect(child.object(with: id) === ada)
  }

  @Test(.evidence("U-07"))
  func `a temporary ID leads to an object whose permanent ID was obtained early`() throws {
    let parent = fixture.context()
    let child = fixture.child(of: parent)
    let (ada, id) = newPerson("Ada", child)
    try child.obtainPermanentIDs(for: [ada])
    #expect(child.object(with: id) === ada)
    try child.save()
    try parent.save()
    let found = try parent.existingObject(Person.self, with: id)
    #expect(found?.objectID == ada.objectID)
  }

  @Test(.evidence("U-10")) func `a temporary ID identifies no row in other contexts`() throws {
    // These rows have small row IDs. In earlier versions, temporary IDs could equal such row IDs.
    for name in ["one", "two", "three"] { try fixture.person(name) }
    let context = fixture.context()
    let (ada, id) = newPerson("Ada", context)
    let uri = try #require(ManagedObjectID(uriRepresentation: id.uriRepresentation))
    #expect(uri == id)
    for step in 0..<2 {
      for id in [id, uri] {
        let other = fixture.context()
        let found = try other.existingObject(Person.self, with: id)
        #expect(found == nil, "\(step)")
        #expect(other.registeredObject(Person.self, for: id) == nil, "\(step)")
        let request = FetchRequest<Person>(where: #Predicate { $0.objectID == id })
        #expect(try other.fetch(request) == [] && other.count(for: request) == 0, "\(step)")
        let assumed: Person = other.object(with: id)
        #expect(assumed.isFault && assumed.name == "" && assumed.isDeleted, "\(step)")
        // The temporary ID finds no object, even in the second step, after the save.
        let again = try other.existingObject(Person.self, with: id)
        #expect(again == nil, "\(step)")
        try other.save()
      }
      #expect(try fixture.context().count(for: FetchRequest<Person>()) == 3 + step)
      try context.save()
    }
    #expect(ada.name == "Ada")
    #expect(throws: ObjectGraphError.self) {
      try fixture.context().execute(BatchDeleteRequest<Person>(objectIDs: [id]))
    }
  }

  @Test(.evidence("U-10")) func `temporary IDs are unique within a process`() throws {
    var seen: Set<ManagedObjectID> = []
    for _ in 0..<50 {
      let context = fixture.context()
      let child = fixture.child(of: context)
      for number in 0..<200 {
        seen.insert(Person(context: number % 2 == 0 ? context : child).objectID)
      }
    }
    #expect(seen.count == 50 * 200)
    let text = try #require(seen.first?.uriRepresentation.lastPathComponent.dropFirst())
    let number = try #require(Int64(text))
    let counterMask: Int64 = (1 << 48) - 1
    // The counter starts at a random number, so other processes generate different IDs.
    #expect(number & counterMask > 0x10_0000)
  }

  @Test(.evidence("U-10"))
  func `a temporary ID does not lead to a row with an equal row ID`() throws {
    let id = try fixture.person("Ada")
    let path = id.uriRepresentation.absoluteString.replacingOccurrences(of: "/p", with: "/t")
    let forged = try #require(URL(string: path).flatMap { ManagedObjectID(uriRepresentation: $0) })
    #expect(forged.isTemporary)
    let context = fixture.context()
    let found = try context.existingObject(Person.self, with: forged)
    #expect(found == nil)
    let ghost: Person = context.object(with: forged)
    #expect(ghost.name == "" && ghost.isDeleted)
    try context.save()
    #expect(try fixture.stored(id)?.name == "Ada")
    let car = Car(context: context)
    car.owner = context.object(with: forged)
    try context.save()
    #expect(try fixture.stored(id)?.cars == 0)
    try context.setQueryGenerationFrom(.current)
    let pinned: Person = context.object(with: forged)
    #expect(pinned.name == "")
    let request = FetchRequest<Car>(where: #Predicate { $0.owner?.objectID == forged })
    #expect(try context.fetch(request) == [])
    let itself = FetchRequest<Person>(where: #Predicate { $0.objectID == forged })
    let fresh = fixture.context()
    #expect(try fresh.count(for: itself) == 0 && fresh.fetch(itself) == [])
  }

  @Test(.evidence("U-10")) func `a temporary ID leads to no other object after undo and redo`()
    throws
  {
    let context = fixture.context()
    context.tracksUndo = true
    let (ada, id) = newPerson("Ada", context)
    context.endUndoGroup()
    context.undo()
    do {
      let ghost: Person = context.object(with: id)
      #expect(ghost !== ada && ghost.name == "")
    }
    let held: Person = context.object(with: id)
    #expect(held.isFault || held.isDeleted)
    context.redo()
    #expect(context.object(with: id) === ada)
    withExtendedLifetime(held) {}
    try context.save()
    #expect(context.object(with: id) === ada)
    #expect(try fixture.stored(ada.objectID)?.name == "Ada")
  }

  @Test(.evidence("U-12")) func `temporary IDs of many objects take constant memory`() throws {
    let context = fixture.context()
    for round in 0..<3 {
      for number in 0..<TestScale.pick(quick: 1000, all: 3000) {
        let person = Person(context: context)
        person.name = "\(round) \(number)"
        Car(context: context).owner = person
      }
      try context.save()
      context.reset()
    }
    // For each of the two classes, there is one entry per block of 64, 128, 256, … numbers.
    #expect(context.renumbered.entryCount <= 2 * TestScale.pick(quick: 7, all: 9))
  }

  @Test(.evidence("C-06"), .evidence("U-07"), arguments: [false, true])
  func `an object deleted after obtaining a permanent ID leaves no reference`(
    isInChild: Bool
  ) throws {
    let fixture = try GraphFixture(crew)
    let context = fixture.context()
    let (member, mentor) = (CrewMember(context: context), CrewMember(context: context))
    member.mentor = mentor
    try context.obtainPermanentIDs(for: [mentor])
    if isInChild {
      let child = ManagedObjectContext(parent: context)
      child.delete(child.object(CrewMember.self, with: mentor.objectID))
      try child.save()
    } else {
      context.delete(mentor)
    }
    try context.save()
    #expect(member.mentor == nil)
    let stored: CrewMember = fixture.context().object(with: member.objectID)
    #expect(stored.mentor == nil)
  }
}

@Suite("Renumbered objects")
struct RenumberedObjectsTests {
  @Test(.evidence("U-12"), arguments: TestScale.seeds(quick: 2, all: 8))
  func `replaced numbers are resolved through chains in any order`(
    seed: UInt64
  ) {
    var random = SeededGenerator(seed: seed)
    let table = RenumberedObjects()
    var reference: [Int64: Int64] = [:]
    func resolved(_ bits: Int64) -> Int64 {
      var bits = bits
      while let next = reference[bits] { bits = next }
      return bits
    }
    var nextTemporary: [Int64] = [7, 7]
    var nextRow: [Int64] = [1, 1]
    var open: [Int64] = []
    func record(_ old: Int64, _ new: Int64) {
      table.record(ObjectNumber(bits: new), insteadOf: ObjectNumber(bits: old))
      reference[old] = new
    }
    for _ in 0..<4000 {
      let entity = random.below(2)
      let space = Int64(entity) << 48
      if random.isTrue(in256: 140) {
        open.append(.min | space | nextTemporary[entity])
        nextTemporary[entity] += random.isTrue(in256: 20) ? 100 : 1
      } else if !open.isEmpty {
        // Usually replace the oldest number.
        let old = open.remove(at: random.isTrue(in256: 200) ? 0 : random.below(open.count))
        let new = (old & (Int64.max << 48) & .max) | nextRow[Int(old >> 48) & 1]
        nextRow[Int(old >> 48) & 1] += 1
        record(old, new)
        // Replace some numbers a second time, as an upsert does.
        if random.isTrue(in256: 30) { record(new, new + 1 << 40) }
      }
    }
    for old in Array(reference.keys) + open {
      let found = table.resolved(ObjectNumber(bits: old))
      #expect(found.bits == resolved(old), "seed \(seed)")
    }
    let copy = table.copy
    let (old, new) = (ObjectNumber(bits: .min | 5), ObjectNumber(bits: 9 << 40))
    table.record(new, insteadOf: old)
    #expect(table.resolved(old) == new && copy.resolved(old) == old)
    // Recording the same replacement again has no effect, and neither does recording a cycle.
    let count = table.changeCount
    table.record(new, insteadOf: old)
    table.record(old, insteadOf: new)
    #expect(table.changeCount == count && table.resolved(new) == new)
  }

  @Test(.evidence("U-12"))
  func `recording replaced numbers in random order costs little more than in ascending order`() {
    let count: Int64 = TestScale.pick(quick: 50_000, all: 200_000)
    let table = RenumberedObjects()
    var random = SeededGenerator(seed: 1)
    let rows = (0..<count).shuffled(using: &random)
    for (new, old) in rows.enumerated() {
      table.record(ObjectNumber(bits: Int64(new)), insteadOf: ObjectNumber(bits: .min | old))
    }
    #expect(table.entryCount <= rows.count)
    let ordered = RenumberedObjects()
    for row in 0..<count {
      ordered.record(ObjectNumber(bits: row + 5), insteadOf: ObjectNumber(bits: .min | row))
    }
    #expect(ordered.entryCount == 1)
    #expect(ordered.resolved(ObjectNumber(bits: .min | 77)).bits == 82)
  }

  @Test(.evidence("U-07"), .evidence("U-12"))
  func `numbers that are recorded out of order continue a run`() {
    let table = RenumberedObjects()
    func old(_ row: Int64) -> ObjectNumber { ObjectNumber(bits: .min | row) }
    for row in Array(Int64(1000)..<2000) + (100..<1000).reversed() {
      table.record(ObjectNumber(bits: row), insteadOf: old(row))
    }
    for row in Int64(100)..<2000 { #expect(table.resolved(old(row)).bits == row) }
    #expect(table.resolved(old(2000)) == old(2000))
  }
}
