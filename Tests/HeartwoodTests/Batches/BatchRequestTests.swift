import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum Batched {
  class Figure: ManagedObject {
    override class var entity: Entity { Entity("Figure", isAbstract: true) }
  }
  final class Circle: Figure {
    override class var entity: Entity { Entity("Circle") }
  }
}

@Suite("Batch requests")
struct BatchRequestTests {
  /// Inserts people with a batch request.
  ///
  /// People without an age get the default age.
  @discardableResult
  private func insert(
    _ people: [(name: String, age: Int?)], _ context: ManagedObjectContext,
    _ resultType: BatchResultType = .statusOnly
  ) throws -> BatchResult {
    var rest = people.makeIterator()
    var request = BatchInsertRequest<Person> { row in
      guard let next = rest.next() else { return true }
      row[\.name] = next.name
      if let age = next.age { row[\.age] = age }
      return false
    }
    request.resultType = resultType
    return try context.execute(request)
  }

  private func all(_ fixture: GraphFixture) throws -> [String] {
    let sort = [SortDescriptor(\Person.name)]
    return try fixture.context().fetch(FetchRequest<Person>(sort: sort)).map { person in
      "\(person.name) \(person.age) \(person.nickname ?? "-") \(person.cars.count)"
    }
  }

  @Test(.evidence("BR-01"), .evidence("BR-07"))
  func `a batch insert adds rows until its closure returns true`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let before = try fixture.container.store.snapshot().generation
    let result = try insert([("Ada", 36), ("Bob", nil)], context, .objectIDs)
    #expect(result.count == 2 && result.objectIDs.count == 2)
    #expect(try fixture.container.store.snapshot().generation > before)
    #expect(try all(fixture) == ["Ada 36 - 0", "Bob 0 - 0"])
    let bob = try context.existingObject(Person.self, with: result.objectIDs[1])
    #expect(bob?.name == "Bob" && !context.hasChanges)
    #expect(try insert([("Cid", 1)], context).objectIDs.isEmpty)
    #expect(try insert([], context).count == 0)
  }

  @Test(.evidence("BR-02"), .evidence("BR-06"))
  func `a batch insert resolves duplicate unique values by merge policy`() throws {
    func outcome(_ policy: MergePolicy) throws -> [String] {
      let fixture = try GraphFixture()
      let id = try fixture.person("Ada", age: 1, cars: 2)
      try fixture.change(id) { $0.nickname = "A" }
      let context = fixture.context()
      context.mergePolicy = policy
      try insert([("Zoe", 5), ("Ada", 2), ("Ada", nil), ("Zoe", 6)], context)
      return try all(fixture)
    }
    #expect(try outcome(.mergeByPropertyObjectTrump) == ["Ada 2 A 2", "Zoe 6 - 0"])
    #expect(try outcome(.overwrite) == ["Ada 0 - 2", "Zoe 6 - 0"])
    #expect(try outcome(.mergeByPropertyStoreTrump) == ["Ada 1 A 2", "Zoe 5 - 0"])
    #expect(try outcome(.rollback) == ["Ada 1 A 2", "Zoe 5 - 0"])
    let fixture = try GraphFixture()
    try fixture.person("Ada", age: 1)
    let error = #expect(throws: ObjectGraphError.self) {
      try insert([("Zoe", 5), ("Ada", 2)], fixture.context())
    }
    #expect(error?.kind == .constraintConflict)
    #expect(try all(fixture) == ["Ada 1 - 0"])
  }

  @Test(.evidence("BR-03"), .evidence("BR-05"), .evidence("BR-07"))
  func `a batch update changes the rows that match its predicate`() throws {
    let fixture = try GraphFixture()
    let writer = fixture.context()
    try insert((0..<2500).map { ("p\($0)", $0 % 10) }, writer)
    let context = fixture.context()
    let three = FetchRequest<Person>(where: #Predicate { $0.name == "p3" })
    let mine = try #require(try context.fetch(three).first)
    mine.nickname = "mine"
    var update = BatchUpdateRequest<Person>(where: #Predicate { $0.age == 3 }) { row in
      row[\.age] += 100
      row[\.nickname] = row[\.name] + "!"
    }
    update.resultType = .objectIDs
    let result = try writer.execute(update)
    #expect(result.count == 250 && Set(result.objectIDs).count == 250)
    #expect(result.objectIDs.contains(mine.objectID))
    let moved = FetchRequest<Person>(where: #Predicate { $0.age == 103 })
    #expect(try fixture.context().fetch(moved).allSatisfy { $0.nickname == "\($0.name)!" })
    #expect(try fixture.context().count(for: moved) == 250)
    // The index finds the row of this name, but the row does not meet the other condition.
    let neither = BatchUpdateRequest<Person>(
      where: #Predicate { $0.name == "p3" && $0.age == 4 }
    ) { $0[\.nickname] = nil }
    #expect(try writer.execute(neither).count == 0)
    #expect(try fixture.context().fetch(three).map(\.nickname) == ["p3!"])
    let conflict = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(conflict?.kind == .mergeConflict && conflict?.objectID == mine.objectID)
    let everything = BatchUpdateRequest<Person> { $0[\.age] = 1 }
    #expect(try writer.execute(everything).count == 2500)
    let ones = FetchRequest<Person>(where: #Predicate { $0.age == 1 })
    #expect(try fixture.context().count(for: ones) == 2500)
  }

  @Test(.evidence("BR-03"), .evidence("BR-06"))
  func `a batch update that violates a unique constraint changes nothing`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    try insert([("Ada", 1), ("Bob", 2)], context)
    let before = try fixture.container.store.snapshot().generation
    let error = #expect(throws: ObjectGraphError.self) {
      try context.execute(
        BatchUpdateRequest<Person> { row in
          row[\.age] += 1
          row[\.name] = "same"
        })
    }
    #expect(error?.kind == .constraintConflict)
    struct Mine: Error {}
    #expect(throws: Mine.self) {
      try context.execute(
        BatchUpdateRequest<Person> { row in
          if row[\.name] == "Bob" { throw Mine() }
          row[\.age] = 9
        })
    }
    let unknown = #expect(throws: ObjectGraphError.self) {
      try context.execute(BatchUpdateRequest<Person> { row in row[\.awakenings] += 1 })
    }
    #expect(unknown?.kind == .unknownProperty)
    #expect(try fixture.container.store.snapshot().generation == before)
    #expect(try all(fixture) == ["Ada 1 - 0", "Bob 2 - 0"])
  }

  @Test(.evidence("BR-03"), .evidence("BR-06"))
  func `a batch update takes unique values only from rows that have released them`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    try insert([("Ada", 1), ("Bob", 2)], context)
    let exchange = BatchUpdateRequest<Person> { row in
      row[\.name] = row[\.name] == "Ada" ? "Bob" : "Ada"
    }
    let error = #expect(throws: ObjectGraphError.self) { try context.execute(exchange) }
    #expect(error?.kind == .constraintConflict)
    #expect(try all(fixture) == ["Ada 1 - 0", "Bob 2 - 0"])
    let shift = BatchUpdateRequest<Person> { row in
      row[\.name] = row[\.name] == "Ada" ? "Zoe" : "Ada"
    }
    #expect(try context.execute(shift).count == 2)
    #expect(try all(fixture) == ["Ada 2 - 0", "Zoe 1 - 0"])
  }

  @Test(.evidence("BR-04"), .evidence("BR-07"))
  func `a batch delete also removes index entries and member lists`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob", "Cid"].map { try fixture.person($0, cars: 2) }
    let context = fixture.context()
    var byName = BatchDeleteRequest<Person>(where: #Predicate { $0.name == "Ada" })
    byName.resultType = .objectIDs
    let result = try context.execute(byName)
    #expect(result.count == 3 && result.objectIDs.contains(ids[0]))
    #expect(try all(fixture) == ["Bob 0 - 2", "Cid 0 - 2"])
    #expect(try context.count(for: FetchRequest<Car>()) == 4)
    let byID = try context.execute(BatchDeleteRequest<Person>(objectIDs: [ids[2], ids[0]]))
    #expect(byID.count == 3)
    #expect(try all(fixture) == ["Bob 0 - 2"])
    let car = try #require(try context.fetch(FetchRequest<Car>()).first)
    let mixed = #expect(throws: ObjectGraphError.self) {
      try context.execute(BatchDeleteRequest<Person>(objectIDs: [ids[1], car.objectID]))
    }
    #expect(mixed?.kind == .unknownEntity)
    let foreign = try GraphFixture().person("Eve")
    let other = #expect(throws: ObjectGraphError.self) {
      try context.execute(BatchDeleteRequest<Person>(objectIDs: [foreign]))
    }
    #expect(other?.kind == .foreignObject)
  }

  /// Saves a random graph of people, cars, clubs, halls and keepers.
  private func fill(_ fixture: GraphFixture, seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let context = fixture.context()
    let people = (0..<12).map { number in
      let person = Person(context: context)
      person.name = "p\(number)"
      for _ in 0..<generator.below(3) { Car(context: context).owner = person }
      return person
    }
    let clubs = (0..<4).map { number in
      let club = Club(context: context)
      club.name = "c\(number)"
      club.members = Set(people.filter { _ in generator.below(3) == 0 })
      return club
    }
    let halls = (0..<10).map { number in
      let hall = Hall(context: context)
      hall.number = number
      if generator.below(2) == 0 { hall.club = clubs[generator.below(4)] }
      if generator.below(2) == 0 { hall.keeper = Keeper(context: context) }
      return hall
    }
    for hall in halls where generator.below(2) == 0 { hall.next = halls[generator.below(10)] }
    for club in clubs { club.halls.shuffle(using: &generator) }
    try context.save()
  }

  /// Returns the complete content of the store as strings.
  private func content(_ fixture: GraphFixture) throws -> [String] {
    let context = fixture.context()
    var lines: [String] = []
    for person in try context.fetch(FetchRequest<Person>()) {
      lines.append("\(person.name): \(person.cars.count), \(person.clubs.map(\.name).sorted())")
    }
    for club in try context.fetch(FetchRequest<Club>()) {
      let members = club.members.map(\.name).sorted()
      lines.append("\(club.name): \(club.halls.map(\.number)), \(members)")
    }
    for hall in try context.fetch(FetchRequest<Hall>()) {
      let around = [hall.previous, hall.next].map { $0.map { "\($0.number)" } ?? "-" }
      lines.append(
        "\(hall.number): \(around), \(hall.club?.name ?? "-"), \(hall.keeper?.hall === hall)")
    }
    lines.append("\(try context.count(for: FetchRequest<Car>())) cars")
    for keeper in try context.fetch(FetchRequest<Keeper>()) {
      lines.append("keeper of \(keeper.hall.map { "\($0.number)" } ?? "-")")
    }
    return lines
  }

  @Test(
    .evidence("BR-04"), arguments: TestScale.some(Array(1...20 as ClosedRange<UInt64>), every: 5))
  func `a batch delete applies delete rules as a context does`(seed: UInt64) throws {
    let (batches, saves) = (try GraphFixture(), try GraphFixture())
    for fixture in [batches, saves] { try fill(fixture, seed: seed) }
    #expect(try content(batches) == content(saves))
    var generator = SeededGenerator(seed: seed)
    func compare<M: ManagedObject>(_ type: M.Type) throws {
      let chosen = Set((0..<12).filter { _ in generator.below(4) == 0 })
      func ids(_ fixture: GraphFixture) throws -> [ManagedObjectID] {
        let all = try fixture.context().fetchObjectIDs(FetchRequest<M>())
        return all.enumerated().filter { chosen.contains($0.offset) }.map(\.element)
      }
      let context = saves.context()
      for id in try ids(saves) {
        // Skip objects that a cascade has already deleted.
        guard let object = try context.existingObject(M.self, with: id) else { continue }
        context.delete(object)
      }
      var batchError: ObjectGraphError?
      var saveError: ObjectGraphError?
      do { try context.save() } catch let error as ObjectGraphError { saveError = error }
      do {
        let doomed = BatchDeleteRequest<M>(objectIDs: try ids(batches))
        try batches.context().execute(doomed)
      } catch let error as ObjectGraphError { batchError = error }
      #expect((batchError == nil) == (saveError == nil), "seed \(seed), \(type)")
      #expect(batchError == nil || batchError?.kind == .deniedDelete)
      #expect(try content(batches) == content(saves), "seed \(seed), \(type)")
    }
    try compare(Person.self)
    try compare(Hall.self)
    try compare(Keeper.self)
    try compare(Club.self)
    try compare(Car.self)
  }

  @Test(.evidence("QG-33")) func `batch requests leave the pin of a context unchanged`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.existingObject(Person.self, with: id)?.age == 1)
    let token = context.queryGenerationToken
    try context.execute(BatchUpdateRequest<Person> { $0[\.age] = 2 })
    #expect(try context.existingObject(Person.self, with: id)?.age == 1)
    #expect(context.queryGenerationToken == token)
    #expect(try fixture.stored(id)?.age == 2)
  }

  @Test(.spawning, .evidence("BR-08")) func `large batch requests use little memory`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchDirectory()
      var options = ContainerOptions()
      options.store.transactionMemoryByteCount = 16 << 20
      let container = try PersistentContainer(
        url: URL(filePath: scratch.path), schema: Schema(Reading.self), options: options)
      #if DEBUG
        let count = TestScale.pick(quick: 10_000, all: 20_000)
      #else
        let count = 1_000_000
      #endif
      let context = container.newContext()
      let start = try anonymousByteCount()
      var highest = start
      var number = 0
      try context.execute(
        BatchInsertRequest<Reading> { row in
          guard number < count else { return true }
          row[\.value] = number
          number += 1
          if number % 10_000 == 0 { highest = max(highest, try anonymousByteCount()) }
          return false
        })
      try context.execute(
        BatchUpdateRequest<Reading> { row in
          row[\.value] += 1
          if row[\.value] % 10_000 == 0 { highest = max(highest, try anonymousByteCount()) }
        })
      guard highest - start < 64 << 20 else {
        fatalError("\(highest - start) bytes more than at the start")
      }
      let stored = try context.count(for: FetchRequest<Reading>())
      let findings = try container.store.verify().findings
      precondition(stored == count && findings.isEmpty)
    }
  }

  @Test(.evidence("BR-03"))
  func `a batch update evaluates its predicate before it changes any row`() throws {
    let fixture = try GraphFixture(animals)
    try fixture.saved { context in
      let idol = Animal(context: context)
      idol.legs = 5
      let fans = (0..<1200).map { _ in Animal(context: context) }
      for fan in fans { fan.idols = [idol] }
      Animal(context: context).idols = [fans[0]]
    }
    let predicate = try QueryPredicate<Animal>(format: "ANY idols.legs > 3")
    let request = BatchUpdateRequest<Animal>(where: predicate) { row in row[\.legs] = 9 }
    #expect(try fixture.context().execute(request).count == 1200)
  }

  @Test(.evidence("BR-07")) func `a batch insert does not count rows that stay the same`() throws {
    let fixture = try GraphFixture()
    try fixture.person("Ada")
    let context = fixture.context()
    context.mergePolicy = .mergeByPropertyStoreTrump
    var names = ["Ada", "Bob"]
    let request = BatchInsertRequest<Person> { row in
      guard let name = names.popLast() else { return true }
      row[\.name] = name
      return false
    }
    #expect(try context.execute(request).count == 1)
  }
}

private final class Reading: ManagedObject {
  @Attribute var value: Int = 0
  @Attribute var text: String = "a text of more than fifteen bytes"
  @Test(.evidence("BR-03")) func `an update checks conditions that have no index`() throws {
    let fixture = try GraphFixture()
    for (name, nickname) in [("Ada", "a"), ("Bob", nil), ("Cid", "c")] {
      let id = try fixture.person(name, age: 3)
      try fixture.change(id) { $0.nickname = nickname }
    }
    let context = fixture.context()
    let update = BatchUpdateRequest<Person>(
      where: #Predicate { $0.age == 3 && $0.nickname == "c" }
    ) { row in row[\.age] = 4 }
    #expect(try context.execute(update).count == 1)
    let people = try context.fetch(FetchRequest<Person>(sort: [SortDescriptor(\.name)]))
    #expect(people.map(\.age) == [3, 3, 4])
  }

  @Test(.evidence("BR-06")) func `rows of an abstract class cannot be inserted`() throws {
    let container = try PersistentContainer.inMemory(schema: Schema(Batched.Circle.self))
    expect(.unknownEntity, "Figure is abstract") {
      try container.newContext().execute(BatchInsertRequest<Batched.Figure> { _ in false })
    }
  }

}
