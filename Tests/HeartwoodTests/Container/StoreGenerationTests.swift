import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Generations of several stores")
struct StoreGenerationTests {
  @Test(.evidence("QG-41"), arguments: StoresFixture.Kind.allCases)
  func `one token pins and names the generations of all stores`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let ids = (try fixture.person("Ada", age: 1), try fixture.memo("milk", rank: 1, remarks: 1))
    let context = fixture.context()
    try context.setQueryGenerationFrom(.current)
    #expect(context.queryGenerationToken == .current)
    try fixture.change(ids.1) { $0.rank = 2 }
    // The first read pins the generations of all stores.
    #expect(try context.count(for: FetchRequest<Person>()) == 1)
    let token = try #require(context.queryGenerationToken)
    try fixture.change(ids.1) { $0.rank = 3 }
    try fixture.person("Bob")
    #expect(try context.contents() == ["Ada 1", "milk 2"])
    #expect(context.queryGenerationToken == token)
    let other = fixture.context()
    try other.setQueryGenerationFrom(token)
    let milk: Memo = other.object(with: ids.1)
    #expect(milk.rank == 2 && milk.remarks.count == 1)
    #expect(other.queryGenerationToken == token)
    let coded = try JSONDecoder().decode(
      QueryGenerationToken.self, from: JSONEncoder().encode(token))
    #expect(coded == token && coded.hashValue == token.hashValue)
    try other.setQueryGenerationFrom(nil)
    #expect(other.queryGenerationToken == nil)
    #expect(try other.contents() == ["Ada 1", "Bob 0", "milk 3"])
    #expect(milk.rank == 3)
    try other.setQueryGenerationFrom(.current)
    #expect(try other.contents() == ["Ada 1", "Bob 0", "milk 3"])
    #expect(other.queryGenerationToken != token)
  }

  @Test(.evidence("QG-41")) func `tokens are equal whatever the order of the stores`() throws {
    let scratch = try ScratchDirectory()
    func url(_ name: String) -> URL { URL(filePath: scratch.path(of: name)) }
    let first = try PersistentContainer(url: url("stamps"), schema: Schema(Stamp.self))
    try first.addStore(url: url("memos"), entities: [Memo.self, Remark.self])
    let second = try PersistentContainer(url: url("memos"), schema: Schema(Memo.self, Remark.self))
    try second.addStore(url: url("stamps"), entities: [Stamp.self])
    func token(_ container: PersistentContainer) throws -> QueryGenerationToken? {
      try container.read(at: .current) { context in
        _ = try context.count(for: FetchRequest<Memo>())
        return context.queryGenerationToken
      }
    }
    let tokens = (try token(first), try token(second))
    #expect(tokens.0 == tokens.1 && tokens.0 != nil)
    let context = try second.newContext(pinnedTo: #require(tokens.0))
    #expect(context.queryGenerationToken == tokens.0)
    for store in first.stores { #expect(try store.verify().findings.isEmpty) }
  }

  @Test(.evidence("QG-23"), .evidence("QG-41"), arguments: [true, false])
  func `a save advances the pins of all stores`(unpins: Bool) throws {
    let fixture = try StoresFixture()
    let ids = (try fixture.person("Ada", age: 1), try fixture.memo("milk", rank: 1))
    let context = fixture.context()
    context.generationAfterSave = unpins ? .unpin : .advance
    try context.setQueryGenerationFrom(.current)
    let ada: Person = context.object(with: ids.0)
    #expect(ada.age == 1)
    let before = try #require(context.queryGenerationToken)
    try fixture.change(ids.1) { $0.rank = 2 }
    #expect(try context.contents() == ["Ada 1", "milk 1"])
    ada.age = 2
    try context.save()
    #expect((context.queryGenerationToken == nil) == unpins)
    #expect(try context.contents() == ["Ada 2", "milk 2"])
    try fixture.change(ids.1) { $0.rank = 3 }
    #expect(try context.contents() == ["Ada 2", "milk \(unpins ? 3 : 2)"])
    // A save without changes advances to the newest generation.
    try context.setQueryGenerationFrom(before)
    #expect(try context.contents() == ["Ada 1", "milk 1"])
    try context.save()
    #expect(try context.contents() == ["Ada 2", "milk 3"])
    try context.setQueryGenerationFrom(before)
    expect(.multipleStores) {
      _ = (Memo(context: context), Person(context: context))
      try context.save()
    }
    #expect(context.queryGenerationToken == before)
    context.reset()
    #expect(try context.contents() == ["Ada 2", "milk 3"])
  }

  @Test(.evidence("QG-42"), arguments: StoresFixture.Kind.allCases)
  func `a pinned context does not show a store that was added later`(kind: StoresFixture.Kind)
    throws
  {
    let fixture = try StoresFixture(kind, adds: false)
    let ada = try fixture.person("Ada", age: 1)
    let pinned = fixture.context()
    try pinned.setQueryGenerationFrom(.current)
    #expect(try pinned.count(for: FetchRequest<Person>()) == 1)
    let waiting = fixture.context()
    try waiting.setQueryGenerationFrom(.current)
    let token = try #require(pinned.queryGenerationToken)
    try fixture.addMemos()
    let id = try fixture.memo("milk", rank: 1, remarks: 1)
    #expect(try pinned.fetch(FetchRequest<Memo>()).isEmpty)
    #expect(try pinned.count(for: FetchRequest<Memo>()) == 0)
    #expect(try pinned.count(for: FetchRequest<Remark>(where: #Predicate { $0.text != "" })) == 0)
    #expect(try pinned.existingObject(Memo.self, with: id) == nil)
    #expect(try pinned.fetchBatched(FetchRequest<Memo>()).isEmpty)
    #expect(try pinned.aggregate(FetchRequest<Memo>(), .count) == 0)
    #expect(pinned.queryGenerationToken == token)
    #expect(try waiting.count(for: FetchRequest<Memo>()) == 1)
    let given = fixture.context()
    try given.setQueryGenerationFrom(token)
    #expect(try given.count(for: FetchRequest<Memo>()) == 0)
    // A pinned context sees its own changes, and a save advances it to the resulting generation.
    let bread = Memo(context: pinned)
    bread.text = "bread"
    #expect(try pinned.fetch(FetchRequest<Memo>()) == [bread])
    try pinned.save()
    #expect(try pinned.count(for: FetchRequest<Memo>()) == 2)
    #expect(try pinned.existingObject(Person.self, with: ada)?.age == 1)
    try given.setQueryGenerationFrom(.current)
    #expect(try given.count(for: FetchRequest<Memo>()) == 2)
    try given.setQueryGenerationFrom(token)
    let milk: Memo = given.object(with: id)
    // The row may be newer than the generation, so the object is not treated as deleted.
    #expect(milk.isFault && milk.text == "" && !milk.isDeleted)
  }

  @Test(.evidence("QG-42")) func `removing the pin shows all stores`() async throws {
    let fixture = try StoresFixture()
    try fixture.memo("milk")
    let token = try fixture.container.read(at: .current) { context in
      _ = try context.contents()
      return context.queryGenerationToken
    }
    let counts = try await fixture.container.performBackgroundTask(pinnedTo: token) { context in
      let first = try context.count(for: FetchRequest<Memo>())
      try context.setQueryGenerationFrom(nil)
      return [first, try context.count(for: FetchRequest<Memo>())]
    }
    #expect(counts == [1, 1])
  }

  @Test(.evidence("ST-07"), arguments: StoresFixture.Kind.allCases)
  func `one name retains a generation of each store`(kind: StoresFixture.Kind) throws {
    let fixture = try StoresFixture(kind)
    let container = fixture.container
    let ids = (try fixture.person("Ada", age: 1), try fixture.memo("milk", rank: 1))
    try container.keepGeneration(.current, as: "before")
    try fixture.change(ids.1) { $0.rank = 2 }
    try fixture.person("Bob")
    let kept = try #require(try container.keptGeneration("before"))
    #expect(try container.namedGenerations.map(\.name) == ["before"])
    #expect(try container.namedGenerations.first?.token == kept)
    #expect(try container.read(at: kept) { try $0.contents() } == ["Ada 1", "milk 1"])
    let changes = try container.changes(from: kept, to: .current)
    #expect(changes.updated == [ids.1: ["rank"]] && changes.inserted.count == 1)
    let back = try container.changes(from: .current, to: kept)
    #expect(back.updated == [ids.1: ["rank"]] && back.deleted == changes.inserted)
    let context = fixture.context()
    try context.setQueryGenerationFrom(kept)
    let milk: Memo = context.object(with: ids.1)
    #expect(milk.rank == 1)
    try context.mergeChanges(changes)
    #expect(milk.rank == 2 && context.queryGenerationToken != kept)
    #expect(try container.versions(of: ids.1, from: kept).map(\.isDeleted) == [false, false])
    // If one store already uses the name, the other stores do not keep the generation.
    try container.stores[2].keep(container.stores[2].snapshot().generation, as: "taken")
    try fixture.container.performStamp()
    #expect(throws: StorageError.self) { try container.keepGeneration(.current, as: "taken") }
    #expect(try container.stores[0].namedGenerations().keys.sorted() == ["before"])
    try container.releaseGeneration("before")
    #expect(try container.keptGeneration("before") == nil)
    for store in container.stores.dropLast() { #expect(try store.namedGenerations().isEmpty) }
  }

  @Test(.evidence("ST-07"), .evidence("QG-56")) func `generations of all stores are found by time`()
    throws
  {
    let fixture = try StoresFixture()
    let id = try fixture.memo("milk", rank: 1)
    try fixture.container.keepGeneration(.current, as: "then")
    let then = Date.now
    Thread.sleep(forTimeInterval: 0.01)
    try fixture.change(id) { $0.rank = 2 }
    try fixture.person("Ada")
    #expect(try fixture.container.read(at: then) { try $0.contents() } == ["milk 1"])
    let token = try #require(try fixture.container.generation(at: then))
    #expect(try fixture.container.read(at: token) { try $0.contents() } == ["milk 1"])
    #expect(try fixture.container.generation(at: .distantPast) == nil)
  }

  @Test(.evidence("ST-07")) func `a revert changes one store`() throws {
    let fixture = try StoresFixture()
    let container = fixture.container
    let id = try fixture.memo("milk", rank: 1)
    try fixture.person("Ada", age: 1)
    try container.keepGeneration(.current, as: "then")
    let kept = try #require(try container.keptGeneration("then"))
    try fixture.change(id) { $0.rank = 2 }
    let changes = try container.revert(to: kept, author: "me")
    #expect(changes.updated == [id: ["rank"]])
    #expect(try container.fetchHistory(after: nil).last?.author == "me")
    #expect(
      try container.read(at: changes.generation) { try $0.contents() } == ["Ada 1", "milk 1"])
    try fixture.change(id) { $0.rank = 3 }
    try fixture.person("Bob")
    expect(.multipleStores, fixture.memos.path, "people") { _ = try container.revert(to: kept) }
    #expect(try fixture.stored() == ["Ada 1", "Bob 0", "milk 3"])
    expect(.mergeConflict) {
      let context = fixture.context()
      try context.fetch(FetchRequest<Person>(where: #Predicate { $0.name == "Bob" }))
        .forEach(context.delete)
      try context.save()
      _ = try container.revert(to: kept, unlessChangedSince: kept)
    }
    #expect(try fixture.stored() == ["Ada 1", "milk 3"])
  }
}

extension PersistentContainer {
  fileprivate func performStamp() throws {
    let context = newContext()
    _ = Stamp(context: context)
    try context.save()
  }
}
