import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Reverting to a generation")
struct RevertTests {
  @Test(.evidence("QG-58"), arguments: TestScale.seeds(quick: 2, all: 8))
  func `a revert restores the store entry by entry`(seed: UInt64) throws {
    let run = try GraphRun(seed: seed, tracksUndo: false)
    let container = run.container
    var all: [(token: QueryGenerationToken, reference: GraphReference)] = []
    for round in 0..<4 {
      try run.run(steps: 50)
      try container.keepGeneration(.current, as: "round \(round)")
      all.append((try #require(try container.keptGeneration("round \(round)")), run.saved))
    }
    // Revert to the generations out of order.
    for (token, reference) in [all[2], all[0], all[3], all[1]] {
      let expected = try container.changes(from: .current, to: token)
      let changes = try container.revert(to: token, author: "Eve")
      #expect(changes.inserted == expected.inserted && changes.deleted == expected.deleted)
      // Rows that were rewritten with the same values are not reported as updated.
      #expect(changes.updated == expected.updated.filter { !$0.value.isEmpty })
      let isSame = changes.inserted.isEmpty && changes.deleted.isEmpty && changes.updated.isEmpty
      #expect(isSame || changes.generation != token)
      let found = try container.read(at: changes.generation) { try GraphReference($0) }
      #expect(found == reference)
      try expectSameEntries(container, token)
      // If nothing differs, no transaction is recorded.
      if isSame { continue }
      let last = try #require(try container.fetchHistory(after: nil).last)
      #expect(last.author == "Eve")
      #expect(
        last.changes.count == changes.inserted.count + changes.deleted.count
          + changes.updated.count)
    }
    #expect(try container.store.verify().findings.isEmpty)
  }

  /// Expects the newest generation and the given generation to differ only in the versions of rows.
  ///
  /// The keyspaces whose names begin with `heartwood.` contain no objects, and are ignored.
  private func expectSameEntries(
    _ container: PersistentContainer, _ token: QueryGenerationToken
  ) throws {
    let name = try #require(try container.namedGenerations.first { $0.token == token }?.name)
    let generation = try #require(try container.store.namedGenerations()[name])
    let (now, then) = (
      try container.store.snapshot(), try container.store.snapshot(at: generation)
    )
    try container.store.changes(from: now, to: then) { change in
      let isVersion = change.keyspace.hasPrefix("objects.") && change.kind == .updated
      #expect(isVersion || change.keyspace.hasPrefix("heartwood."), "\(change)")
    }
  }

  @Test(.evidence("QG-58")) func `a revert conflicts with changes of others`() throws {
    let fixture = try GraphFixture()
    let container = fixture.container
    let id = try fixture.person("Ada", age: 1, cars: 2)
    try container.keepGeneration(.current, as: "start")
    let start = try #require(try container.keptGeneration("start"))
    try fixture.change(id) { $0.age = 2 }
    let context = fixture.context()
    let ada = try #require(try context.existingObject(Person.self, with: id))
    ada.nickname = "mine"
    try container.revert(to: start)
    let conflict = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(conflict?.kind == .mergeConflict && conflict?.objectID == id)
    #expect(try fixture.stored(id)?.age == 1)
    try container.keepGeneration(.current, as: "known")
    let known = try #require(try container.keptGeneration("known"))
    try container.revert(to: start, unlessChangedSince: known)
    try fixture.change(id) { $0.age = 3 }
    let error = #expect(throws: ObjectGraphError.self) {
      try container.revert(to: start, unlessChangedSince: known)
    }
    #expect(error?.kind == .mergeConflict && error?.objectID == id)
    #expect(try fixture.stored(id)?.age == 3)
  }

