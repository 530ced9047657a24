import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("History")
struct HistoryTests {
  /// Returns the kind, entity and properties of each change of a transaction, as strings.
  private func words(_ transaction: PersistentHistoryTransaction) -> [String] {
    transaction.changes.map { change in
      let name = change.objectID.entityName ?? "?"
      switch change.kind {
      case .insert: return "insert \(name)"
      case .update(let properties): return "update \(name) \(properties.sorted())"
      case .delete(let tombstone):
        return "delete \(name) \(tombstone.sorted { $0.key < $1.key }.map { "\($0)=\($1)" })"
      }
    }
  }

  @Test(.evidence("H-01"), .evidence("H-02"))
  func `the history records each save with its changes and its author`() throws {
    let fixture = try GraphFixture(Schema(Quake.self, Person.self))
    #expect(try fixture.container.fetchHistory(after: nil).isEmpty)
    let context = fixture.context()
    context.name = "import"
    context.transactionAuthor = "Ada"
    let quake = Quake(context: context)
    quake.code = "nc1"
    quake.place = "here"
    try context.save()
    context.transactionAuthor = nil
    quake.magnitude = 4.5
    quake.place = "there"
    try context.save()
    context.delete(quake)
    try context.save()
    try context.save()
    let all = try fixture.container.fetchHistory(after: nil)
    #expect(all.map(\.author) == ["Ada", nil, nil])
    #expect(all.allSatisfy { $0.contextName == "import" })
    #expect(all.allSatisfy { $0.processID == ProcessInfo.processInfo.processIdentifier })
    #expect(all.allSatisfy { abs($0.timestamp.timeIntervalSinceNow) < 600 })
    #expect(
      all.map(words) == [
        ["insert Quake"], [#"update Quake ["magnitude", "place"]"#],
        [#"delete Quake ["code=nc1", "time=2001-01-01T00:00:00.000Z"]"#],
      ])
    #expect(all.allSatisfy { $0.changes.allSatisfy { $0.objectID == quake.objectID } })
    #expect(all[0].token != all[1].token)
    let coded = try JSONEncoder().encode(all[1].token)
    let token = try JSONDecoder().decode(PersistentHistoryToken.self, from: coded)
    #expect(token == all[1].token)
    #expect(try fixture.container.fetchHistory(after: token).map(words) == [words(all[2])])
    #expect(try fixture.container.fetchHistory(after: all[2].token).isEmpty)
    #expect(try fixture.container.fetchHistory(after: Date.now + 3600).isEmpty)
    #expect(try fixture.container.fetchHistory(after: .distantPast).count == 3)
  }

  @Test(.evidence("H-01"), .evidence("H-02"))
  func `the history records relationships on both sides, and batch requests`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada")
    let context = fixture.context()
    let ada: Person = context.object(with: id)
    let club = Club(context: context)
    club.name = "club"
    ada.clubs = [club]
    let car = Car(context: context)
    car.owner = ada
    try context.save()
    let start = try #require(try fixture.container.fetchHistory(after: nil).last)
    #expect(
      Set(words(start)) == [#"update Person ["cars", "clubs"]"#, "insert Club", "insert Car"])
    context.transactionAuthor = "batch"
    context.mergePolicy = .mergeByPropertyObjectTrump
    var names = ["Ada", "Bob"].makeIterator()
    try context.execute(
      BatchInsertRequest<Person> { row in
        guard let name = names.next() else { return true }
        row[\.name] = name
        row[\.age] = 7
        return false
      })
    try context.execute(BatchUpdateRequest<Person> { $0[\.nickname] = "x" })
    try context.execute(BatchDeleteRequest<Person>(objectIDs: [id]))
    let batches = try fixture.container.fetchHistory(after: start.token)
    #expect(batches.map(\.author) == ["batch", "batch", "batch"])
    #expect(
      batches.map { words($0).sorted() } == [
        ["insert Person", #"update Person ["age"]"#],
        [#"update Person ["nickname"]"#, #"update Person ["nickname"]"#],
        [
          "delete Car []", #"delete Person ["name=Ada"]"#, #"update Club ["members"]"#,
        ],
      ])
  }

  @Test(.evidence("H-03")) func `deleting history up to a token expires earlier tokens`() throws {
    let fixture = try GraphFixture()
    for name in ["Ada", "Bob", "Cid", "Dan"] { try fixture.person(name) }
    let container = fixture.container
    let tokens = try container.fetchHistory(after: nil).map(\.token)
    try container.deleteHistory(before: tokens[1])
    #expect(try container.fetchHistory(after: nil).map(\.token) == Array(tokens[2...]))
    #expect(try container.fetchHistory(after: tokens[1]).map(\.token) == Array(tokens[2...]))
    let error = #expect(throws: ObjectGraphError.self) {
      try container.fetchHistory(after: tokens[0])
    }
    #expect(error?.kind == .historyExpired)
    try container.deleteHistory(before: tokens[0])
    try container.deleteHistory(before: tokens[3])
    #expect(try container.fetchHistory(after: nil).isEmpty)
    try fixture.person("Eve")
    let later = try container.fetchHistory(after: tokens[3])
    #expect(later.count == 1 && !tokens.contains(later[0].token))
    let other = try GraphFixture()
    #expect(throws: StorageError.self) { try other.container.fetchHistory(after: tokens[3]) }
    #expect(throws: StorageError.self) { try other.container.deleteHistory(before: tokens[3]) }
  }

  @Test(.evidence("H-04")) func `nothing is recorded if history tracking is off`() throws {
    var options = ContainerOptions()
    options.isInMemory = true
    options.tracksHistory = false
    let container = try PersistentContainer(
      url: URL(filePath: "/nowhere"), schema: people, options: options)
    let context = container.newContext()
    Person(context: context).name = "Ada"
    try context.save()
    #expect(try container.fetchHistory(after: nil).isEmpty)
    #expect(try container.store.verify().findings.isEmpty)
  }

  @Test(.evidence("H-01"), .evidence("BR-08"))
  func `the history of a large batch is stored in chunks`() throws {
    let fixture = try GraphFixture(Schema(Quake.self))
    let context = fixture.context()
    let count = TestScale.pick(quick: 3000, all: 10_000)
    var number = 0
    try context.execute(
      BatchInsertRequest<Quake> { row in
        guard number < count else { return true }
        row[\.code] = "q\(number)"
        number += 1
        return false
      })
    try context.execute(BatchDeleteRequest<Quake>())
    let all = try fixture.container.fetchHistory(after: nil)
    #expect(all.map(\.changes.count) == [count, count])
    #expect(Set(all[0].changes.map(\.objectID)) == Set(all[1].changes.map(\.objectID)))
    guard case .delete(let tombstone)? = all[1].changes.last?.kind else {
      Issue.record("no deletion")
      return
    }
    #expect(tombstone["code"] == "q\(count - 1)")
  }

  @Test(.evidence("H-05")) func `reading a damaged history throws`() throws {
    let fixture = try GraphFixture(Schema(Quake.self))
    let context = fixture.context()
    let quake = Quake(context: context)
    quake.code = "nc1"
    try context.save()
    context.delete(quake)
    try context.save()
    let store = fixture.container.store
    func entries() throws -> [(key: Key, value: [UInt8])] {
      var entries: [(key: Key, value: [UInt8])] = []
      try store.snapshot().keyspace("heartwood.history")?.forEach { key, value in
        let (sequence, piece) = try Key.decode(key, as: Int64.self, Int64.self)
        entries.append((Key(sequence, piece), value.withUnsafeBytes { Array($0) }))
        return true
      }
      return entries
    }
    var generator = SeededGenerator(seed: 5)
    var refused = 0
    for (key, value) in try entries() {
      for _ in 0..<40 {
        var damaged = value
        if generator.below(2) == 0 {
          damaged.removeLast(1 + generator.below(damaged.count))
        } else {
          damaged[generator.below(damaged.count)] ^= UInt8(1 + generator.below(255))
        }
        try store.write { try $0.keyspace("heartwood.history").put(key, damaged) }
        do {
          _ = try fixture.container.fetchHistory(after: nil)
        } catch let error as StorageError {
          #expect(error.kind == .corrupt)
          refused += 1
        }
      }
      try store.write { try $0.keyspace("heartwood.history").put(key, value) }
    }
    #expect(refused > 50)
    #expect(try fixture.container.fetchHistory(after: nil).count == 2)
  }
}

/// The class whose changes the tests read from the history.
private final class Quake: ManagedObject {
  @Attribute(preservesValueOnDeletion: true) var code: String = ""
  @Attribute var magnitude: Float = 0
  @Attribute var place: String = ""
  @Attribute(preservesValueOnDeletion: true) var time = Date(timeIntervalSinceReferenceDate: 0)

