import Heartwood
import HeartwoodTestSupport
import Testing

/// Performs random work in one context, and makes the same changes to a reference.
final class GraphRun {
  private let fixture: GraphFixture
  private let context: ManagedObjectContext
  private var random: SeededGenerator
  private var now = GraphReference()
  /// The content of the store.
  private(set) var saved = GraphReference()
  private var lastName = 0
  private(set) var counts: [String: Int] = [:]

  /// The states to which `undo` returns; the next state is the last element.
  private var past: [GraphReference] = []
  /// The states to which `redo` returns; the next state is the last element.
  private var future: [GraphReference] = []
  /// A Boolean value that indicates whether the current step makes changes by operations other than
  /// undo and redo.
  private var isNew = true

  init(seed: UInt64, tracksUndo: Bool) throws {
    fixture = try GraphFixture()
    context = fixture.context()
    context.tracksUndo = tracksUndo
    random = SeededGenerator(seed: seed)
  }

  var container: PersistentContainer { fixture.container }

  func run(steps: Int) throws {
    for step in 0..<steps {
      let before = now
      isNew = true
      try performStep()
      if context.tracksUndo, isNew, before != now, context.canUndo {
        context.endUndoGroup()
        past.append(before)
        future = []
      }
      if step % 16 == 0 { try expectSame(context, now, "step \(step)") }
    }
    try save()
    try expectSame(fixture.context(), saved, "the end")
  }

  private func expectSame(
    _ context: ManagedObjectContext, _ reference: GraphReference, _ label: String
  ) throws {
    let found = try GraphReference(context)
    guard found == reference else {
      throw GraphMismatch("\(label): found\n\(found)\nnot\n\(reference)")
    }
  }

  private func newName(_ kind: String) -> String {
    lastName += 1
    return "\(kind)\(lastName)"
  }

  // MARK: Objects

  private func all<M: ManagedObject>(_ type: M.Type) throws -> [M] {
    try context.fetch(FetchRequest<M>())
  }

  private func one<M: ManagedObject>(_ type: M.Type) throws -> M? {
    let objects = try all(type)
    return objects.isEmpty ? nil : objects[random.below(objects.count)]
  }

  private func some<M: ManagedObject>(_ type: M.Type) throws -> Set<M> {
    Set(try all(type).filter { _ in random.isTrue(in256: 100) })
  }

  // MARK: Steps

  private func performStep() throws {
    let steps: [(name: String, weight: Int, run: () throws -> Void)] = [
      ("person", 8, addPerson), ("car", 10, addCar), ("club", 3, addClub), ("hall", 4, addHall),
      ("set", 20, setPerson), ("move", 14, moveCar), ("cars", 5, setCars), ("join", 10, join),
      ("members", 4, setMembers), ("order", 5, reorder), ("delete", 5, deletePerson),
      ("delete car", 5, deleteCar), ("save", 8, save), ("rollback", 2, rollback),
      ("refresh", 4, refresh), ("lose", 1, lose), ("undo", 12, undo), ("redo", 10, redo),
    ]
    var choice = random.below(steps.reduce(0) { $0 + $1.weight })
    for step in steps {
      choice -= step.weight
      if choice < 0 {
        counts[step.name, default: 0] += 1
        return try step.run()
      }
    }
  }

  private func addPerson() {
    let person = Person(context: context)
    person.name = newName("person")
    now.people[person.name] = .init()
  }

  private func addCar() throws {
    let car = Car(context: context)
    car.name = newName("car")
    car.owner = random.isTrue(in256: 200) ? try one(Person.self) : nil
    now.cars[car.name] = .some(car.owner?.name)
  }

  private func addClub() {
    let club = Club(context: context)
    club.name = newName("club")
    now.clubs[club.name] = []
    now.halls[club.name] = []
  }

  private func addHall() throws {
    guard let club = try one(Club.self) else { return }
    let hall = Hall(context: context)
    lastName += 1
    hall.number = lastName
    hall.club = club
    now.halls[club.name]?.append(hall.number)
  }

  private func setPerson() throws {
    guard let person = try one(Person.self) else { return }
    person.age += 1 + random.below(100)
    now.people[person.name]?.age = person.age
    guard random.isTrue(in256: 100) else { return }
    person.nickname = random.isTrue(in256: 128) ? "nick\(person.age)" : nil
    now.people[person.name]?.nickname = person.nickname
  }

  private func moveCar() throws {
    guard let car = try one(Car.self) else { return }
    car.owner = random.isTrue(in256: 220) ? try one(Person.self) : nil
    now.cars[car.name] = .some(car.owner?.name)
  }

  private func setCars() throws {
    guard let person = try one(Person.self) else { return }
    let cars = try some(Car.self)
    for (name, owner) in now.cars where owner == person.name { now.cars[name] = .some(nil) }
    for car in cars { now.cars[car.name] = .some(person.name) }
    person.cars = cars
  }

  private func join() throws {
    guard let person = try one(Person.self), let club = try one(Club.self) else { return }
    if random.isTrue(in256: 128) {
      person.clubs.formSymmetricDifference([club])
    } else {
      club.members.formSymmetricDifference([person])
    }
    now.clubs[club.name]?.formSymmetricDifference([person.name])
  }

  private func setMembers() throws {
    guard let club = try one(Club.self) else { return }
    let members = try some(Person.self)
    club.members = members
    now.clubs[club.name] = Set(members.map(\.name))
  }

  private func reorder() throws {
    guard let club = try one(Club.self) else { return }
    club.halls = club.halls.shuffled(using: &random)
    now.halls[club.name] = club.halls.map(\.number)
  }

  private func deletePerson() throws {
    guard let person = try one(Person.self) else { return }
    now.delete(person: person.name)
    context.delete(person)
  }

  private func deleteCar() throws {
    guard let car = try one(Car.self) else { return }
    now.cars[car.name] = nil
    context.delete(car)
  }

  private func undo() throws {
    isNew = false
    guard let before = past.popLast() else { return }
    future.append(now)
    now = before
    context.undo()
    try expectSame(context, now, "after an undo")
  }

  private func redo() throws {
    isNew = false
    guard let after = future.popLast() else { return }
    past.append(now)
    now = after
    context.redo()
    try expectSame(context, now, "after a redo")
  }

  private func forgetUndo() {
    past = []
    future = []
  }

  private func save() throws {
    forgetUndo()
    try context.save()
    saved = now
    try expectSame(fixture.context(), saved, "after a save")
  }

  private func rollback() throws {
    forgetUndo()
    context.rollback()
    now = saved
    try expectSame(context, now, "after a rollback")
  }

  private func refresh() throws {
    guard let person = try one(Person.self) else { return }
    try context.refresh(person, mergeChanges: true)
  }

  private func lose() {
    forgetUndo()
    context.reset()
    now = saved
  }
}