  @Test(.evidence("QG-58")) func `a revert restores exchanged unique values`() throws {
    let fixture = try GraphFixture()
    let container = fixture.container
    let ids = try ["Ada", "Bob"].map { try fixture.person($0) }
    try container.keepGeneration(.current, as: "start")
    let start = try #require(try container.keptGeneration("start"))
    try fixture.change(ids[0]) { $0.name = "Cid" }
    try fixture.change(ids[1]) { $0.name = "Ada" }
    let context = fixture.context()
    context.delete(context.object(Person.self, with: ids[0]))
    try context.save()
    try fixture.person("Bob")
    let changes = try container.revert(to: start)
    #expect(changes.inserted == [ids[0]] && changes.updated == [ids[1]: ["name"]])
    #expect(changes.deleted.count == 1)
    #expect(try ids.map { try fixture.stored($0)?.name } == ["Ada", "Bob"])
    let ada = "Ada"
    let request = FetchRequest<Person>(where: #Predicate { $0.name == ada })
    #expect(try fixture.context().fetchObjectIDs(request) == [ids[0]])
    #expect(try fixture.person("Dan") != ids[0])
  }

  @Test(.evidence("QG-58")) func `a revert restores derived attributes`() throws {
    let fixture = try GraphFixture(towns)
    let container = fixture.container
    let context = fixture.context()
    let town = Town(context: context)
    town.name = "Ábo"
    let house = House(context: context)
    house.rooms = 3
    house.town = town
    try context.save()
    let saved = town.saved
    try container.keepGeneration(.current, as: "start")
    let start = try #require(try container.keptGeneration("start"))
    house.town = nil
    town.name = "Turku"
    try context.save()
    try container.revert(to: start)
    try context.fetch(FetchRequest<Town>()).forEach { _ in }
    #expect(town.searchName == "abo" && town.rooms == 3 && town.houseCount == 1)
    #expect(town.saved == saved)
    #expect(try context.fetch(FetchRequest<House>()).first?.townName == "Ábo")
  }

  @Test(.evidence("QG-58")) func `a revert and writers wait for each other`() async throws {
    let fixture = try GraphFixture()
    let container = fixture.container
    let id = try fixture.person("Ada", age: 0)
    try container.keepGeneration(.current, as: "start")
    let start = try #require(try container.keptGeneration("start"))
    let writers = (0..<3).map { writer in
      Task.detached {
        for number in 0..<20 {
          let context = container.newContext()
          context.mergePolicy = .mergeByPropertyObjectTrump
          let car = Car(context: context)
          car.name = "\(writer).\(number)"
          car.owner = context.object(Person.self, with: id)
          try context.save()
        }
      }
    }
    for _ in 0..<15 { try container.revert(to: start) }
    for writer in writers { try await writer.value }
    try container.revert(to: start)
    #expect(try fixture.stored(id)?.cars == 0)
    try expectSameEntries(container, start)
  }

  @Test(.evidence("QG-58")) func `a revert applies no delete rules`() throws {
    final class Label: ManagedObject {
      @ToMany(inverse: \Item.labels, deleteRule: .cascade) var items: Set<Item>
    }
    final class Item: ManagedObject {
      @ToMany var labels: Set<Label>
    }
    let fixture = try GraphFixture(Schema(Label.self, Item.self))
    try fixture.saved { _ = Item(context: $0) }
    try fixture.container.keepGeneration(.current, as: "before")
    try fixture.saved { context in
      Label(context: context).items = Set(try context.fetch(FetchRequest<Item>()))
    }
    let token = try #require(try fixture.container.keptGeneration("before"))
    try fixture.container.revert(to: token)
    let context = fixture.context()
    #expect(try context.count(for: FetchRequest<Item>()) == 1)
    #expect(try context.count(for: FetchRequest<Label>()) == 0)
  }

  @Test(.evidence("QG-58")) func `a revert does not change objects of an omitted class`() throws {
    let store = EvolvingStore()
    try store.withContainer(Schema(Memo.self, Stamp.self)) { container in
      let context = container.newContext()
      let memo = Memo(context: context)
      try context.save()
      try container.keepGeneration(.current, as: "start")
      memo.text = "new"
      try context.save()
    }
    try store.withContainer(Schema(Stamp.self)) { container in
      let start = try #require(try container.keptGeneration("start"))
      expect(.unknownEntity, "classes are missing from the schema") {
        _ = try container.revert(to: start)
      }
    }
  }
}