  override class var entity: Entity {
    Entity("Quake") { Unique(\Quake.code) }
  }
}

@Suite("Merging history")
struct MergingTests {
  @Test(.evidence("QG-26"), .evidence("QG-27"), .evidence("QG-28"))
  func `merging a transaction rereads its objects and advances the pin`() throws {
    let fixture = try GraphFixture()
    let ids = try ["Ada", "Bob", "Cid", "Dan"].map { try fixture.person($0, age: 1, cars: 1) }
    let start = try #require(try fixture.container.fetchHistory(after: nil).last?.token)
    let contexts = [fixture.context(), fixture.context()]
    try contexts[0].setQueryGenerationFrom(.current)
    let people = contexts.map { context in ids.map { context.object($0) } }
    for here in people { #expect(here.map(\.age) == [1, 1, 1, 1]) }
    for here in people { #expect(here.map(\.cars.count) == [1, 1, 1, 1]) }
    for here in people { here[1].nickname = "mine" }
    try fixture.change(ids[0]) { person in
      person.age = 2
      for car in person.cars { person.managedObjectContext?.delete(car) }
    }
    try fixture.change(ids[1]) { $0.age = 2 }
    try fixture.change(ids[2]) { $0.managedObjectContext?.delete($0) }
    let transactions = try fixture.container.fetchHistory(after: start)
    try fixture.change(ids[3]) { $0.age = 2 }
    let before = contexts[0].queryGenerationToken
    for context in contexts {
      for transaction in transactions { try context.mergeChanges(from: transaction) }
    }
    for here in people {
      #expect(here[0].age == 2 && here[0].cars.isEmpty)
      #expect(here[1].age == 2 && here[1].nickname == "mine" && here[1].isUpdated)
      #expect(here[2].isDeleted && here[2].managedObjectContext == nil)
      // The change to this object was not among the merged transactions.
      #expect(here[3].age == 1)
    }
    #expect(contexts[0].queryGenerationToken != before)
    #expect(contexts[0].queryGenerationToken != .current)
    #expect(contexts[1].queryGenerationToken == nil)
    for context in contexts { #expect(context.deletedObjects.isEmpty) }
    #expect(try contexts[0].count(for: FetchRequest<Person>()) == 3)
    let child = fixture.child(of: contexts[0])
    #expect(throws: ObjectGraphError.self) { try child.mergeChanges(from: transactions[0]) }
    let other = try GraphFixture().context()
    #expect(throws: StorageError.self) { try other.mergeChanges(from: transactions[0]) }
  }
}

extension MergingTests {
  @Test(.evidence("QG-35"), .evidence("QG-36"))
  func `a context with automatic merging merges before each fetch`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 1)
    let contexts = [fixture.context(), fixture.context()]
    for context in contexts { context.automaticallyMergesChangesFromParent = true }
    try contexts[0].setQueryGenerationFrom(.current)
    let people = contexts.map { $0.object(id) }
    for context in contexts { #expect(try context.count(for: FetchRequest<Car>()) == 1) }
    #expect(people.map(\.age) == [1, 1] && people.map(\.cars.count) == [1, 1])
    let token = try #require(contexts[0].queryGenerationToken)
    try fixture.change(id) { person in
      person.age = 2
      for car in person.cars { person.managedObjectContext?.delete(car) }
    }
    #expect(people.map(\.age) == [1, 1])
    for context in contexts { #expect(try context.count(for: FetchRequest<Car>()) == 0) }
    #expect(people.map(\.age) == [2, 2] && people.map(\.cars.count) == [0, 0])
    #expect(contexts[0].queryGenerationToken != token)
    try contexts[1].execute(BatchUpdateRequest<Person> { $0[\.age] = 3 })
    for context in contexts { try context.save() }
    #expect(people.map(\.age) == [3, 3])
    let error = #expect(throws: ObjectGraphError.self) {
      try contexts[1].setQueryGenerationFrom(token)
    }
    #expect(error?.kind == .autoMergeNeedsCurrentGeneration)
    contexts[1].automaticallyMergesChangesFromParent = false
    try fixture.change(id) { $0.age = 4 }
    for context in contexts { #expect(try context.count(for: FetchRequest<Car>()) == 0) }
    #expect(people.map(\.age) == [4, 3])
  }

  @Test(.evidence("QG-35"))
  func `automatic merging starts when it is enabled, not at the first fetch`() throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let ada = context.object(id)
    #expect(ada.age == 1)
    context.automaticallyMergesChangesFromParent = true
    try fixture.change(id) { $0.age = 2 }
    #expect(try context.count(for: FetchRequest<Car>()) == 0)
    #expect(ada.age == 2)
  }

  @Test(.evidence("QG-35"), .evidence("QG-36"), arguments: [false, true])
  func `automatic merging in a pinned context starts at the pinned generation`(
    isSavedTwice: Bool
  ) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let gone = try fixture.person("Bob")
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    let (ada, bob) = (context.object(id), context.object(gone))
    #expect(ada.age == 1 && bob.name == "Bob")
    let token = context.queryGenerationToken
    try fixture.change(id) { $0.age = 2 }
    if isSavedTwice { try fixture.change(gone) { $0.managedObjectContext?.delete($0) } }
    context.automaticallyMergesChangesFromParent = true
    #expect(ada.age == 1 && context.queryGenerationToken == token)
    #expect(try context.count(for: FetchRequest<Car>()) == 0)
    #expect(ada.age == 2 && (bob.managedObjectContext == nil) == isSavedTwice)
    #expect(context.queryGenerationToken != token)
    try fixture.change(id) { $0.age = 3 }
    #expect(try context.count(for: FetchRequest<Car>()) == 0)
    #expect(ada.age == 3)
    ada.age = 4
    try context.save()
    #expect(try fixture.stored(id)?.age == 4)
  }

  @Test(.evidence("N-03")) func `a child context merges automatically when its parent has saved`()
    throws
  {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let parent = fixture.context()
    let children = [fixture.child(of: parent), fixture.child(of: parent)]
    children[0].automaticallyMergesChangesFromParent = true
    let people = children.map { $0.object(id) }
    #expect(people.map(\.age) == [1, 1])
    people[0].nickname = "mine"
    parent.object(id).age = 2
    try parent.save()
    #expect(people.map(\.age) == [2, 1] && people[0].nickname == "mine")
  }
}

extension ManagedObjectContext {
  fileprivate func object(_ id: ManagedObjectID) -> Person { object(with: id) }
}
